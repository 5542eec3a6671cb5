"""Keep signals in the transaction that accepts them, where no queue carries them to history."""

from collections.abc import Sequence

from django.conf import settings

from sensors.history.database import insert_signals
from sensors.history.queue import encode_batch
from sensors.ingest.signals import Signal
from sensors.models import HistorySpool


def store_in_transaction(signals: Sequence[Signal]) -> None:
    """Make the signals history with the caller's commit: as rows, or as a batch on its way to ClickHouse.

    Without ClickHouse this is the last word; with it, the scheduler or `run_history` carries the batch over.
    """
    if not signals:
        return
    if settings.CLICKHOUSE_URL:
        HistorySpool.objects.create(batch=encode_batch(signals))
    else:
        insert_signals(signals)
