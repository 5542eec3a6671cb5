import pytest

from config.audit.trace import Standing, read_trace
from config.common.correlation import correlated
from notifications.services.alerts import acknowledge_alert
from notifications.sessions.enqueue import enqueue_session
from tests.notifications.alerts import escalate, make_alert, two_rungs
from tests.notifications.sending.deliveries import answer, claim, enqueue_state, make_endpoint
from tests.notifications.sessions.themes import theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def test_a_session_is_part_of_the_chain_that_saved_it() -> None:
    theme(delay=30)
    with correlated("the-chain"):
        session_id = enqueue_session(theme=7, records=[1, 2])
    enqueue_session(theme=7, records=[3])
    [step] = read_trace("the-chain", may=lambda permission: True).steps
    assert (step.kind, step.id, step.summary, step.outcome) == (
        "session",
        session_id,
        f"session 7/{session_id}",
        "saved",
    )
    assert (step.data["theme"], step.data["records"]) == (7, 2)


def test_says_when_a_delivery_is_tried_next_and_an_alert_escalated() -> None:
    two_rungs()
    with correlated("the-chain"):
        enqueue_state(make_endpoint())
        make_alert()
    escalate()
    answer(*claim(), status=503)
    trace = read_trace("the-chain", may=lambda permission: True)
    told = {(coming.what, step.kind) for coming, step in trace.upcoming if coming.at is not None}
    assert told >= {("next attempt", "delivery"), ("next escalation", "alert")}
    assert trace.outcome == Standing.OPEN


def test_a_delivery_to_a_paused_client_waits_for_its_resume() -> None:
    with correlated("the-chain"):
        enqueue_state(make_endpoint(paused=True))
    [(coming, _)] = read_trace("the-chain", may=lambda permission: True).upcoming
    assert (coming.what, coming.at) == ("waiting until the client is resumed", None)


def test_one_that_was_superseded_leads_to_its_successor() -> None:
    endpoint = make_endpoint()
    for chain in ("the-chain", "the-newer-chain"):
        with correlated(chain):
            newest = enqueue_state(endpoint)
    [other] = read_trace("the-chain", may=lambda permission: True).related
    assert (other.correlation_id, other.what) == ("the-newer-chain", f"delivery {newest.pk}, which superseded it")


def test_who_acknowledged_an_alert_acted() -> None:
    with correlated("the-chain"):
        alert = make_alert()
    acknowledge_alert(alert.pk, "staff:olga")
    assert "staff:olga" in [step.actor for step in read_trace("the-chain", may=lambda permission: True).steps]
