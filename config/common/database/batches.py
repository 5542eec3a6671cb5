"""Write a batch whatever is in it: one item that cannot be written must not keep the others from being written.

A failure is either the database's (away, full, contended: nothing is wrong with the items, and all of them wait) or it
comes from an item: then the batch is halved until the culprit is alone.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models import QuerySet

from config.common.database.failures import is_database_away

RETRIES = 5
DELETED_AT_ONCE = 1000

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

log = structlog.get_logger(__name__)


class DatabaseUnavailable(Exception):
    """The database cannot write now, whatever the items are: wait, and write them again."""


def write_or_bisect(
    items: Sequence[ItemT],
    write: Callable[[Sequence[ItemT], bool], ResultT],
    settle: Callable[[ItemT, Exception, bool], ResultT],
    *,
    is_of_item: Callable[[Exception], bool] | None = None,
    is_last: bool = True,
) -> Iterator[tuple[Sequence[ItemT], ResultT]]:
    """Write the items in order; yield each part, with its result, as soon as it is written.

    `write` takes a part in one transaction; `settle` does what is to be done about a culprit. Both learn whether theirs
    is the last part. When an error is raised that comes from no item, what was yielded has been written, and nothing
    else.
    """
    try:
        result = write(items, is_last)
    except DatabaseUnavailable:
        raise
    except Exception as error:
        if not items or (is_of_item is not None and not is_of_item(error)):
            raise
        log.warning("batch.failed", items=len(items), error=repr(error))
        if len(items) == 1:
            yield items, settle(items[0], error, is_last)
            return
    else:
        yield items, result
        return
    middle = len(items) // 2
    yield from write_or_bisect(items[:middle], write, settle, is_of_item=is_of_item, is_last=False)
    yield from write_or_bisect(items[middle:], write, settle, is_of_item=is_of_item, is_last=is_last)


def run_or_bisect(
    items: Sequence[ItemT],
    run: Callable[[Sequence[ItemT]], ResultT],
    settle: Callable[[ItemT, Exception], ResultT],
    *,
    is_of_item: Callable[[Exception], bool],
) -> list[ResultT]:
    """Run a function over the items together, else in halves; return the result of each part, `settle`'s for a culprit.

    `run` takes a part in one transaction; an error that comes from no item is raised.
    """
    parts = write_or_bisect(
        items,
        lambda part, is_last: run(part),
        lambda item, error, is_last: settle(item, error),
        is_of_item=is_of_item,
    )
    return [result for _, result in parts]


def write_with_retries(write: Callable[[], ResultT]) -> ResultT:
    """Repeat what only met another transaction; raise `DatabaseGone` for any trouble that no item can have caused."""
    for _ in range(RETRIES):
        try:
            return write()
        except (DatabaseError, InterfaceError) as error:
            if not is_database_away(error):
                raise
            if not database_answers():
                raise DatabaseUnavailable from error
            log.info("batch.retried", error=str(error))
            last = error
    raise DatabaseUnavailable from last


def database_answers() -> bool:
    """Return whether a new connection answers."""
    connection.close()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (OperationalError, InterfaceError):
        return False
    return True


def delete_in_batches(rows: "QuerySet[Any]", order: str = "pk") -> int:
    """Delete in short transactions, so that nobody waits for a large one."""
    total = 0
    while True:
        chosen = list(rows.order_by(order).values_list("pk", flat=True)[:DELETED_AT_ONCE])
        # The condition once more: what has been taken up again since it was chosen stays.
        deleted, _ = rows.filter(pk__in=chosen).delete()
        total += deleted
        if len(chosen) < DELETED_AT_ONCE:
            return total
