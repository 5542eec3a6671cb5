import pytest
from django.utils import timezone

from config.audit.trace import TraceStep, read_trace
from config.common.correlation import correlated
from config.common.times import to_milliseconds
from notifications.models import Event
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Origin, read_signals
from sensors.models import RejectedSignal
from tests.sensors.api.callers import service
from tests.sensors.registry import link, make_client, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

CHAIN = "call-0001"


def receive(body: bytes, chain: str = "") -> None:
    """Apply a message as a consumer does."""
    apply_signals(read_signals(body, Origin(to_milliseconds(timezone.now()), correlation_id=chain)))


def steps(chain: str = CHAIN) -> list[TraceStep]:
    return read_trace(chain, may=lambda permission: True).steps


def post(*signals: object) -> None:
    with correlated(CHAIN):
        service("signals:write")("POST", "/signals/", list(signals))


class TestTraceSignals:
    def test_a_signal_leads_to_its_state_its_event_and_its_delivery(self) -> None:
        make_sensor("A1")
        link("A1", make_client("Night watch"))
        receive(b'{"sensor_id":"A1","data":1}', CHAIN)
        found = [step for step in steps() if step.kind != "log"]
        assert [step.kind for step in found] == ["signal", "state", "event", "delivery"]
        signal, state, event, delivery = found
        assert delivery.summary == "Door opened · A1 → Night watch"
        assert (signal.id, signal.summary) == (Event.objects.get().payload["signal_id"], "A1 reports open")
        assert (state.id, state.summary, state.page) == ("A1", "A1: – → open", "/admin/sensors/sensor/A1/change/")
        assert signal.at == state.at == event.at


class TestTraceRejections:
    def test_what_a_call_sent_and_was_refused_is_traced(self) -> None:
        post({"sensor_id": "Nowhere", "data": 1}, {"sensor_id": "A1", "data": 7})
        found = {step.outcome: step for step in steps() if step.kind == "rejected"}
        assert set(found) == {"unknown_sensor", "bad_data"}
        row = RejectedSignal.objects.get(code="unknown_sensor")
        assert (found["unknown_sensor"].id, found["unknown_sensor"].summary) == (
            row.pk,
            "Nowhere: no such sensor is registered",
        )

    def test_why_it_was_refused_is_said_to_its_reader(self) -> None:
        post({"sensor_id": "Nowhere", "data": 1}, {"sensor_id": "A1", "data": 7})
        browser = signed_in("viewer")
        page = browser.get("/admin/trace/", {"id": CHAIN}).content.decode()
        assert "<strong>wrong value</strong>" in page
        browser.cookies["django_language"] = "ru"
        page = browser.get("/admin/trace/", {"id": CHAIN}).content.decode()
        assert "Nowhere: датчик с таким идентификатором не зарегистрирован" in page

    def test_a_body_that_is_no_signal_is_traced(self) -> None:
        receive(b"{broken", CHAIN)
        assert [step.outcome for step in steps() if step.kind == "rejected"] == ["bad_json"]

    def test_over_amqp_the_id_of_the_message_is_kept(self) -> None:
        receive(b'{"sensor_id":"Nowhere","data":1}', CHAIN)
        assert RejectedSignal.objects.get().correlation_id == CHAIN

    def test_one_without_an_id_begins_a_chain(self) -> None:
        receive(b"{broken")
        chain = RejectedSignal.objects.get().correlation_id
        assert [step.kind for step in steps(chain)] == ["rejected"]

    def test_of_those_of_a_minute_the_last_one_is_traced(self) -> None:
        for chain in (CHAIN, "call-0002"):
            receive(b"{broken", chain)
        assert [[step.data["count"] for step in steps(chain)] for chain in (CHAIN, "call-0002")] == [[], [2]]

    def test_its_page_and_the_call_name_the_chain(self) -> None:
        post({"sensor_id": "Nowhere", "data": 1})
        row = RejectedSignal.objects.get()
        page = signed_in("viewer").get(f"/admin/sensors/rejectedsignal/{row.pk}/change/").content.decode()
        assert f"/admin/trace/?id={CHAIN}" in page
        assert service("history:read")("GET", "/signals/rejected/").json()["results"][0]["correlation_id"] == CHAIN
