"""History in ClickHouse, in the dialect that the release of 2018 and the current one share.

A time is a `DateTime('UTC')` and a number of milliseconds. A batch that is sent again leaves copies until the engine
merges its parts; in every list they stand together and the first is taken, so no answer shows them and none needs
`FINAL`.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import structlog
from clickhouse_driver import Client, errors
from django.utils import timezone

from config.common.background.per_process import PerProcess
from config.common.database import sql
from config.common.times import from_milliseconds, to_milliseconds
from config.engines.circuit_breaker import CircuitBreaker, EngineUnavailable
from config.engines.clickhouse import connect
from sensors.events import EVENT_TYPES, STATE_CHANGED
from sensors.history.client_sets import ClientSets
from sensors.history.errors import HistoryAway, HistoryRefused, HistorySilent
from sensors.history.values import ClientSensors, EventKey, PastEvent, Period, Sensors, SignalKey, signal_key
from sensors.history.windows import FEW_SENSORS, read_newest
from sensors.ingest.signals import Signal

TABLES = ("signals", "events", "client_sensors")
LAST_SECOND = 2**32 - 1
"""Of a `DateTime` of the engine."""
LAST_VERSION = 2**63
PLACE_BITS = 20
LATEST = 2**63
SPARE_COPIES = 100
FOUR_WEEKS = 28 * 24 * 3_600_000
SPANS_PER_INSERT = 40
"""The engine refuses an insert into more than a hundred months; four weeks lie in two at most."""

_UNSTORABLE = frozenset(
    {
        errors.ErrorCodes.CANNOT_PARSE_TEXT,
        errors.ErrorCodes.TYPE_MISMATCH,
        errors.ErrorCodes.ARGUMENT_OUT_OF_BOUND,
        errors.ErrorCodes.CANNOT_CONVERT_TYPE,
        errors.ErrorCodes.INCORRECT_DATA,
        errors.ErrorCodes.TOO_LARGE_STRING_SIZE,
        errors.ErrorCodes.VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
    }
)

log = structlog.get_logger(__name__)

RowT = TypeVar("RowT", Signal, PastEvent)


class ClickHouseStore:
    seconds_between_inserts = 1.0

    def __init__(
        self,
        connect: Callable[[], Any] = connect,
        *,
        connect_reader: Callable[[], Any] | None = None,
        guard: CircuitBreaker | None = None,
    ) -> None:
        self._writers = _Clients(connect)
        # A reader is a call that occupies a slot: its connections have short timeouts, under a circuit breaker.
        self._readers = _Clients(connect_reader or connect)
        self._guard = guard
        self._client_sets = ClientSets(ask=self._ask, insert=self._insert_client_sensors, drop=self._drop_client_sets)
        self._is_prepared = False

    def prepare(self) -> None:
        for table in TABLES:
            self._write(sql.load_sql("sensors", f"clickhouse/create_{table}"))
        self._is_prepared = True

    def close(self) -> None:
        self._writers.close()
        self._readers.close()

    def add_signals(self, signals: Sequence[Signal]) -> None:
        self._insert("signals", signals, _signal_columns)

    def add_events(self, events: Sequence[PastEvent]) -> None:
        self._insert("events", events, _event_columns)

    def read_signals(
        self, sensors: Sensors, period: Period, *, before: SignalKey | None = None, limit: int
    ) -> list[Signal]:
        chosen = self._choose(sensors)
        if before is not None:
            period = period.until(before[0] + 1)

        def read(window: Period, behind: SignalKey | None, count: int) -> list[Signal]:
            bounds, name = _bounds(window), "read_signals"
            is_whole = bounds["start"] % 1000 == 0 and bounds["end"] % 1000 == 0 and bounds["start"] < bounds["end"]
            # Whole seconds need no comparison of milliseconds: the cheaper statement serves most first pages.
            if behind is not None or not is_whole:
                at, sensor_id, signal_id = behind or (LATEST, "", "")
                bounds |= {"before_at": at, "before_sensor": sensor_id, "before_id": signal_id}
                name = "read_signals_behind"
            return [Signal(*row) for row in self._ask_about(chosen, name, {**bounds, **_count(count)})]

        return self._read_newest(partial(_read_all, read, signal_key, before), period, sensors, limit)

    def find_signals(self, keys: Collection[SignalKey]) -> list[Signal]:
        if not keys:
            return []
        return [Signal(*row) for row in self._ask("find_signals", table=_identities(keys))]

    def find_changing(self, sensors: Sequence[str], period: Period) -> set[SignalKey]:
        found = self._ask_about(self._choose(sensors), "find_changing", {**_bounds(period), "type": STATE_CHANGED})
        return {(at, sensor_id, signal_id) for at, sensor_id, signal_id in found}

    def read_events(
        self,
        sensors: Sensors,
        period: Period,
        *,
        types: Sequence[str] = EVENT_TYPES,
        before: EventKey | None = None,
        limit: int,
    ) -> list[PastEvent]:
        chosen = self._choose(sensors)
        if before is not None:
            period = period.until(before[0] + 1)

        def read(window: Period, behind: EventKey | None, count: int) -> list[PastEvent]:
            at, event_id = behind or (LATEST, 0)
            values = {"before_at": at, "before_id": event_id, "types": tuple(types)}
            return _to_events(self._ask_about(chosen, "read_events", {**_bounds(window), **values, **_count(count)}))

        return self._read_newest(partial(_read_all, read, attrgetter("key"), before), period, sensors, limit)

    def read_last_events(self, sensors: Sequence[str], before: int, *, types: Sequence[str]) -> list[PastEvent]:
        values = {**_bounds(Period(None, before)), "types": tuple(types)}
        return _to_events(self._ask_about(self._choose(sensors), "read_last_events", values))

    def drop_months_before(self, at: int) -> None:
        self._prepare_once()
        first_kept = f"{from_milliseconds(at):%Y%m}"
        for table, month in self._ask("list_months"):
            if month < first_kept:
                log.info("history.month_dropped", table=table, month=month)
                self._write(f"ALTER TABLE {table} DROP PARTITION {month}")

    def _read_newest(
        self, read: Callable[[Period, int], list[RowT]], period: Period, sensors: Sensors, limit: int
    ) -> list[RowT]:
        whole_second = to_milliseconds(timezone.now()) // 1000 * 1000
        return read_newest(read, period, limit=limit, sensors=sensors, now=whole_second)

    def _insert(self, table: str, rows: Sequence[RowT], columns: Callable[[Sequence[RowT]], list[list[Any]]]) -> None:
        self._prepare_once()
        for some in _within_partitions(rows):
            # The driver changes the lists it gets: they are made anew for every attempt.
            self._write(sql.load_sql("sensors", f"clickhouse/insert_{table}"), columns(some), columnar=True)

    def _prepare_once(self) -> None:
        if not self._is_prepared:
            self.prepare()

    def _prepare_for_reading(self) -> None:
        """Create missing tables over a reading connection, which waits no longer than for an answer."""
        if not self._is_prepared:
            for table in TABLES:
                self._read(sql.load_sql("sensors", f"clickhouse/create_{table}"))
            self._is_prepared = True

    def _choose(self, sensors: Sensors) -> "_Chosen":
        """Return sensors as queries have them: a few named, more as a table beside the query, a client's as a set."""
        if isinstance(sensors, ClientSensors):
            return _Chosen(self._client_sets.find_or_make(sensors.client_id))
        if len(sensors) <= FEW_SENSORS:
            return _Chosen(tuple(sensors))
        # Thousands would not fit into the statement.
        rows = [{"sensor_id": sensor_id} for sensor_id in sensors]
        return _Chosen(_TableName(), {"structure": [("sensor_id", "String")], "data": rows})

    def _ask_about(self, chosen: "_Chosen", name: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._ask(name, {**values, "sensors": chosen.parameter}, table=chosen.table)

    def _ask(self, name: str, values: Mapping[str, Any] | None = None, *, table: Any = None) -> list[tuple[Any, ...]]:
        statement = sql.load_sql("sensors", f"clickhouse/{name}")
        tables = None if table is None else [{"name": _TableName.name, **table}]
        self._prepare_for_reading()
        answer: list[tuple[Any, ...]] = self._read(statement, values, external_tables=tables)
        return answer

    def _insert_client_sensors(self, columns: list[list[Any]]) -> None:
        # Over a reading connection: whoever asks waits for it.
        if columns[0]:
            self._read(sql.load_sql("sensors", "clickhouse/insert_client_sensors"), columns, columnar=True)

    def _drop_client_sets(self, day: str) -> None:
        self._read(f"ALTER TABLE client_sensors DROP PARTITION {day}")

    def _write(self, statement: str, values: Any = None, **options: Any) -> None:
        self._run(statement, values, **options)
        if self._guard is not None:
            self._guard.mark_back()

    def _read(self, statement: str, values: Any = None, **options: Any) -> Any:
        if self._guard is None:
            return self._run(statement, values, clients=self._readers, **options)
        try:
            with self._guard.call(failures=(HistorySilent,)):
                return self._run(statement, values, clients=self._readers, **options)
        except EngineUnavailable as error:
            raise HistoryAway from error

    def _run(self, statement: str, values: Any = None, *, clients: "_Clients | None" = None, **options: Any) -> Any:
        try:
            with (clients or self._writers).one() as client:
                return client.execute(statement, values, **options)
        except (errors.Error, OSError, EOFError) as error:
            if isinstance(error, errors.TypeMismatchError) or getattr(error, "code", 0) in _UNSTORABLE:
                raise HistoryRefused(str(error)) from error
            # Whatever else the server says may pass: the tables may have gone with a server that was replaced.
            self._is_prepared = False
            log.warning("history.away", error=str(error)[:500])
            raise (HistoryAway if isinstance(error, errors.ServerException) else HistorySilent) from error


class _Clients:
    """A pool of connections, each for one thread at a time; one that met an error is not used again."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        # A fork must not talk on its parent's connections.
        self._idle: PerProcess[deque[Client]] = PerProcess(deque)

    @contextmanager
    def one(self) -> Iterator[Client]:
        client = self._take()
        try:
            yield client
        except BaseException:
            client.disconnect()
            raise
        self._idle.get().append(client)

    def close(self) -> None:
        idle = self._idle.get()
        while idle:
            idle.pop().disconnect()

    def _take(self) -> Client:
        try:
            return self._idle.get().pop()
        except IndexError:
            return self._connect()


def _read_all(
    read: Callable[[Period, Any, int], list[RowT]],
    key_of: Callable[[RowT], Any],
    before: Any,
    window: Period,
    count: int,
) -> list[RowT]:
    """Read until there are enough rows or no more: copies may fill a whole answer."""
    rows: list[RowT] = []
    while True:
        missing = count - len(rows)
        found = read(window, before, missing)
        rows += _once(found, key_of)[:missing]
        if len(rows) == count or len(found) < missing + SPARE_COPIES:
            return rows
        before = key_of(rows[-1])


def _once(rows: list[RowT], key_of: Callable[[RowT], Any]) -> list[RowT]:
    """Return the rows without copies: of those that stand together, the first."""
    if all(one.at != two.at for one, two in pairwise(rows)):
        return rows
    once = {key_of(row): row for row in reversed(rows)}
    return list(once.values())[::-1]


def _to_events(rows: Iterable[tuple[Any, ...]]) -> list[PastEvent]:
    return [
        PastEvent(pk, kind, sensor_id, sent_at, recorded_at, chain, msgspec.json.decode(payload))
        for pk, kind, sensor_id, sent_at, recorded_at, chain, payload in rows
    ]


def _bounds(window: Period) -> dict[str, Any]:
    """Return the bounds of a period: in whole seconds, for the indexes of the engine, and in milliseconds."""
    start = max(0, window.start or 0)
    end = min(window.end if window.end is not None else LATEST, (LAST_SECOND + 1) * 1000)
    return {
        "start": start,
        "end": max(0, end),
        "first_second": min(start // 1000, LAST_SECOND),
        "last_second": max(0, end - 1) // 1000,
    }


def _count(limit: int) -> dict[str, int]:
    return {"copies": limit + SPARE_COPIES}


@dataclass(frozen=True)
class _Chosen:
    parameter: Any
    table: Any = None


class _TableName:
    """The name of the table that goes with a statement: of a text the driver would make a quoted literal."""

    name = "wanted"

    def __str__(self) -> str:
        return self.name


def _identities(keys: Iterable[SignalKey]) -> dict[str, Any]:
    return {
        "structure": [("sensor_id", "String"), ("at", "DateTime('UTC')"), ("at_ms", "UInt16"), ("id", "String")],
        "data": [
            {"sensor_id": sensor_id, "at": at // 1000, "at_ms": at % 1000, "id": id} for at, sensor_id, id in keys
        ],
    }


def _within_partitions(rows: Sequence[RowT]) -> Iterator[Sequence[RowT]]:
    """Yield the rows in parts of few months each; nearly every batch is one part."""
    spans = sorted({row.at // FOUR_WEEKS for row in rows})
    if len(spans) <= SPANS_PER_INSERT:
        yield from [rows] if rows else []
        return
    for start in range(0, len(spans), SPANS_PER_INSERT):
        some = frozenset(spans[start : start + SPANS_PER_INSERT])
        yield [row for row in rows if row.at // FOUR_WEEKS in some]


def _signal_columns(signals: Sequence[Signal]) -> list[list[Any]]:
    return [
        [signal.sensor_id for signal in signals],
        [signal.at // 1000 for signal in signals],
        [signal.at % 1000 for signal in signals],
        [signal.id for signal in signals],
        [signal.data for signal in signals],
        [signal.received_at // 1000 for signal in signals],
        [signal.received_at % 1000 for signal in signals],
        # Of copies the engine keeps the greatest version: the one received first, of those the one that stands first.
        [
            LAST_VERSION - (signal.received_at << PLACE_BITS | place % (1 << PLACE_BITS))
            for place, signal in enumerate(signals)
        ],
    ]


def _event_columns(events: Sequence[PastEvent]) -> list[list[Any]]:
    return [
        [event.sensor_id for event in events],
        [event.at // 1000 for event in events],
        [event.at % 1000 for event in events],
        [event.id for event in events],
        [event.type for event in events],
        [event.recorded_at // 1000 for event in events],
        [event.recorded_at % 1000 for event in events],
        [event.correlation_id for event in events],
        [msgspec.json.encode(event.payload).decode() for event in events],
    ]
