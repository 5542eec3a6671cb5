"""The contract of every store; each test runs on the database, on an old ClickHouse and on the newest one."""

import random

import pytest

from notifications.sending.outcomes import ATTEMPTED
from sensors.events import CONNECTION_LOST, STATE_CHANGED
from sensors.history.store import HistoryStore
from sensors.history.values import ClientSensors, Period, Sensors, signal_key, to_past_attempt
from sensors.ingest.signals import EARLIEST, Signal
from sensors.services.links import link, unlink
from tests.sensors.history.past_records import DAY, NOON, attempt, event, signal
from tests.sensors.registry import make_client, make_sensor

pytestmark = pytest.mark.django_db

EVER = Period()


def read_all(store: HistoryStore, sensors: Sensors, period: Period = EVER, *, limit: int) -> list[Signal]:
    """Walk through the pages as a caller does."""
    rows: list[Signal] = []
    while page := store.read_signals(sensors, period, before=signal_key(rows[-1]) if rows else None, limit=limit):
        rows += page
    return rows


class TestClientSensors:
    """What is asked of a client is about the sensors that it has at that moment."""

    def test_holds_the_linked_sensors_alone(self, store: HistoryStore) -> None:
        client = make_client()
        sensors = [make_sensor(name).pk for name in ("a", "b", "c")]
        for n, sensor_id in enumerate(sensors * 2):
            store.add_signals([signal(n, sensor=sensor_id)])
            store.add_events([event(n, sensor=sensor_id)])
        asked = ClientSensors(client.pk)

        def read() -> tuple[list[str], list[str]]:
            signals = store.read_signals(asked, EVER, limit=9)
            events = store.read_events(asked, EVER, limit=9)
            assert [row.at for row in signals] == [row.at for row in events]
            return [row.sensor_id for row in signals], [row.sensor_id for row in events]

        assert read() == ([], [])
        for change, sensor_id, left in (
            (link, "a", ["a", "a"]),
            (link, "c", ["c", "a", "c", "a"]),
            (unlink, "a", ["c", "c"]),
            (link, "a", ["c", "a", "c", "a"]),
        ):
            change(sensor_id=sensor_id, client_id=client.pk, actor="anna")
            assert read() == (left, left)

    def test_goes_on_behind_a_key(self, store: HistoryStore) -> None:
        client, sent = make_client(), [signal(n, sensor=f"s{n % 5}") for n in range(40)]
        for n in range(5):
            make_sensor(f"s{n}")
            link(sensor_id=f"s{n}", client_id=client.pk, actor="anna")
        store.add_signals(sent)
        found = read_all(store, ClientSensors(client.pk), Period(NOON, NOON + DAY), limit=7)
        assert found == sent[::-1]


class TestAddSignals:
    def test_gives_back_what_was_added(self, store: HistoryStore) -> None:
        sent = signal(1, data=1, received_at=NOON + DAY + 123)
        store.add_signals([sent])
        assert store.read_signals(["0xA"], EVER, limit=10) == [sent]

    def test_a_repeated_batch_is_there_once(self, store: HistoryStore) -> None:
        batch = [signal(n) for n in range(5)]
        for _ in range(3):
            store.add_signals(batch)
        assert store.read_signals(["0xA"], EVER, limit=100) == batch[::-1]

    def test_of_two_with_one_identity_the_first_received_stays(self, store: HistoryStore) -> None:
        first = signal(data=1, received_at=NOON + 10)
        store.add_signals([first])
        store.add_signals([signal(data=0, received_at=NOON + 20)])
        assert store.read_signals(["0xA"], EVER, limit=10) == [first]

    def test_within_one_batch_the_first_of_equals_stays(self, store: HistoryStore) -> None:
        store.add_signals([signal(data=1), signal(data=0)])
        assert [row.data for row in store.read_signals(["0xA"], EVER, limit=10)] == [1]

    def test_leaves_the_callers_batch_as_it_was(self, store: HistoryStore) -> None:
        batch = [signal(n) for n in range(3)]
        kept = list(batch)
        store.add_signals(batch)
        store.add_signals(batch)
        assert batch == kept

    def test_an_empty_batch_is_nothing(self, store: HistoryStore) -> None:
        store.add_signals([])
        store.add_events([])
        assert store.read_signals(["0xA"], EVER, limit=10) == []

    def test_takes_signals_of_more_months_than_an_engine_opens_at_once(self, store: HistoryStore) -> None:
        batch = [signal(n, at=EARLIEST + n * 30 * DAY, received_at=EARLIEST) for n in range(130)]
        store.add_signals(batch)
        assert len(store.read_signals(["0xA"], EVER, limit=1000)) == 130


