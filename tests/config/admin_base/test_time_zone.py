from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.records.models import LogEntry, UserSettings

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
AT = datetime(2026, 3, 1, 21, 30, 15, tzinfo=UTC)
LIST = reverse("admin:records_logentry_changelist")


@pytest.fixture
def user() -> User:
    return User.objects.create_superuser("olga")


@pytest.fixture
def staff(client: Client, user: User) -> Client:
    client.force_login(user)
    LogEntry.objects.create(at=AT, level="info", kind="file", template="Found", text="Found")
    return client


class TestTimesOfTheAdmin:
    def test_are_in_utc_until_a_zone_is_known(self, staff: Client) -> None:
        assert "1 Mar 2026, 21:30:15 UTC" in staff.get(LIST).content.decode()
        assert not UserSettings.objects.exists()

    def test_take_the_zone_of_the_first_browser_and_keep_it_with_the_account(self, staff: Client, user: User) -> None:
        staff.cookies["time_zone"] = "Europe%2FMinsk"
        page = staff.get(LIST).content.decode()
        assert '<time datetime="2026-03-01T21:30:15.000Z" title="2026-03-01 21:30:15 UTC">2 Mar 2026, 00:30:15' in page
        staff.cookies["time_zone"] = "Asia%2FTokyo"
        assert "2 Mar 2026, 00:30:15 +03" in staff.get(LIST).content.decode()
        assert UserSettings.objects.get(user=user).time_zone == "Europe/Minsk"

    @pytest.mark.parametrize("nonsense", ["Mars%2FOlympus", "..%2F..%2Fetc%2Fpasswd", "x" * 5000, "%00"])
    def test_are_not_disturbed_by_a_zone_that_is_none(self, staff: Client, nonsense: str) -> None:
        staff.cookies["time_zone"] = nonsense
        assert "21:30:15 UTC" in staff.get(LIST).content.decode()

    def test_outlive_a_zone_that_this_machine_does_not_know(self, staff: Client, user: User) -> None:
        UserSettings.objects.create(user=user, time_zone="Mars/Olympus")
        assert "21:30:15 UTC" in staff.get(LIST).content.decode()

    def test_are_one_persons_alone(self, staff: Client, user: User) -> None:
        UserSettings.objects.create(user=user, time_zone="Europe/Minsk")
        staff.get(LIST)
        assert timezone.get_current_timezone_name() == "UTC"

    def test_are_utc_by_rest(self, staff: Client, user: User) -> None:
        UserSettings.objects.create(user=user, time_zone="Europe/Minsk")
        answer: Any = staff.get("/api/v1/log/")
        assert answer.json()["results"][0]["at"] == "2026-03-01T21:30:15.000Z"


class TestTimeZonePage:
    def test_keeps_the_zone_that_was_chosen(self, staff: Client, user: User) -> None:
        page = staff.post(reverse("time-zone"), {"time_zone": "America/New_York"}, follow=True)
        assert "Times are now shown in your time zone." in page.content.decode()
        assert UserSettings.objects.get(user=user).time_zone == "America/New_York"
        assert "16:30:15 EST" in staff.get(LIST).content.decode()

    def test_refuses_what_is_no_zone(self, staff: Client) -> None:
        staff.post(reverse("time-zone"), {"time_zone": "Mars/Olympus"})
        assert not UserSettings.objects.exists()

    def test_is_for_staff_alone(self, client: Client) -> None:
        assert client.get(reverse("time-zone")).status_code == 302
