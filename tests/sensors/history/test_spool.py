from collections.abc import Callable
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from config.common.background.work import get_work
from sensors.history import spool
from sensors.history.clickhouse import ClickHouseStore
from sensors.history.database import store_in_transaction
from sensors.history.errors import HistoryAway
from sensors.history.queue import encode_batch
from sensors.history.spool import drain_spool_once
from sensors.history.store import HistoryStore, close_stores
from sensors.history.values import Period
from sensors.models import HistorySpool, RejectedSignal, StoredSignal
from tests.sensors.history.past_records import signal

pytestmark = pytest.mark.django_db

EVER = Period()


class TestKeepInTransaction:
    @pytest.mark.embedded
    def test_without_clickhouse_the_signals_are_history_at_once_and_once(self) -> None:
        store_in_transaction([signal(1), signal(2)])
        store_in_transaction([signal(2), signal(3)])
        assert StoredSignal.objects.count() == 3
        assert not HistorySpool.objects.exists()

    @pytest.mark.embedded
    def test_nothing_writes_nothing(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            store_in_transaction([])
        assert not HistorySpool.objects.exists()

    def test_with_clickhouse_the_batch_is_spooled_until_the_scheduler_carries_it(
        self, clickhouse_store: ClickHouseStore
    ) -> None:
        store_in_transaction([signal(1), signal(2)])
        assert not StoredSignal.objects.exists()
        assert get_work("history.spool").run_once() is False
        assert clickhouse_store.read_signals(["0xA"], EVER, limit=9) == [signal(2), signal(1)]
        assert not HistorySpool.objects.exists()


class TestDrainSpoolOnce:
    @pytest.mark.embedded
    def test_an_empty_spool_costs_one_look(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(1):
            assert drain_spool_once() is False

    @pytest.mark.embedded
    def test_is_drained_into_the_database_when_clickhouse_is_no_longer_configured(self) -> None:
        HistorySpool.objects.create(batch=encode_batch([signal(1)]))
        drain_spool_once()
        assert StoredSignal.objects.count() == 1

    @pytest.mark.embedded
    def test_a_batch_that_cannot_be_read_is_rejected_and_stops_nobody(self) -> None:
        HistorySpool.objects.create(batch=b"\xc1broken")
        HistorySpool.objects.create(batch=encode_batch([signal(1)]))
        drain_spool_once()
        assert StoredSignal.objects.count() == 1
        assert (RejectedSignal.objects.get().code, HistorySpool.objects.count()) == ("bad_shape", 0)

    @pytest.mark.embedded
    def test_gathers_rows_into_batches_and_says_whether_there_is_more(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.HISTORY_BATCH = 5
        monkeypatch.setattr(spool, "ROWS", 4)
        written: list[int] = []
        monkeypatch.setattr(spool, "write_signals", lambda store, signals, unreadable: written.append(len(signals)))
        for n in range(7):
            HistorySpool.objects.create(batch=encode_batch([signal(2 * n), signal(2 * n + 1)]))
        assert (drain_spool_once(), drain_spool_once()) == (True, False)
        assert written == [6, 2, 6]

    def test_while_the_store_is_away_the_rows_stay_as_they_are(self, settings: Any, unused_tcp_port: int) -> None:
        settings.CLICKHOUSE_URL = f"clickhouse://default@127.0.0.1:{unused_tcp_port}/default"
        store_in_transaction([signal(1)])
        assert drain_spool_once() is False
        assert HistorySpool.objects.filter(fence=0, due_at__lte=Now()).count() == 1
        close_stores()

    @pytest.mark.embedded
    def test_what_the_store_could_not_take_stays_and_is_due_again_soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        HistorySpool.objects.create(batch=encode_batch([signal(1)]))
        with monkeypatch.context() as patch:
            patch.setattr(spool, "write_signals", self.away)
            assert drain_spool_once() is False
        row = HistorySpool.objects.get()
        assert timezone.now() < row.due_at < timezone.now() + spool.LEASE / 2
        HistorySpool.objects.update(due_at=Now())
        drain_spool_once()
        assert StoredSignal.objects.count() == 1

    @pytest.mark.embedded
    def test_one_that_was_overtaken_leaves_the_rows_to_the_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        HistorySpool.objects.create(batch=encode_batch([signal(1)]))

        def be_overtaken(*args: object) -> None:
            HistorySpool.objects.update(fence=9, due_at=Now() + spool.LEASE)
            raise HistoryAway

        monkeypatch.setattr(spool, "write_signals", be_overtaken)
        drain_spool_once()
        assert HistorySpool.objects.get().due_at > timezone.now() + spool.LEASE / 2

    def away(self, *args: object) -> None:
        raise HistoryAway

    def test_dying_after_the_insert_repeats_the_batch_and_doubles_nothing(
        self, clickhouse_store: HistoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Died(Exception):
            """The process ends here."""

        def die(rows: object) -> None:
            raise Died

        store_in_transaction([signal(1)])
        with monkeypatch.context() as patch:
            patch.setattr(spool, "_delete", die)
            with pytest.raises(Died):
                drain_spool_once()
        assert drain_spool_once() is False, "held by the one that died"
        HistorySpool.objects.update(due_at=timezone.now())
        drain_spool_once()
        assert clickhouse_store.read_signals(["0xA"], EVER, limit=9) == [signal(1)]
        assert not HistorySpool.objects.exists()


@pytest.mark.embedded
@pytest.mark.django_db(transaction=True)
def test_two_that_drain_at_once_write_everything_once(
    in_threads: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "ROWS", 3)
    for n in range(40):
        HistorySpool.objects.create(batch=encode_batch([signal(n)]))

    def drain(number: int) -> None:
        while drain_spool_once() or HistorySpool.objects.exists():
            pass

    in_threads(drain, 2)
    assert sorted(StoredSignal.objects.values_list("signal_id", flat=True)) == [f"id-{n:05d}" for n in range(40)]