class TestReadSignals:
    def test_pages_hold_everything_once_newest_first(self, store: HistoryStore) -> None:
        batch = [signal(n) for n in range(25)]
        random.Random(1).shuffle(batch)
        store.add_signals(batch)
        store.add_signals(batch[:20])
        assert read_all(store, ["0xA"], limit=4) == [signal(n) for n in reversed(range(25))]

    def test_copies_do_not_push_signals_off_the_page(self, store: HistoryStore) -> None:
        for n in range(4):
            store.add_signals([signal(0), signal(1, received_at=NOON + DAY + n)])
        rows = store.read_signals(["0xA"], EVER, limit=2)
        assert [(row.id, row.received_at) for row in rows] == [("id-00001", NOON + DAY), ("id-00000", NOON + 7)]

    def test_at_one_moment_the_greater_id_comes_first_by_its_bytes(self, store: HistoryStore) -> None:
        ids = ["a", "B", "b", "A", "10", "9", "_", "-"]
        store.add_signals([signal(id=id) for id in ids])
        assert [row.id for row in read_all(store, ["0xA"], limit=3)] == sorted(ids, reverse=True)

    def test_a_period_has_its_start_and_not_its_end(self, store: HistoryStore) -> None:
        store.add_signals([signal(at=NOON + n, id=str(n)) for n in range(5)])
        assert [row.id for row in store.read_signals(["0xA"], Period(NOON + 1, NOON + 3), limit=9)] == ["2", "1"]

    def test_whole_seconds_are_a_period_like_others(self, store: HistoryStore) -> None:
        store.add_signals([signal(at=NOON + n * 500, id=str(n)) for n in range(6)])
        rows = store.read_signals(["0xA"], Period(NOON + 1000, NOON + 2000), limit=9)
        assert [row.id for row in rows] == ["3", "2"]

    def test_any_period_is_possible(self, store: HistoryStore) -> None:
        store.add_signals([signal()])
        for period in (Period(-(10**13), 10**14), Period(None, 10**14), Period(-5, None)):
            assert len(store.read_signals(["0xA"], period, limit=9)) == 1
        for period in (Period(-(10**13), -5), Period(10**14, None), Period(NOON + 5, NOON + 5)):
            assert store.read_signals(["0xA"], period, limit=9) == []

    def test_of_many_sensors_by_time_then_sensor(self, store: HistoryStore) -> None:
        names = ["s1", "S2", "s10"]
        store.add_signals([signal(n, sensor=name) for n in range(4) for name in names] + [signal(sensor="other")])
        expected = [(name, n) for n in reversed(range(4)) for name in sorted(names, reverse=True)]
        rows = read_all(store, names, limit=5)
        assert [(row.sensor_id, int(row.id[3:])) for row in rows] == expected

    def test_finds_what_lies_years_apart(self, store: HistoryStore) -> None:
        times = [EARLIEST, EARLIEST + 400 * DAY, NOON - 90 * DAY, NOON]
        store.add_signals([signal(at=at, id=str(at), received_at=NOON) for at in times])
        assert [row.at for row in read_all(store, ["0xA", "0xB"], limit=3)] == times[::-1]

    def test_sensors_are_told_apart_by_case(self, store: HistoryStore) -> None:
        store.add_signals([signal(sensor="0xa")])
        assert store.read_signals(["0xA"], EVER, limit=9) == []


class TestFindSignals:
    def test_finds_the_named_ones_once_and_no_others(self, store: HistoryStore) -> None:
        store.add_signals([signal(n, sensor=name) for n in range(5) for name in ("a", "b")])
        store.add_signals([signal(1, sensor="a")])
        wanted = [signal(1, sensor="a"), signal(3, sensor="b")]
        missing = [(NOON, "a", "nothing"), (NOON + 1, "a", "id-00000")]
        found = store.find_signals([*map(signal_key, wanted), *missing])
        assert sorted(found, key=signal_key) == wanted

    def test_no_names_find_nothing(self, store: HistoryStore) -> None:
        assert store.find_signals([]) == []


