"""The one way to be due: rows with a deadline are claimed in batches, held by a lease, and finished under a fence.

A claim moves the deadline forward (that is the lease) and raises the fencing number, in one statement; rows that
another worker has just locked are skipped. The finishing write names the fence it was given, so a holder that was
paused past its lease and overtaken writes nothing. There is no "in progress" flag: a holder that dies is simply due
again. All times are the database's.
"""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, TypeVar

from django.db import connections
from django.db.models import Field, Model, QuerySet
from django.db.models.functions import Now

RowT = TypeVar("RowT", bound=Model)
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class LeaseLost(Exception):
    """Someone else has claimed the row since: what this holder meant to write is void."""


def lease_clock() -> float:
    """Return seconds that go on while this process is stopped or its machine asleep, and that nobody can set.

    Read it before a claim: then the lease ends here no later than in the database.
    """
    return time.clock_gettime(_CLOCK)


_held_until: ContextVar[float] = ContextVar("held_until", default=math.inf)


@contextmanager
def holding(until: float) -> Iterator[None]:
    """Let whoever is called from here know by `held_until` when the lease ends under which it acts."""
    token = _held_until.set(until)
    try:
        yield
    finally:
        _held_until.reset(token)


def held_until() -> float:
    """Return when the lease ends by `lease_clock`, under which this is done; without one it never does."""
    return _held_until.get()


def claim(
    due: QuerySet[RowT],
    *,
    limit: int,
    lease: timedelta,
    deadline: str = "due_at",
    fence: str = "fence",
    then_by: str = "pk",
    also: Mapping[str, Any] | None = None,
) -> list[RowT]:
    """Claim up to `limit` of the rows whose deadline has passed, the longest due first, and return them in that order.

    `due` may narrow the rows further; its order is replaced. Rows due at the same time go by the column `then_by`;
    `also` names columns that a claim sets to a value beside the deadline and the fence.
    """
    connection = connections[due.db]
    statement = {"postgresql": _postgresql_claim, "sqlite": _sqlite_claim}[connection.vendor]
    chosen = due.filter(**{f"{deadline}__lte": Now()}).order_by(deadline, then_by)[:limit]
    sql, params = statement(chosen, lease, _Columns(due.model, deadline, fence, also or {}))
    claimed = list(due.model._default_manager.using(due.db).raw(sql, params))
    return sorted(claimed, key=lambda row: (getattr(row, "was_due_at"), getattr(row, then_by)))  # noqa: B009


def finish(row: Model, *, fence: str = "fence", **changes: Any) -> None:
    """Write the outcome of a claimed row if the claim still stands; otherwise raise `LeaseLost`."""
    held = type(row)._default_manager.filter(pk=row.pk, **{fence: getattr(row, fence)})
    if not held.update(**changes):
        raise LeaseLost(f"{row._meta.label} {row.pk}")


def renew(row: Model, *, lease: timedelta, deadline: str = "due_at", fence: str = "fence") -> None:
    """Hold a claimed row for longer, if the claim still stands."""
    finish(row, fence=fence, **{deadline: Now() + lease})


class _Columns:
    """What the statements name, quoted; all of it comes from the model, never from a caller's value."""

    def __init__(self, model: type[Model], deadline: str, fence: str, also: Mapping[str, Any]) -> None:
        self.deadline_field = deadline
        self.table = f'"{model._meta.db_table}"'
        self.pk, self.deadline, self.fence = (_column(model, name) for name in ("pk", deadline, fence))
        self.also = "".join(f", {_column(model, name)} = %s" for name in also)
        self.values = tuple(also.values())


def _postgresql_claim(chosen: "QuerySet[Any]", lease: timedelta, c: _Columns) -> tuple[str, tuple[Any, ...]]:
    """Lock first, then update: MATERIALIZED keeps the planner from evaluating the locking part more than once."""
    inner, params = chosen.values("pk", c.deadline_field).query.sql_with_params()
    sql = (
        f"WITH due (pk, was_due_at) AS MATERIALIZED ({inner} FOR UPDATE OF {c.table} SKIP LOCKED) "
        f"UPDATE {c.table} SET {c.deadline} = statement_timestamp() + %s, {c.fence} = {c.table}.{c.fence} + 1{c.also} "
        f"FROM due WHERE {c.table}.{c.pk} = due.pk RETURNING {c.table}.*, due.was_due_at"
    )
    return sql, (*params, lease, *c.values)


def _sqlite_claim(chosen: "QuerySet[Any]", lease: timedelta, c: _Columns) -> tuple[str, tuple[Any, ...]]:
    """The write lock of SQLite makes the one statement a claim.

    The new deadline is spelled as `Now()` spells the present: text is compared, and `.123000` would be after `.123`.
    """
    inner, params = chosen.values("pk", c.deadline_field).query.sql_with_params()
    sql = (
        f"WITH due (pk, was_due_at) AS MATERIALIZED ({inner}) "
        f"UPDATE {c.table} SET {c.deadline} = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %s), "
        f"{c.fence} = {c.table}.{c.fence} + 1{c.also} FROM due WHERE {c.table}.{c.pk} = due.pk "
        f"RETURNING *, (SELECT was_due_at FROM due AS d WHERE d.pk = {c.table}.{c.pk}) AS was_due_at"
    )
    return sql, (*params, f"+{lease.total_seconds()} seconds", *c.values)


def _column(model: type[Model], name: str) -> str:
    field = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(field, Field)
    return f'"{field.column}"'
