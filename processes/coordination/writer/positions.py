"""Assign committed events their positions: without gaps, in the order of their ids.

Events that depend on each other are committed in the order of their ids, so an event that is seen here comes behind all
that it depends on. Ids themselves have gaps, and a later one may be committed first.
"""

from django.db import connection, transaction

from config.common.database.sql import load_sql
from processes.coordination.models import AppEvent, WriterState

BATCH = 1000


def assign_positions_once() -> bool:
    """Assign positions to a batch of events that have none; return whether there were any."""
    unnumbered = AppEvent.objects.filter(position__isnull=True)
    if not unnumbered.exists():
        return False
    with transaction.atomic():
        # The lock comes first: what is read after it includes all that was committed before it was taken.
        state = WriterState.objects.select_for_update().get(pk=1)
        with connection.cursor() as cursor:
            cursor.execute(load_sql("processes.coordination", "number"), [state.position, BATCH])
            state.position += cursor.rowcount
        state.save(update_fields=["position"])
    return True
