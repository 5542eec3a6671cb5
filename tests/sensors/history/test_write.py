from collections.abc import Sequence
from typing import Any

import pytest

from sensors.history.database import DatabaseStore
from sensors.history.errors import HistoryAway, HistoryRefused
from sensors.history.store import HistoryStore
from sensors.history.values import Period
from sensors.history.write import MOST_CULPRITS, write_signals
from sensors.ingest.signals import Signal
from sensors.models import RejectedSignal
from tests.sensors.history.past_records import NOON, signal

pytestmark = pytest.mark.django_db

YEAR_300000 = 9_400_000_000_000_000


class Picky(DatabaseStore):
    """Refuses batches with odd data, and counts the attempts."""

    attempts = 0

    def add_signals(self, signals: Sequence[Signal]) -> None:
        self.attempts += 1
        if any(each.data for each in signals):
            raise HistoryRefused("odd")
        super().add_signals(signals)


class TestWriteSignals:
    @pytest.mark.parametrize("where", [0, 7, 15])
    @pytest.mark.parametrize("name", [pytest.param("database", marks=pytest.mark.embedded), "clickhouse"])
    def test_keeps_all_but_the_culprit_which_is_rejected(self, request: Any, name: str, where: int) -> None:
        store: HistoryStore = request.getfixturevalue(f"{name}_store")
        batch = [signal(n, at=YEAR_300000 if n == where else NOON + n, received_at=NOON) for n in range(16)]
        write_signals(store, batch)
        kept = store.read_signals(["0xA"], Period(None, NOON + 100), limit=99)
        assert sorted(row.id for row in kept) == [each.id for each in batch if each.id != f"id-{where:05d}"]
        rejected = RejectedSignal.objects.get()
        assert (rejected.code, rejected.sensor_id, rejected.count) == ("bad_shape", "0xA", 1)
        assert str(YEAR_300000) in rejected.raw

    def test_finds_a_culprit_in_few_attempts(self) -> None:
        store = Picky()
        write_signals(store, [signal(n, data=int(n == 500)) for n in range(1024)])
        assert store.attempts <= 2 * 10 + 1
        assert RejectedSignal.objects.get().message == "cannot be kept in history: odd"

    def test_a_store_that_refuses_everything_is_taken_for_broken(self) -> None:
        with pytest.raises(HistoryAway):
            write_signals(Picky(), [signal(n, data=1) for n in range(2 * MOST_CULPRITS)])
        assert not RejectedSignal.objects.exists()

    def test_passes_on_that_the_store_is_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def away(*args: Any) -> None:
            raise HistoryAway

        store = DatabaseStore()
        monkeypatch.setattr(store, "add_signals", away)
        with pytest.raises(HistoryAway):
            write_signals(store, [signal()])
