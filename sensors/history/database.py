"""History in the database itself: its tables where no ClickHouse is configured, the way into the spool where one is."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
import psycopg
from django.conf import settings
from django.db import DataError, IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.db.models import BigIntegerField, Exists, Func, Model, OuterRef, Q, QuerySet
from django.db.models.functions import Collate
from django.utils import timezone

from config.common.database import sql
from config.common.database.sql import in_array
from config.common.times import from_milliseconds, to_milliseconds
from sensors.events import EVENT_TYPES, STATE_CHANGED
from sensors.history.errors import HistoryAway, HistoryRefused
from sensors.history.queue import encode_batch
from sensors.history.values import ClientSensors, EventKey, PastEvent, Period, Sensors, SignalKey
from sensors.history.windows import read_newest
from sensors.ingest.signals import Signal
from sensors.models import HistorySpool, SensorClient, StoredEvent, StoredSignal

STEP = 5000

ModelT = TypeVar("ModelT", bound=Model)


class DatabaseStore:
    seconds_between_inserts = 0.0

    def prepare(self) -> None:
        """Do nothing: the tables come with the migrations."""

    def close(self) -> None:
        """Do nothing: the connections are Django's."""

    def add_signals(self, signals: Sequence[Signal]) -> None:
        with _translate_errors(), transaction.atomic():
            insert_signals(signals)

    def add_events(self, events: Sequence[PastEvent]) -> None:
        # In order of id, so that two writers of the same events never wait for each other in a circle.
        rows = [_event_row(event) for event in sorted(events, key=lambda event: event.id)]
        with _translate_errors():
            StoredEvent.objects.bulk_create(rows, ignore_conflicts=True, batch_size=STEP)

    def read_signals(
        self, sensors: Sensors, period: Period, *, before: SignalKey | None = None, limit: int
    ) -> list[Signal]:
        if before is not None:
            period = period.until(before[0] + 1)

        def read(window: Period, count: int) -> list[Signal]:
            rows = _of(StoredSignal.objects.all(), sensors).filter(within(window))
            return _page_of_signals(rows, before, count)

        with _translate_errors():
            if _is_one(sensors):  # the unique index is in this very order
                return read(period, limit)
            now = to_milliseconds(timezone.now())
            return read_newest(read, period, limit=limit, sensors=sensors, now=now)

    def find_signals(self, keys: Collection[SignalKey]) -> list[Signal]:
        keys = set(keys)
        if not keys:
            return []
        rows = _of(StoredSignal.objects.all(), [sensor_id for _, sensor_id, _ in keys])
        rows = rows.filter(at__in=[from_milliseconds(at) for at in {at for at, _, _ in keys}])
        with _translate_errors():
            found = _read_rows(rows)
        return [signal for signal in found if (signal.at, signal.sensor_id, signal.id) in keys]

    def find_changing(self, sensors: Sequence[str], period: Period) -> set[SignalKey]:
        rows = _of(StoredEvent.objects.filter(within(period), type=STATE_CHANGED), sensors)
        with _translate_errors():
            found = list(rows.values_list("at", "sensor_id", "payload"))
        return {(to_milliseconds(at), sensor_id, payload["signal_id"]) for at, sensor_id, payload in found}

    def read_events(
        self,
        sensors: Sensors,
        period: Period,
        *,
        types: Sequence[str] = EVENT_TYPES,
        before: EventKey | None = None,
        limit: int,
    ) -> list[PastEvent]:
        if before is not None:
            period = period.until(before[0] + 1)

        def read(window: Period, count: int) -> list[PastEvent]:
            rows = _of(StoredEvent.objects.all(), sensors).filter(within(window), type__in=types)
            return [_to_past_event(row) for row in behind(rows, before).order_by("-at", "-id")[:count]]

        with _translate_errors():
            if _is_one(sensors):
                return read(period, limit)
            now = to_milliseconds(timezone.now())
            return read_newest(read, period, limit=limit, sensors=sensors, now=now)

    def read_last_events(self, sensors: Sequence[str], before: int, *, types: Sequence[str]) -> list[PastEvent]:
        values: dict[str, Any] = {"before": connection.ops.adapt_datetimefield_value(from_milliseconds(before))}
        for name, texts in (("sensors", sensors), ("types", types)):
            values[name] = list(texts) if connection.vendor == "postgresql" else msgspec.json.encode(texts).decode()
        with _translate_errors():
            rows = StoredEvent.objects.raw(sql.load_engine_sql("sensors", "read_last_events"), values)
            return [_to_past_event(row) for row in rows]

    def drop_months_before(self, at: int) -> None:
        with _translate_errors():
            for rows in (
                StoredSignal.objects.filter(at__lt=from_milliseconds(at)),
                StoredEvent.objects.filter(at__lt=from_milliseconds(at)),
            ):
                _delete_in_steps(rows)


def store_in_transaction(signals: Sequence[Signal]) -> None:
    """Store the signals in the caller's transaction: as rows of history, or as a batch for ClickHouse.

    The scheduler or `run_history` moves the batch over.
    """
    if not signals:
        return
    if settings.CLICKHOUSE_URL:
        HistorySpool.objects.create(batch=encode_batch(signals))
    else:
        insert_signals(signals)