class TestEvents:
    def test_gives_back_what_was_added_once(self, store: HistoryStore) -> None:
        told = [event(n) for n in range(4)]
        store.add_events(told)
        store.add_events(told[2:])
        assert store.read_events(["0xA"], EVER, limit=10) == told[::-1]

    def test_pages_go_on_behind_the_key_also_at_one_moment(self, store: HistoryStore) -> None:
        told = [event(n, at=NOON + n // 3) for n in range(9)]
        store.add_events(told)
        first = store.read_events(["0xA"], EVER, limit=4)
        rest = store.read_events(["0xA"], EVER, before=first[-1].key, limit=100)
        assert [*first, *rest] == told[::-1]

    def test_picks_types_sensors_and_period(self, store: HistoryStore) -> None:
        lost = event(1, type=CONNECTION_LOST)
        store.add_events([event(0), lost, event(2), event(3, sensor="0xB"), event(4)])
        assert store.read_events(["0xA"], EVER, types=[CONNECTION_LOST], limit=9) == [lost]
        period = Period(event(1).at, event(4).at)
        assert [row.id for row in store.read_events(["0xA", "0xB"], period, types=[STATE_CHANGED], limit=9)] == [4, 3]


class TestFindChanging:
    def test_names_the_signals_that_changed_a_state(self, store: HistoryStore) -> None:
        store.add_events([event(0), event(1), event(1, type=CONNECTION_LOST, id=9), event(2, sensor="0xB"), event(3)])
        store.add_events([event(1)])
        found = store.find_changing(["0xA"], Period(event(1).at, event(2).at))
        assert found == {signal_key(signal(1))}
        assert store.find_changing(["0xA", "0xB"], EVER) == {
            signal_key(each) for each in (signal(0), signal(1), signal(2, sensor="0xB"), signal(3))
        }


class TestAttempts:
    def test_are_kept_among_the_events_once_and_read_by_their_name(self, store: HistoryStore) -> None:
        tried = [attempt(n) for n in range(4)]
        store.add_events([*tried, event(9)])
        store.add_events(tried[1:])
        found = store.read_events(["0xA"], EVER, types=[ATTEMPTED], limit=9)
        assert found == tried[::-1]
        assert [to_past_attempt(row).attempt for row in found] == [4, 3, 2, 1]
        assert [row.id for row in store.read_events(["0xA"], EVER, limit=9)] == [10]

    def test_have_a_sensor_and_a_period(self, store: HistoryStore) -> None:
        store.add_events([attempt(0), attempt(1), attempt(2, sensor="0xB"), attempt(3)])
        period = Period(attempt(1).at, attempt(3).at)
        assert store.read_events(["0xA"], period, types=[ATTEMPTED], limit=9) == [attempt(1)]

    def test_are_forgotten_with_their_month(self, store: HistoryStore) -> None:
        store.add_events([attempt(0, at=NOON - 400 * DAY), attempt(1)])
        store.drop_months_before(1_698_796_800_000)
        assert store.read_events(["0xA"], EVER, types=[ATTEMPTED], limit=9) == [attempt(1)]


class TestDropMonths:
    def test_forgets_the_months_before_and_nothing_else(self, store: HistoryStore) -> None:
        store.add_signals([signal(at=at, id=str(at)) for at in (NOON - 400 * DAY, NOON - 40 * DAY, NOON)])
        store.add_events([event(1, at=NOON - 400 * DAY), event(2)])
        begin_of_month = 1_698_796_800_000  # 2023-11-01
        store.drop_months_before(begin_of_month)
        store.drop_months_before(begin_of_month)
        assert [row.at for row in store.read_signals(["0xA"], EVER, limit=9)] == [NOON]
        assert [row.id for row in store.read_events(["0xA"], EVER, limit=9)] == [3]


class TestReadLastEvents:
    def test_gives_of_each_sensor_and_type_the_newest_before_a_time(self, store: HistoryStore) -> None:
        events = [event(n, sensor=sensor, id=10 * n + k) for n in range(1, 6) for k, sensor in enumerate(("a", "b"), 1)]
        for _ in range(2):
            store.add_events(events)
        found = store.read_last_events(["a", "b", "none"], events[6].at, types=[STATE_CHANGED])
        assert sorted(found, key=lambda each: each.sensor_id) == events[4:6]

    def test_picks_types(self, store: HistoryStore) -> None:
        lost, changed = event(1, type=CONNECTION_LOST), event(2)
        store.add_events([lost, changed])
        assert store.read_last_events(["0xA"], NOON + DAY, types=[CONNECTION_LOST]) == [lost]
        both = store.read_last_events(["0xA"], NOON + DAY, types=[CONNECTION_LOST, STATE_CHANGED])
        assert sorted(both, key=lambda each: each.at) == [lost, changed]
