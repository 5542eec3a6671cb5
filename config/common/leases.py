"""The one way to be due: rows with a deadline are claimed in batches, held by a lease, and finished under a fence.

A claim moves the deadline forward (that is the lease) and raises the fencing number, in one statement; rows that
another worker has just locked are skipped. The finishing write names the fence it was given, so a holder that was
paused past its lease and overtaken writes nothing. There is no "in progress" flag: a holder that dies is simply due
again. All times are the database's.
"""

from datetime import timedelta
from typing import Any, TypeVar

from django.db import connections
from django.db.models import Field, Model, QuerySet
from django.db.models.functions import Now

RowT = TypeVar("RowT", bound=Model)


class LeaseLost(Exception):
    """Someone else has claimed the row since: what this holder meant to write is void."""


def claim(
    due: QuerySet[RowT], *, limit: int, lease: timedelta, deadline: str = "due_at", fence: str = "fence"
) -> list[RowT]:
    """Claim up to `limit` of the rows whose deadline has passed, the longest due first, and return them in that order.

    `due` may narrow the rows further; its order is replaced.
    """
    connection = connections[due.db]
    statement = {"postgresql": _postgresql_claim, "sqlite": _sqlite_claim}[connection.vendor]
    chosen = due.filter(**{f"{deadline}__lte": Now()}).order_by(deadline, "pk")[:limit]
    sql, params = statement(due.model, chosen, lease, deadline, fence)
    claimed = list(due.model._default_manager.using(due.db).raw(sql, params))
    return sorted(claimed, key=lambda row: (getattr(row, "was_due_at"), row.pk))  # noqa: B009


def finish(row: Model, *, fence: str = "fence", **changes: Any) -> None:
    """Write the outcome of a claimed row if the claim still stands; otherwise raise `LeaseLost`."""
    held = type(row)._default_manager.filter(pk=row.pk, **{fence: getattr(row, fence)})
    if not held.update(**changes):
        raise LeaseLost(f"{row._meta.label} {row.pk}")


def renew(row: Model, *, lease: timedelta, deadline: str = "due_at", fence: str = "fence") -> None:
    """Hold a claimed row for longer, if the claim still stands."""
    finish(row, fence=fence, **{deadline: Now() + lease})


def _postgresql_claim(
    model: type[Model], chosen: "QuerySet[Any]", lease: timedelta, deadline: str, fence: str
) -> tuple[str, tuple[Any, ...]]:
    """Lock first, then update: MATERIALIZED keeps the planner from evaluating the locking part more than once."""
    names = _names(model, deadline, fence)
    inner, params = chosen.values("pk", deadline).query.sql_with_params()
    sql = (
        "WITH due (pk, was_due_at) AS MATERIALIZED ({inner} FOR UPDATE OF {table} SKIP LOCKED) "
        "UPDATE {table} SET {deadline} = statement_timestamp() + %s, {fence} = {table}.{fence} + 1 "
        "FROM due WHERE {table}.{pk} = due.pk RETURNING {table}.*, due.was_due_at"
    ).format(inner=inner, **names)
    return sql, (*params, lease)


def _sqlite_claim(
    model: type[Model], chosen: "QuerySet[Any]", lease: timedelta, deadline: str, fence: str
) -> tuple[str, tuple[Any, ...]]:
    """The write lock of SQLite makes the one statement a claim.

    The new deadline is spelled as `Now()` spells the present: text is compared, and `.123000` would be after `.123`.
    """
    names = _names(model, deadline, fence)
    inner, params = chosen.values("pk", deadline).query.sql_with_params()
    sql = (
        "WITH due (pk, was_due_at) AS MATERIALIZED ({inner}) "
        "UPDATE {table} SET {deadline} = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', %s), "
        "{fence} = {table}.{fence} + 1 FROM due WHERE {table}.{pk} = due.pk "
        "RETURNING *, (SELECT was_due_at FROM due AS d WHERE d.pk = {table}.{pk}) AS was_due_at"
    ).format(inner=inner, **names)
    return sql, (*params, f"+{lease.total_seconds()} seconds")


def _names(model: type[Model], deadline: str, fence: str) -> dict[str, str]:
    """Quote what the statements name; all of it comes from the model, never from a caller's value."""
    columns = {"pk": _column(model, "pk"), "deadline": _column(model, deadline), "fence": _column(model, fence)}
    return {"table": f'"{model._meta.db_table}"', **{name: f'"{column}"' for name, column in columns.items()}}


def _column(model: type[Model], name: str) -> str:
    field = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(field, Field)
    return str(field.column)
