"""The store of history: one small protocol. Which engine serves it is decided here and nowhere else."""

from collections.abc import Collection, Sequence
from typing import Protocol

from django.conf import settings

from config.engines.circuit_breaker import CircuitBreaker
from sensors.events import EVENT_TYPES
from sensors.history.values import EventKey, PastEvent, Period, Sensors, SignalKey
from sensors.ingest.signals import Signal

ONE_IN = 2
"""One slot in so many may wait for ClickHouse: however silent or slow it is, the others serve everything else."""


class HistoryStore(Protocol):
    """Stores every signal and every event of a sensor; each is once in an answer, however often it was added.

    Lists run from the newest to the oldest and go on behind a key. Every method raises `HistoryAway` when the engine
    cannot do it now; adding raises `HistoryRefused` when it never will, and then nothing of the batch is promised.
    """

    seconds_between_inserts: float
    """How long to wait after an insert before a small one; an engine that makes a file of each wants few of them."""

    def prepare(self) -> None:
        """Create missing tables."""

    def add_signals(self, signals: Sequence[Signal]) -> None: ...

    def add_events(self, events: Sequence[PastEvent]) -> None: ...

    def read_signals(
        self, sensors: Sensors, period: Period, *, before: SignalKey | None = None, limit: int
    ) -> list[Signal]: ...

    def find_signals(self, keys: Collection[SignalKey]) -> list[Signal]:
        """Return those of the signals that are stored, in no order."""

    def find_changing(self, sensors: Sequence[str], period: Period) -> set[SignalKey]:
        """Return which signals of the period changed a state; perhaps also some around it."""

    def read_events(
        self,
        sensors: Sensors,
        period: Period,
        *,
        types: Sequence[str] = EVENT_TYPES,
        before: EventKey | None = None,
        limit: int,
    ) -> list[PastEvent]: ...

    def read_last_events(self, sensors: Sequence[str], before: int, *, types: Sequence[str]) -> list[PastEvent]:
        """Return of each sensor its newest event of each of these types before a time, in no order."""

    def drop_months_before(self, at: int) -> None:
        """Drop the months that were over by that time."""

    def close(self) -> None:
        """Close connections; the next call opens new ones."""


_stores: dict[str | None, HistoryStore] = {}


def get_store() -> HistoryStore:
    """Return the store that the settings name."""
    url = settings.CLICKHOUSE_URL
    store = _stores.get(url)
    if store is None:
        store = _stores.setdefault(url, _make(url))
    return store


def close_stores() -> None:
    while _stores:
        _stores.popitem()[1].close()


def _make(url: str | None) -> HistoryStore:
    from config.engines.clickhouse import connect_reader
    from sensors.history.clickhouse import ClickHouseStore
    from sensors.history.database import DatabaseStore

    if not url:
        return DatabaseStore()
    guard = CircuitBreaker(calls=max(1, settings.WEB_CONCURRENCY // ONE_IN))
    return ClickHouseStore(connect_reader=connect_reader, guard=guard)
