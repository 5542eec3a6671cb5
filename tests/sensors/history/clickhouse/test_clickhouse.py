import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from clickhouse_driver import Client

from sensors.history import clickhouse
from sensors.history.clickhouse import ClickHouseStore
from sensors.history.errors import HistoryAway, HistoryRefused
from sensors.history.store import close_stores, get_store
from sensors.history.values import Period
from tests.sensors.history.past_records import DAY, NOON, signal
from tests.servers.clickhouse import ClickHouseServer

EVER = Period()
YEAR_2200 = 7_258_118_400_000


@pytest.fixture
def private_server(settings: Any) -> Iterator[ClickHouseServer]:
    """A server of this test alone, which it may stop."""
    with ClickHouseServer() as server:
        settings.CLICKHOUSE_URL = server.url
        yield server
        close_stores()


class TestClickHouseStore:
    def test_makes_its_tables_again_when_the_server_was_replaced(
        self, clickhouse_store: ClickHouseStore, clickhouse_url: str
    ) -> None:
        clickhouse_store.add_signals([signal(1)])
        with Client.from_url(clickhouse_url) as client:
            client.execute("DROP TABLE signals")
        with pytest.raises(HistoryAway):
            clickhouse_store.add_signals([signal(2)])
        clickhouse_store.add_signals([signal(2)])
        assert clickhouse_store.read_signals(["0xA"], EVER, limit=9) == [signal(2)]

    def test_merging_leaves_the_copy_that_was_received_first(
        self, clickhouse_store: ClickHouseStore, clickhouse_url: str
    ) -> None:
        for late in (20, 10, 30):
            clickhouse_store.add_signals([signal(data=late == 10, received_at=NOON + late)])
        with Client.from_url(clickhouse_url) as client:
            client.execute("OPTIMIZE TABLE signals FINAL")
            assert client.execute("SELECT data, received_ms FROM signals") == [(1, NOON % 1000 + 10)]

    @pytest.mark.parametrize("poison", [{"at": YEAR_2200}, {"at": -1}, {"data": 300}])
    def test_refuses_what_it_cannot_hold_with_nothing_of_the_batch(
        self, clickhouse_store: ClickHouseStore, poison: dict[str, Any]
    ) -> None:
        with pytest.raises(HistoryRefused):
            clickhouse_store.add_signals([signal(1), signal(2, **poison)])
        assert clickhouse_store.read_signals(["0xA"], EVER, limit=9) == []

    def test_two_writers_of_the_same_batches_write_each_signal_once(
        self, clickhouse_store: ClickHouseStore, in_threads: Callable[..., list[None]]
    ) -> None:
        batches = [[signal(10 * part + n) for n in range(10)] for part in range(10)]

        def write(number: int) -> None:
            for batch in batches if number else reversed(batches):
                clickhouse_store.add_signals(batch)

        in_threads(write, 2)
        assert clickhouse_store.read_signals(["0xA"], EVER, limit=1000) == [signal(n) for n in reversed(range(100))]

    def test_copies_that_fill_an_answer_do_not_end_the_list(
        self, clickhouse_store: ClickHouseStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(clickhouse, "SPARE_COPIES", 0)
        clickhouse_store.add_signals([signal(0), *[signal(1)] * 5])
        assert clickhouse_store.read_signals(["0xA"], EVER, limit=2) == [signal(1), signal(0)]

    def test_asks_for_a_hundred_thousand_sensors(self, clickhouse_store: ClickHouseStore) -> None:
        clickhouse_store.add_signals([signal(sensor="s7"), signal(sensor="other")])
        sensors = [f"s{n}" for n in range(100_000)]
        assert clickhouse_store.read_signals(sensors, Period(NOON - DAY, NOON + DAY), limit=9) == [signal(sensor="s7")]


class TestServerGone:
    @pytest.mark.slow
    def test_says_so_and_goes_on_when_it_is_back(self, private_server: ClickHouseServer) -> None:
        store = get_store()
        store.add_signals([signal(1)])
        private_server.stop()
        with pytest.raises(HistoryAway):
            store.add_signals([signal(2)])
        with pytest.raises(HistoryAway):
            store.read_signals(["0xA"], EVER, limit=9)
        private_server.start()
        store.add_signals([signal(2)])
        assert store.read_signals(["0xA"], EVER, limit=9) == [signal(2), signal(1)]

    def test_killed_while_it_is_written_to_it_has_each_signal_once_after_all_were_repeated(
        self, private_server: ClickHouseServer
    ) -> None:
        store = get_store()
        batches = [[signal(100 * part + n) for n in range(100)] for part in range(30)]
        done = threading.Event()

        def write() -> None:
            for batch in batches:
                while True:
                    try:
                        store.add_signals(batch)
                    except HistoryAway:
                        done.wait(0.05)
                    else:
                        break
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        done.wait(0.1)
        private_server.kill()
        private_server.start()
        writer.join()
        assert store.read_signals(["0xA"], EVER, limit=5000) == [signal(n) for n in reversed(range(3000))]
