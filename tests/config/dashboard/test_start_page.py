import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client, RequestFactory

from config.access.keys import create_key
from config.audit.changes import record_change
from config.dashboard.start_page import ROWS, StartPage, build
from config.records.models import AccessKey, ChangeRecord
from notifications.models import Endpoint, EventHour, Follower, Incident
from notifications.services.alerts import acknowledge_alert, raise_alert
from tests.sensors.registry import make_client, make_delivery

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("olga", password="a long password")


@pytest.fixture
def viewer(db: None) -> User:
    person = User.objects.create_user("vera", password="a long password", is_staff=True)
    person.groups.add(Group.objects.get(name="viewer"))
    return person


def page_of(person: User) -> StartPage:
    request = RequestFactory().get("/admin/")
    request.user = person
    return build(request, at=AT)


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def make_content(count: int) -> None:
    for number in range(count):
        record_change(
            kind="sensor",
            object_id=str(number),
            action=ChangeRecord.Action.CREATED,
            before=None,
            after={"a": 1},
            actor="x",
        )
        follower = Follower.objects.create(name=f"follower {number}")
        Incident.objects.create(follower=follower, position=number, type="t", subject="s", event={}, error="e")
        EventHour.objects.create(hour=AT - timedelta(hours=number), count=1)


@pytest.mark.embedded
@pytest.mark.django_db
class TestBuild:
    def test_sums_up_the_last_day_and_no_more(self, admin: User) -> None:
        this_hour = AT.replace(minute=0)
        EventHour.objects.create(hour=this_hour, count=3)
        EventHour.objects.create(hour=this_hour - timedelta(hours=23), count=4)
        EventHour.objects.create(hour=this_hour - timedelta(hours=24), count=50)
        chart = page_of(admin).chart
        assert chart is not None
        assert chart.total == 7
        assert json.loads(chart.data)["datasets"][0]["data"] == [4, *[0] * 22, 3]

    def test_shows_open_incidents_alone(self, admin: User) -> None:
        make_content(2)
        Incident.objects.filter(position=0).update(resolved_at=AT, resolution="done")
        assert [incident.position for incident in page_of(admin).incidents or []] == [1]

    def test_shows_the_alerts_that_nobody_has_taken_on(self, admin: User) -> None:
        ids = [raise_alert("k", subject, "A thing happened") for subject in ("a", "b")]
        acknowledge_alert(ids[0], "staff:olga")
        assert [alert.pk for alert in page_of(admin).alerts or []] == ids[1:]
        assert "A thing happened" in signed_in(admin).get("/admin/").content.decode()

    def test_names_the_receivers_that_do_not_answer(self, admin: User) -> None:
        for name in ("one", "two", "three"):
            make_delivery("0xA", make_client(name))
        Endpoint.objects.filter(client__name__in=["one", "two"]).update(opened_at=AT, probe_at=AT, failures=5)
        Endpoint.objects.filter(client__name="two").update(paused=True)
        assert [(each.name, each.waiting.count) for each in page_of(admin).unreachable or []] == [("one", 1)]
        page = signed_in(admin).get("/admin/").content.decode()
        assert "Receivers that do not answer" in page
        assert "nothing waits for a person" not in page

    def test_reads_no_more_rows_than_it_shows(self, admin: User) -> None:
        make_content(ROWS + 4)
        page = page_of(admin)
        assert (len(page.incidents or []), len(page.changes or [])) == (ROWS + 1, ROWS)

    def test_first_steps_end_with_the_first_key(self, admin: User) -> None:
        assert page_of(admin).is_new
        create_key(name="facility", scopes=["registry:read"], actor="test")
        assert not page_of(admin).is_new

    def test_a_viewer_is_not_told_to_make_keys_nor_told_of_them(self, viewer: User) -> None:
        assert not page_of(viewer).is_new
        create_key(name="facility", scopes=["registry:read"], actor="test")
        assert page_of(viewer).changes == []

    def test_hides_what_a_person_may_not_see(self) -> None:
        page = page_of(User.objects.create_user("ivan", is_staff=True))
        assert (page.chart, page.followers, page.incidents, page.changes, page.alerts, page.unreachable) == (None,) * 6


@pytest.mark.embedded
@pytest.mark.django_db
class TestStartPage:
    def test_costs_the_same_however_much_there_is(self, admin: User, django_assert_max_num_queries: Any) -> None:
        client = signed_in(admin)
        make_content(30)
        AccessKey.objects.all().delete()
        with django_assert_max_num_queries(17):
            assert client.get("/admin/").status_code == 200

    @pytest.mark.parametrize(("language", "words"), [("en", "Open incidents"), ("ru", "Открытые инциденты")])
    def test_speaks_the_language_of_the_browser(self, viewer: User, language: str, words: str) -> None:
        page = signed_in(viewer).get("/admin/", headers={"accept-language": language}).content.decode()
        assert words in page

    def test_says_in_words_what_each_engine_does(self, viewer: User) -> None:
        page = signed_in(viewer).get("/admin/").content.decode()
        assert all(name in page for name in ("RabbitMQ", "Redis", "ClickHouse", "Not configured", "Works"))

    def test_the_root_leads_to_it(self, client: Client) -> None:
        assert client.get("/")["Location"] == "/admin/"

    def test_the_language_is_switched_by_a_form(self, viewer: User) -> None:
        client = signed_in(viewer)
        client.post("/i18n/setlang/", {"language": "ru", "next": "/admin/"})
        assert "Главная" in client.get("/admin/").content.decode()
