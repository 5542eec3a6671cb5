"""Write a batch into history: what cannot be stored is recorded as rejected, and stops nothing else."""

from collections.abc import Sequence

import msgspec
import structlog
from django.db import DatabaseError
from django.utils import timezone
from prometheus_client import Counter

from config.common.database.batches import run_or_bisect
from config.common.text import clean_text
from sensors.history.errors import HistoryAway, HistoryRefused
from sensors.history.store import HistoryStore
from sensors.ingest.rejections import record_rejections
from sensors.ingest.signals import Code, Rejection, Signal

MOST_CULPRITS = 100
"""More than that in one batch is no matter of the data: something is wrong with the tables."""

WRITTEN = Counter("postern_history_signals", "Signals written into history", ["outcome"])

log = structlog.get_logger(__name__)


def write_signals(store: HistoryStore, signals: Sequence[Signal], unreadable: Sequence[Rejection] = ()) -> None:
    """Add signals; a batch that is refused is bisected until the culprits are alone, which are recorded as rejected.

    Raise `HistoryAway` when to try again later; part of it may be stored by then, which does no harm.
    """
    refused = [*unreadable]
    if signals:
        run_or_bisect(
            signals,
            store.add_signals,
            lambda signal, error: _reject(signal, error, refused),
            is_of_item=lambda error: isinstance(error, HistoryRefused),
        )
    if refused:
        log.warning("history.refused", signals=len(refused), first=refused[0].message)
        try:
            record_rejections(refused, now=timezone.now())
        except DatabaseError as error:
            raise HistoryAway from error
    WRITTEN.labels("written").inc(len(signals) - len(refused) + len(unreadable))
    WRITTEN.labels("refused").inc(len(refused))


def _reject(signal: Signal, error: Exception, refused: list[Rejection]) -> None:
    if len(refused) >= MOST_CULPRITS:
        log.error("history.refuses_everything", error=str(error))
        raise HistoryAway from error
    message = clean_text(f"cannot be kept in history: {error}", 300)
    raw = clean_text(msgspec.json.encode(signal), 1024)
    refused.append(Rejection(0, Code.BAD_SHAPE, message, clean_text(signal.sensor_id, 64), raw, signal.correlation_id))