def insert_signals(signals: Sequence[Signal]) -> None:
    """Insert signals in the caller's transaction; of several with one identity the first stays."""
    if not signals:
        return
    if connection.vendor == "postgresql":
        names = ("sensor_id", "at", "id", "data", "received_at")
        columns = [[getattr(signal, name) for signal in signals] for name in names]
        with psycopg.Cursor(connection.connection) as cursor:
            cursor.execute(sql.load_sql("sensors", "insert_signals.postgresql"), columns)
        return
    StoredSignal.objects.bulk_create([_signal_row(signal) for signal in signals], ignore_conflicts=True, batch_size=500)


def behind(rows: QuerySet[ModelT], before: EventKey | None) -> QuerySet[ModelT]:
    """Return the rows behind a key, in a list from the newest to the oldest."""
    if before is None:
        return rows
    at, last = from_milliseconds(before[0]), before[1]
    return rows.filter(Q(at__lt=at) | Q(at=at, id__lt=last), at__lte=at)


def within(period: Period) -> Q:
    chosen = Q()
    if period.start is not None:
        chosen &= Q(at__gte=from_milliseconds(period.start))
    if period.end is not None:
        chosen &= Q(at__lt=from_milliseconds(period.end))
    return chosen


_SIGNAL_COLUMNS = ("sensor_id", "at", "signal_id", "data", "received_at")


def _is_one(sensors: Sensors) -> bool:
    return not isinstance(sensors, ClientSensors) and len(sensors) == 1


def _of(rows: QuerySet[ModelT], sensors: Sensors) -> QuerySet[ModelT]:
    if isinstance(sensors, ClientSensors):
        links = SensorClient.objects.filter(client_id=sensors.client_id, sensor_id=OuterRef("sensor_id"))
        return rows.filter(Exists(links))
    # One sensor by equality: of a set of one PostgreSQL would not know that the index has the order asked for.
    return rows.filter(sensor_id=sensors[0]) if len(sensors) == 1 else rows.filter(sensor_id__in=in_array(sensors))


def _page_of_signals(rows: QuerySet[StoredSignal], before: SignalKey | None, count: int) -> list[Signal]:
    """Return one page of signals, newest first; ids are compared by their bytes, as the fold compares them."""
    # The collation of the database would order them by its language.
    by_bytes = {"postgresql": "C", "sqlite": "BINARY"}[connection.vendor]
    rows = rows.annotate(by_sensor=Collate("sensor_id", by_bytes), by_id=Collate("signal_id", by_bytes))
    if before is not None:
        at, sensor_id, signal_id = from_milliseconds(before[0]), before[1], before[2]
        same = Q(at=at, by_sensor__lt=sensor_id) | Q(at=at, by_sensor=sensor_id, by_id__lt=signal_id)
        rows = rows.filter(Q(at__lt=at) | same, at__lte=at)
    return _read_rows(rows.order_by("-at", "-by_sensor", "-by_id")[:count])


def _read_rows(rows: QuerySet[StoredSignal]) -> list[Signal]:
    """Read signals with their times in milliseconds."""
    # Counted by PostgreSQL: to build a time of each row costs more than all the rest.
    if connection.vendor == "postgresql":
        counted = rows.annotate(at_ms=_Milliseconds("at"), received_ms=_Milliseconds("received_at"))
        columns = counted.values_list("sensor_id", "at_ms", "signal_id", "data", "received_ms")
        return [Signal(*row) for row in columns]
    return [
        Signal(sensor_id, to_milliseconds(at), signal_id, data, to_milliseconds(received_at))
        for sensor_id, at, signal_id, data, received_at in rows.values_list(*_SIGNAL_COLUMNS)
    ]


class _Milliseconds(Func):
    template = "(EXTRACT(EPOCH FROM %(expressions)s) * 1000)::bigint"
    output_field = BigIntegerField()


def _signal_row(signal: Signal) -> StoredSignal:
    return StoredSignal(
        sensor_id=signal.sensor_id,
        at=from_milliseconds(signal.at),
        signal_id=signal.id,
        data=signal.data,
        received_at=from_milliseconds(signal.received_at),
    )


def _event_row(event: PastEvent) -> StoredEvent:
    return StoredEvent(
        id=event.id,
        type=event.type,
        sensor_id=event.sensor_id,
        at=from_milliseconds(event.at),
        recorded_at=from_milliseconds(event.recorded_at),
        correlation_id=event.correlation_id,
        payload=event.payload,
    )


def _to_past_event(row: StoredEvent) -> PastEvent:
    return PastEvent(
        id=row.pk,
        type=row.type,
        sensor_id=row.sensor_id,
        at=to_milliseconds(row.at),
        recorded_at=to_milliseconds(row.recorded_at),
        correlation_id=row.correlation_id,
        payload=row.payload,
    )


def _delete_in_steps(rows: "QuerySet[Any]") -> None:
    """Delete in short transactions: SQLite has one writer at a time, and PostgreSQL's vacuum must keep up."""
    while True:
        step = list(rows.order_by("at").values_list("pk", flat=True)[:STEP])
        rows.model._default_manager.filter(pk__in=step).delete()
        if len(step) < STEP:
            return


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise what the database says as an error of history: final for a value, to be repeated for all else."""
    try:
        yield
    except (DataError, IntegrityError, OverflowError, psycopg.DataError, psycopg.IntegrityError) as error:
        raise HistoryRefused(str(error)) from error
    except (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise HistoryAway from error
