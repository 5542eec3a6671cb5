"""Transitions of plan items: one at a time, or suspend and resume with everything inside.

Timers of a suspended item stop; those that came due in the meantime fire when it resumes. Its tasks cannot be
completed, and events do not reach it.
"""

from processes.workflows.engine.cases.lifecycle import (
    ENDED,
    PREVIOUS,
    ItemState,
    Transition,
    find_next_state,
)
from processes.workflows.engine.cases.sentries import notify_sentries
from processes.workflows.engine.definition import Node
from processes.workflows.engine.execution.records import ItemRecord, SubscriptionRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.visits import count_entry, find_place
from processes.workflows.engine.suspension import is_suspended

_ENTERS = (Transition.START, Transition.MANUAL_START)


def can_transition(work: UnitOfWork, key: str, transition: Transition) -> bool:
    record = work.items[key]
    return find_next_state(get_item_node(work, key).kind, record["state"], transition) is not None


def make_transition(work: UnitOfWork, key: str, transition: Transition, criterion: str = "") -> None:
    """Make a transition that the life cycle allows, and notify the sentries that wait for it."""
    record = work.items[key]
    work.budget.count_step(record["element"])
    work.items.put(
        key,
        _make_moved_record(
            work, record, transition, find_next_state(get_item_node(work, key).kind, record["state"], transition)
        ),
    )
    work.trace.append((transition.value, record["element"]))
    if transition in _ENTERS:
        count_entry(work, record["scope"], record["element"])
    elif transition is Transition.OCCUR:
        work.occurred[find_place(work.scopes.records, record["scope"], record["element"])] += 1
    notify_sentries(work, key, transition, criterion)


def get_item_node(work: UnitOfWork, key: str) -> Node:
    record = work.items[key]
    return work.definition(record["scope"]).nodes[record["element"]]


def is_live(work: UnitOfWork, key: str) -> bool:
    record = work.items.get(key)
    return record is not None and record["state"] not in (*ENDED, ItemState.CLOSED)


def _make_moved_record(work: UnitOfWork, record: ItemRecord, transition: Transition, state: str | None) -> ItemRecord:
    if state is None:
        raise ValueError(f"{record['element']} is {record['state']} and cannot {transition}.")
    moved: ItemRecord = {**record, "since": work.now}
    before = moved.pop("before", record["state"])
    moved["state"] = before if state == PREVIOUS else str(state)
    if transition is Transition.PARENT_SUSPEND:
        moved["before"] = record["state"]
    if moved["state"] in (*ENDED, ItemState.CLOSED):
        # An ended item waits for nothing, and stays in the state to be shown: it should be small.
        for memory in ("heard", "held", "paused"):
            moved.pop(memory, None)  # type: ignore[misc]
    return moved


def suspend_item(work: UnitOfWork, key: str, transition: Transition = Transition.SUSPEND) -> None:
    make_transition(work, key, transition)
    paused = [work.remove(work.timers, timer) for timer in work.timers_below(key)]
    if paused:
        work.items.put(key, {**work.items[key], "paused": paused})
    for child in work.items_below(key):
        if is_live(work, child) and can_transition(work, child, Transition.PARENT_SUSPEND):
            suspend_item(work, child, Transition.PARENT_SUSPEND)


def resume_item(work: UnitOfWork, key: str, transition: Transition = Transition.RESUME) -> None:
    _restart_timers(work, key)
    make_transition(work, key, transition)
    work.conditions_due = True
    for child in work.items_below(key):
        if is_live(work, child) and "before" in work.items[child]:
            resume_item(work, child, Transition.PARENT_RESUME)


def is_within_suspended(work: UnitOfWork, owner: str | None) -> bool:
    return is_suspended(work.items.records, work.tokens.records, work.scopes.records, owner)


def is_subscription_suspended(work: UnitOfWork, record: SubscriptionRecord) -> bool:
    """Return whether a subscription lies in a suspended item, so that no event may reach it."""
    return len(work.items) > 0 and is_within_suspended(work, record["token"] or work.scopes[record["scope"]]["token"])


def _restart_timers(work: UnitOfWork, key: str) -> None:
    record: ItemRecord = {**work.items[key]}
    for timer in record.pop("paused", []):
        work.add(work.timers, timer)
    work.items.put(key, record)
