import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from config.common.correlation import correlated
from tests.notifications.recorded_events import record_numbered_events
from tests.search_answers import PAGE, found
from tests.sensors.registry import make_client, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def viewer() -> Client:
    return signed_in("viewer")


class TestAnswers:
    def test_a_correlation_id_leads_to_its_trace(self, viewer: Client) -> None:
        with correlated("call-0001"):
            record_numbered_events(1)
        assert found(viewer, "call-0001") == {"Trace": ["/admin/trace/?id=call-0001"]}
        assert found(viewer, "call-0002") == {}

    def test_pages_of_the_menu_by_their_title(self, viewer: Client) -> None:
        assert found(viewer, "rejected sig")["Pages"] == ["/admin/sensors/rejectedsignal/"]

    @pytest.mark.parametrize(
        "text", ["", " ", "\x00", "9" * 30, "%", "x" * 5000, "05f79607710645a5afb5450f625d793e", "0"], ids=str.__len__
    )
    def test_any_text_is_answered(self, viewer: Client, text: str) -> None:
        answer = viewer.get(PAGE, {"s": text})
        assert answer.status_code == 200

    def test_exact_answers_stand_before_others(self, viewer: Client) -> None:
        make_sensor("Depot9")
        make_client("Depot")
        assert list(found(viewer, "depot")) == ["Clients", "Sensors"]


class TestAccess:
    def test_is_for_staff(self) -> None:
        assert Client().get(PAGE, {"s": "A1"}).status_code == 302

    def test_only_what_one_may_see_is_found(self) -> None:
        make_sensor("A1")
        with correlated("call-0001"):
            record_numbered_events(1)
        browser = Client()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert found(browser, "A1") == found(browser, "call-0001") == found(browser, "sensors") == {}


class TestCost:
    @pytest.mark.parametrize("text", ["12345678", "Lenina", "0197a0b0-1234-7000-8000-000000000000", "call-0001"])
    def test_takes_few_queries(self, text: str) -> None:
        browser = signed_in("administrator")
        make_sensor("A1", address="Lenina 12345678")
        # Beside them the time limits of the looks: they are no queries.
        with CaptureQueriesContext(connection) as captured:
            browser.get(PAGE, {"s": text})
        assert sum(query["sql"].startswith("SELECT") for query in captured) <= 30

    def test_what_takes_too_long_is_said(self, viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(300):
            make_sensor(f"S{number}", address="Long st.")
        monkeypatch.setattr("config.admin_base.search.read_within", lambda rows, seconds: ([], False))
        assert "could be searched in time" in viewer.get(PAGE, {"s": "nowhere"}).content.decode()
