"""The same questions where history is in ClickHouse, which has a signal a little later than the state."""

import pytest

from sensors.explanation.verdict import Verdict
from sensors.history.spool import drain_spool_once
from sensors.history.store import get_store
from tests.sensors.api.callers import service
from tests.sensors.explanation.questions import SCOPES, ago, ask, say
from tests.sensors.registry import hear, make_client, make_sensor

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("clickhouse_url")
def test_history_behind_until_it_has_been_written() -> None:
    get_store().prepare()
    desk, client, at = service(*SCOPES), make_client(), ago(minutes=5)
    make_sensor(created_at=ago(days=999))
    say(desk, 0, ago(minutes=9))
    say(desk, 0, at, "b")
    hear()
    assert ask(desk, client, at)["verdict"] == Verdict.HISTORY_BEHIND
    while drain_spool_once():
        pass
    assert ask(desk, client, at)["verdict"] == Verdict.UNCHANGED
