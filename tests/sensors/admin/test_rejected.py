from datetime import timedelta

import pytest
from django.utils import timezone

from config.common.times import to_milliseconds
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Code, Rejection, Signal
from sensors.models import RejectedSignal
from tests.sensors.registry import make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/sensors/rejectedsignal/"


@pytest.fixture(autouse=True)
def _refused() -> None:
    now = to_milliseconds(timezone.now())
    unknown = [Signal(sensor_id, now, "a", 1, now) for sensor_id in ("NewDoor1", "bad-id")]
    apply_signals([*unknown, Rejection(0, Code.BAD_JSON, "broken", "", "<script>alert(1)</script>")])


class TestList:
    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", {"NewDoor1", "bad-id", ""}),
            ("code=bad_json", {""}),
            ("sensor_id=NewDoor1", {"NewDoor1"}),
            ("since=1h", {"NewDoor1", "bad-id", ""}),
        ],
    )
    def test_is_narrowed_by_reason_sensor_and_time(self, query: str, found: set[str]) -> None:
        answer = signed_in("viewer").get(f"{LIST}?{query}")
        assert {signal.sensor_id for signal in answer.context["cl"].result_list} == found

    def test_says_the_reason_in_the_language_of_the_reader(self) -> None:
        text = signed_in("viewer").get(LIST, headers={"accept-language": "ru"}).content.decode()
        assert "неизвестный датчик" in text
        assert "датчик с таким идентификатором не зарегистрирован" in text
        assert '<span title="unknown_sensor">' in text

    def test_leaves_out_what_is_older_than_the_time(self) -> None:
        RejectedSignal.objects.filter(code="bad_json").update(recorded_at=timezone.now() - timedelta(hours=3))
        answer = signed_in("viewer").get(f"{LIST}?since=1h")
        assert {signal.code for signal in answer.context["cl"].result_list} == {"unknown_sensor"}

    def test_offers_to_register_with_one_click(self) -> None:
        browser = signed_in("registrar")
        text = browser.get(LIST).content.decode()
        assert "/admin/sensors/sensor/add/?id=NewDoor1" in text
        assert "?id=bad-id" not in text
        form = browser.get("/admin/sensors/sensor/add/?id=NewDoor1").context["adminform"].form
        assert form.initial["id"] == "NewDoor1"

    def test_offers_nothing_once_it_is_registered(self) -> None:
        make_sensor("NewDoor1")
        text = signed_in("registrar").get(LIST).content.decode()
        assert "?id=NewDoor1" not in text

    def test_offers_nothing_to_a_viewer(self) -> None:
        assert "Register this sensor" not in signed_in("viewer").get(LIST).content.decode()


class TestPage:
    def test_shows_the_text_as_text(self) -> None:
        signal = RejectedSignal.objects.get(code="bad_json")
        text = signed_in("viewer").get(f"{LIST}{signal.pk}/change/").content.decode()
        assert "&lt;script&gt;alert(1)" in text
