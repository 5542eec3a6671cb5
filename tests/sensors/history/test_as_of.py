from typing import Any

import pytest

from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN, STATE_CHANGED
from sensors.history import as_of, queries
from sensors.history.as_of import PastState, read_state_at
from sensors.history.store import HistoryStore
from sensors.history.values import format_milliseconds
from tests.sensors.history.past_records import MINUTE, NOON, event, signal

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _chosen(store: HistoryStore, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (as_of, queries):
        monkeypatch.setattr(module, "get_store", lambda: store)


def at(minutes: float) -> int:
    return NOON + int(minutes * MINUTE)


def known(at: int) -> tuple[int | None, int | None, int | None]:
    state = read_state_at("0xA", at)
    return state.value, state.changed_at, state.lost_at


class TestReadStateAt:
    def test_the_value_is_that_of_the_last_change_up_to_then(self, store: HistoryStore) -> None:
        store.add_events([event(n, at=at(n), payload={"data": n % 2}) for n in range(1, 4)])
        assert [known(at(m))[:2] for m in (0.9, 1, 1.5, 2, 9)] == [
            (None, None),
            (1, at(1)),
            (1, at(1)),
            (0, at(2)),
            (1, at(3)),
        ]

    def test_another_sensor_has_no_part_in_it(self, store: HistoryStore) -> None:
        store.add_events([event(1, at=at(1), sensor="0xB")])
        assert read_state_at("0xA", at(2)) == PastState()

    def test_it_was_lost_between_its_loss_and_the_end_of_it(self, store: HistoryStore) -> None:
        lost = {"lost_at": format_milliseconds(at(10))}
        store.add_events(
            [
                event(1, at=at(1), type=STATE_CHANGED, id=1),
                event(2, at=at(10), type=CONNECTION_LOST, id=2),
                event(3, at=at(20), type=CONNECTION_RESTORED, id=3, payload=lost),
            ]
        )
        assert [known(at(m))[2] for m in (9, 10, 19, 20)] == [None, at(10), at(10), None]
        assert known(at(15))[0] == 1, "the last value that was heard is still known"

    def test_a_loss_that_was_withdrawn_was_none(self, store: HistoryStore) -> None:
        withdrawn = {"lost_at": format_milliseconds(at(10))}
        store.add_events(
            [
                event(2, at=at(10), type=CONNECTION_LOST, id=2),
                event(3, at=at(20), type=LOSS_WITHDRAWN, id=3, payload=withdrawn),
            ]
        )
        assert known(at(15))[2] is None

    def test_it_was_last_seen_when_the_newest_signal_came(self, store: HistoryStore) -> None:
        store.add_signals([signal(at=at(n), id=f"{n}", received_at=at(n) + 7) for n in (1, 2, 3)])
        assert [read_state_at("0xA", at(m)).seen_at for m in (0.5, 2.5, 3)] == [None, at(2) + 7, at(3)]


def test_before_history_begins_nothing_is_known(store: HistoryStore, settings: Any) -> None:
    settings.HISTORY_RETENTION_MONTHS = 1
    assert read_state_at("0xA", at(1)) == PastState(is_known=False)
