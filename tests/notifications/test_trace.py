import pytest

from config.audit.trace import collect_trace
from config.common.correlation import correlated
from notifications.sessions.enqueue import enqueue_session
from tests.notifications.sessions.themes import theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def test_a_session_is_part_of_the_chain_that_saved_it() -> None:
    theme(delay=30)
    with correlated("the-chain"):
        session_id = enqueue_session(theme=7, records=[1, 2])
    enqueue_session(theme=7, records=[3])
    [step] = collect_trace("the-chain", may=lambda permission: True)
    assert (step.kind, step.id, step.summary, step.outcome) == (
        "session",
        session_id,
        f"session 7/{session_id}",
        "saved",
    )
    assert (step.data["theme"], step.data["records"]) == (7, 2)
