"""One transition of an item: its state changes, and whoever listens to it is told."""

from processes.workflows.engine.cases.lifecycle import BEFORE, ENDED, ItemState, Transition, leads_to
from processes.workflows.engine.cases.sentries import tell
from processes.workflows.engine.definition import Node
from processes.workflows.engine.execution.records import ItemRecord, SubscriptionRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.suspension import is_suspended


def may(work: UnitOfWork, key: str, transition: Transition) -> bool:
    record = work.items[key]
    return leads_to(node_of(work, key).kind, record["state"], transition) is not None


def move(work: UnitOfWork, key: str, transition: Transition, criterion: str = "") -> None:
    """Make a transition that the life cycle allows."""
    record = work.items[key]
    work.allowance.step(record["element"])
    work.items.put(
        key, _moved(work, record, transition, leads_to(node_of(work, key).kind, record["state"], transition))
    )
    work.trace.append((transition.value, record["element"]))
    tell(work, key, transition, criterion)


def node_of(work: UnitOfWork, key: str) -> Node:
    record = work.items[key]
    return work.definition(record["scope"]).nodes[record["element"]]


def is_live(work: UnitOfWork, key: str) -> bool:
    record = work.items.get(key)
    return record is not None and record["state"] not in (*ENDED, ItemState.CLOSED)


def _moved(work: UnitOfWork, record: ItemRecord, transition: Transition, state: str | None) -> ItemRecord:
    if state is None:
        raise ValueError(f"{record['element']} is {record['state']} and cannot {transition}.")
    moved: ItemRecord = {**record, "since": work.now}
    before = moved.pop("before", record["state"])
    moved["state"] = before if state == BEFORE else str(state)
    if transition is Transition.PARENT_SUSPEND:
        moved["before"] = record["state"]
    if moved["state"] in (*ENDED, ItemState.CLOSED):
        for memory in ("heard", "held", "paused"):
            moved.pop(memory, None)  # type: ignore[misc]
    return moved


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
