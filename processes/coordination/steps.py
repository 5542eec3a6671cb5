"""Take a step of the table: move the rows that may take it, and note when each first did."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db.models import F, Func, JSONField, QuerySet, Value

from config.common.moments import format_moment
from processes.coordination.transitions import BY_NUMBER, Step

AGAIN = timedelta(seconds=10)
"""What has stayed in one status for so long is published again: a queue in memory may die with its process."""


def take(number: str, rows: QuerySet[Any], ids: Collection[int], *, at: datetime, **also: Any) -> list[int]:
    """Take a step with those of the rows that are where it begins; return them."""
    step = BY_NUMBER[number]
    assert step.to is not None
    status, is_published = step.to
    movable = rows.filter(pk__in=ids, app_event_status_id__in=[each.value for each in step.only_from])
    found = sorted(movable.values_list("pk", flat=True)) if ids else []
    if found:
        rows.filter(pk__in=found).update(
            app_event_status_id=status.value, is_published=is_published, steps=note(at, number), **also
        )
    return found


def mark_told(step: Step, rows: QuerySet[Any], ids: Collection[int], *, at: datetime, **also: Any) -> None:
    """Mark as published what is still as it was when it was told."""
    assert step.when is not None
    status, _ = step.when
    if ids:
        still = rows.filter(pk__in=ids, app_event_status_id=status.value, is_published=False)
        still.update(is_published=True, steps=note(at, step.number), **also)


def note_only(number: str, rows: QuerySet[Any], ids: Collection[int], *, at: datetime) -> None:
    """Note a step that moves nothing by itself."""
    if ids:
        rows.filter(pk__in=ids).exclude(steps__has_key=number).update(steps=note(at, number))


def note(at: datetime, *numbers: str) -> "_FirstNoted":
    times = msgspec.json.encode({number: format_moment(at) for number in numbers}).decode()
    return _FirstNoted(Value(times), F("steps"), output_field=JSONField())


class _FirstNoted(Func):
    """Add keys to an object; those that are there already keep their values."""

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="((%(expressions)s))", arg_joiner="::jsonb || ", **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="json_patch", **context)
