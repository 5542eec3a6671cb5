"""The line of events that are to begin, and the rows that events beside it have reserved.

An event that waits (refused or late, and not to be cancelled) is out of the line, and so is every event behind it that
touches one of its rows, and those behind these. Their rows are reserved in a table of their own (`HeldRow`), which is
queried by row: however many events stand beside the line, activation costs what the line itself costs.
"""

from collections.abc import Collection

from django.db.models import Min

from config.common.database.bulk_insert import insert_rows
from config.common.database.sql import in_array, in_number_array
from processes.coordination.models import HeldRow, WriterEvent
from processes.coordination.protocol.steps import with_ids

IN_LINE = {"is_waiting": False, "is_behind": False}


def reserve_rows(events: Collection[int]) -> None:
    """Reserve the rows that events out of the line touch."""
    rows = with_ids(WriterEvent.objects.all(), events).order_by().values_list("pk", "position", "touched")
    reserved = [(key, pk, position) for pk, position, touched in rows for key in touched]
    columns = {
        name: [each[place] for each in reserved] for place, name in enumerate(("key", "writer_event_id", "position"))
    }
    insert_rows(HeldRow, columns, unless_there=True)


def find_reserved(keys: Collection[str]) -> dict[str, int]:
    """Return the reserved ones of these rows, each with the position of the first event that has reserved it."""
    if not keys or not HeldRow.objects.exists():
        return {}
    rows = HeldRow.objects.filter(key__in=in_array(sorted(keys))).order_by()
    return dict(rows.values_list("key").annotate(first=Min("position")))


def move_behind(events: Collection[int]) -> None:
    """Move events out of the line that touch a reserved row, and reserve theirs."""
    if events:
        with_ids(WriterEvent.objects.all(), events).update(is_behind=True)
        reserve_rows(events)


def release_rows(ended: Collection[int]) -> None:
    """Release the rows of events that have ended, and bring the events behind them back into the line."""
    if not ended or not HeldRow.objects.exists():
        return
    HeldRow.objects.filter(writer_event__in=in_number_array(ended)).delete()
    touched = with_ids(WriterEvent.objects.all(), ended).order_by().values_list("touched", flat=True)
    keys = {key for each in touched for key in each}
    behind = HeldRow.objects.filter(key__in=in_array(sorted(keys)), writer_event__is_behind=True)
    back = sorted(set(behind.order_by().values_list("writer_event_id", flat=True)))
    if back:
        HeldRow.objects.filter(writer_event__in=in_number_array(back)).delete()
        with_ids(WriterEvent.objects.all(), back).update(is_behind=False)
