"""Suspending an item and resuming it, with everything in it.

Timers in it stand still: those that were due in the meantime fire when it goes on. Tasks in it cannot be completed, and
events do not reach it.
"""

from processes.workflows.engine.cases.lifecycle import Transition
from processes.workflows.engine.cases.moving import is_live, may, move
from processes.workflows.engine.execution.records import ItemRecord, SubscriptionRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.suspension import is_suspended


def suspend(work: UnitOfWork, key: str, transition: Transition = Transition.SUSPEND) -> None:
    move(work, key, transition)
    _stop_timers(work, key)
    for child in work.items_below(key):
        if is_live(work, child) and may(work, child, Transition.PARENT_SUSPEND):
            suspend(work, child, Transition.PARENT_SUSPEND)


def resume(work: UnitOfWork, key: str, transition: Transition = Transition.RESUME) -> None:
    _let_timers_run(work, key)
    move(work, key, transition)
    work.is_changed = True
    for child in work.items_below(key):
        if is_live(work, child) and "before" in work.items[child]:
            resume(work, child, Transition.PARENT_RESUME)


def is_still(work: UnitOfWork, owner: str | None) -> bool:
    return is_suspended(work.items.records, work.tokens.records, work.scopes.records, owner)


def is_deaf(work: UnitOfWork, record: SubscriptionRecord) -> bool:
    """Tell whether what waits for an event lies in something that is suspended."""
    return len(work.items) > 0 and is_still(work, record["token"] or work.scopes[record["scope"]]["token"])


def _stop_timers(work: UnitOfWork, key: str) -> None:
    paused = [work.drop(work.timers, timer) for timer in work.timers_below(key)]
    if paused:
        work.items.put(key, {**work.items[key], "paused": paused})


def _let_timers_run(work: UnitOfWork, key: str) -> None:
    record: ItemRecord = {**work.items[key]}
    for timer in record.pop("paused", []):
        work.add(work.timers, timer)
    work.items.put(key, record)
