"""Take steps of the table: move the rows that may take them, and note when each first did.

Writing a row costs more than all else in a turn, so all changes of one turn to a row are one update.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from django.db import connections
from django.db.models import F, Func, JSONField, QuerySet, TextField, Value
from django.db.models.sql import UpdateQuery

from config.common.database.sql import in_number_array
from config.common.times import format_time, parse_time
from processes.coordination.protocol.transitions import BY_NUMBER, ProtocolStep

REPEAT_AFTER = timedelta(seconds=10)
"""What has stayed in one status for so long is published again: a queue in memory may die with its process."""
PACKED = ""
"""The one key of packed steps: the first time in milliseconds since 1970, then the milliseconds to each step."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def take_step(
    number: str, rows: QuerySet[Any], ids: Collection[int], *, at: datetime, noting: Sequence[str] = (), **also: Any
) -> list[int]:
    """Take a step with those of the rows that are in a status where it begins; return their ids.

    `noting` are steps that move nothing by themselves: they are noted on all of the rows.
    """
    return take_steps([number], rows, ids, at=at, noting=noting, **also)


def take_steps(
    numbers: Sequence[str],
    rows: QuerySet[Any],
    ids: Collection[int],
    *,
    at: datetime,
    noting: Sequence[str] = (),
    **also: Any,
) -> list[int]:
    """Take steps that follow each other with those of the rows that may take the first; return their ids."""
    if not ids:
        return []
    to = BY_NUMBER[numbers[-1]].to
    assert to is not None
    status, is_published = to
    begins = [each.value for each in BY_NUMBER[numbers[0]].only_from]
    moved = _update(
        with_ids(rows, ids).filter(app_event_status_id__in=begins),
        app_event_status_id=status.value,
        is_published=is_published,
        steps=steps_noted(at, *noting, *numbers),
        **also,
    )
    _note_rest(noting, rows, ids, moved, at=at)
    return moved


def mark_published(
    step: ProtocolStep,
    rows: QuerySet[Any],
    ids: Collection[int],
    *,
    at: datetime,
    noting: Sequence[str] = (),
    **also: Any,
) -> None:
    """Mark rows as published unless they have moved on since their message was built."""
    assert step.on_status is not None
    status, _ = step.on_status
    if ids:
        still = with_ids(rows, ids).filter(app_event_status_id=status.value, is_published=False)
        marked = _update(still, is_published=True, steps=steps_noted(at, *noting, step.number), **also)
        _note_rest(noting, rows, ids, marked, at=at)


def note_step(number: str, rows: QuerySet[Any], ids: Collection[int], *, at: datetime) -> None:
    """Note a step that moves nothing by itself."""
    if ids:
        with_ids(rows, ids).exclude(steps__has_key=number).update(steps=steps_noted(at, number))


def steps_noted(at: datetime, *numbers: str) -> "_FirstNoted":
    """Return an expression for the column `steps` that adds the time of steps not taken before."""
    return _FirstNoted(Value(_encode(step_times(at, *numbers))), F("steps"), output_field=JSONField())


def step_times(at: datetime, *numbers: str) -> dict[str, str]:
    """Return the value of the column `steps` for a new row."""
    return dict.fromkeys(numbers, format_time(at))


def with_ids(rows: QuerySet[Any], ids: Collection[int]) -> QuerySet[Any]:
    return rows.filter(pk__in=in_number_array(ids, alias=rows.db))


def json_by_row(values: Mapping[int, Any]) -> "_OfRow":
    """Return an expression that updates each row to the value under its id."""
    by_id = {str(pk): value for pk, value in values.items()}
    return _OfRow(Value(_encode(by_id)), F("pk"), output_field=JSONField())


def text_by_row(values: Mapping[int, str], *, by: str = "pk") -> "_TextOfRow":
    """Return an expression that updates each row to the text under its id, or under the number in another column."""
    by_number = {str(pk): value for pk, value in values.items()}
    return _TextOfRow(Value(_encode(by_number)), F(by), output_field=TextField())


def pack_steps(steps: dict[str, str]) -> dict[str, str]:
    """Return the steps of an event that has ended in a fifth of the room, their times as distances from the first.

    Still an object, so that a step that a very late message takes all the same is noted beside them.
    """
    times = {number: (parse_time(at) - EPOCH) // MILLISECOND for number, at in unpack_steps(steps).items()}
    first = min(times.values(), default=0)
    return {PACKED: " ".join([str(first), *(f"{number}:{at - first}" for number, at in times.items())])}


def unpack_steps(steps: dict[str, str]) -> dict[str, str]:
    """Return the steps with their times, packed or not; of a step that was noted again the first time."""
    if PACKED not in steps:
        return steps
    first, *packed = steps[PACKED].split()
    found = dict(part.split(":") for part in packed)
    times = {number: format_time(EPOCH + (int(first) + int(at)) * MILLISECOND) for number, at in found.items()}
    return {**{number: at for number, at in steps.items() if number != PACKED}, **times}


def _note_rest(
    numbers: Sequence[str], rows: QuerySet[Any], ids: Collection[int], done: Collection[int], *, at: datetime
) -> None:
    rest = set(ids).difference(done) if numbers else ()
    for number in numbers:
        note_step(number, rows, sorted(rest), at=at)


def _update(rows: QuerySet[Any], **values: Any) -> list[int]:
    """Update rows as `QuerySet.update` does, and return the ids of those that it found."""
    query: Any = rows.query.chain(UpdateQuery)
    query.add_update_values(values)
    statement, parameters = query.get_compiler(rows.db).as_sql()
    with connections[rows.db].cursor() as cursor:
        # Django's own update gives a count; a second query could find rows that another turn has moved meanwhile.
        cursor.execute(f"{statement} RETURNING id", parameters)
        return sorted(pk for (pk,) in cursor.fetchall())


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class _FirstNoted(Func):
    """Add keys to an object; those that are there already keep their values."""

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="((%(expressions)s))", arg_joiner="::jsonb || ", **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="json_patch", **context)


_EXTRACT = """json_extract(%(expressions)s || '"')"""


class _OfRow(Func):
    """Look a row's value up in an object, by the row's id."""

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template, joiner = "(%(expressions)s::text)", "::jsonb -> "
        return self.as_sql(compiler, connection, template=template, arg_joiner=joiner, **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template=_EXTRACT, arg_joiner=""", '$."' || """, **context)


class _TextOfRow(_OfRow):
    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template, joiner = "(%(expressions)s::text)", "::jsonb ->> "
        return Func.as_sql(self, compiler, connection, template=template, arg_joiner=joiner, **context)
