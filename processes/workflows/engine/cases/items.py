"""Plan items: how they are created, entered, begun, ended and repeated."""

from collections.abc import Mapping, Sequence
from typing import Any

from processes.workflows.engine.case_plan import CriterionRole, ItemRule, PlanItem
from processes.workflows.engine.cases.lifecycle import ItemState, Transition, get_parent_exit
from processes.workflows.engine.cases.sentries import get_case_scope, get_plan, notify_sentries
from processes.workflows.engine.cases.transitions import (
    can_transition,
    get_item_node,
    is_live,
    is_within_suspended,
    make_transition,
)
from processes.workflows.engine.definition import LISTENERS, Node, NodeKind
from processes.workflows.engine.execution.calls import call_definition
from processes.workflows.engine.execution.decisions import call_decision
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import MAX_ITEMS
from processes.workflows.engine.execution.people import describe_people
from processes.workflows.engine.execution.records import ItemRecord, TaskRecord, TimerRecord
from processes.workflows.engine.execution.scopes import open_scope
from processes.workflows.engine.execution.triggers import find_next_firing, start_timer
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate, evaluate_condition, evaluate_declared


def create_item(work: UnitOfWork, scope: str, element: str, *, held: Sequence[int] = ()) -> str:
    """Create an available item in a stage; ended items of the same element in it are dropped."""
    key = _add_item(work, scope, element, held)
    notify_sentries(work, key, Transition.CREATE)
    return key


def activate_created(work: UnitOfWork, key: str) -> None:
    """Move a newly created item on if it has no entry criterion to wait for."""
    if not is_live(work, key) or work.items[key]["state"] != ItemState.AVAILABLE:
        return
    node, item = get_item_node(work, key), get_plan_item(work, key)
    if node.kind is NodeKind.TIMER_LISTENER:
        if not any(criterion.role is CriterionRole.TIMER for criterion in item.criteria):
            start_item_timer(work, key)
    elif node.kind is not NodeKind.USER_LISTENER and not item.has_entry:
        leave_available(work, key)


def meet_criterion(work: UnitOfWork, key: str, place: int) -> None:
    """Enter, exit or start the timer of an item whose criterion is met, if the item still waits for that."""
    if not is_live(work, key):
        return
    criterion = get_plan_item(work, key).criteria[place]
    if criterion.role is CriterionRole.EXIT:
        if not is_within_suspended(work, key):
            end_item(work, key, Transition.EXIT, criterion.id)
    elif work.items[key]["state"] == ItemState.AVAILABLE:
        if criterion.role is CriterionRole.TIMER:
            start_item_timer(work, key)
        else:
            leave_available(work, key)


def leave_available(work: UnitOfWork, key: str) -> None:
    record, node, item = work.items[key], get_item_node(work, key), get_plan_item(work, key)
    if node.kind is NodeKind.MILESTONE:
        end_item(work, key, Transition.OCCUR)
    elif _does_rule_apply(work, item.manual_activation, record["scope"], node.id):
        make_transition(work, key, Transition.ENABLE)
    else:
        start_item(work, key, Transition.START)
    # With an entry criterion an item is repeated when the criterion is met, without one when the item ends.
    if item.has_entry and _does_rule_apply(work, item.repetition, record["scope"], node.id):
        create_item(work, record["scope"], node.id, held=record.get("held", ()))


def start_item(work: UnitOfWork, key: str, transition: Transition) -> None:
    make_transition(work, key, transition)
    begin_item(work, key)


def begin_item(work: UnitOfWork, key: str) -> None:
    """Begin the stage, the task or the called definition of an item that became active."""
    node = get_item_node(work, key)
    if node.kind in (NodeKind.STAGE, NodeKind.CASE_PLAN):
        open_stage(work, key, node)
    elif node.kind is NodeKind.HUMAN_TASK:
        _open_human_task(work, key, node)
    elif node.decision is not None:
        call_decision(work, work.items[key]["scope"], node, {})
        # By the queue: what the item's start has set off comes first, as with any other task that ends.
        work.enqueue("finish_task", key)
    else:
        run_called_definition(work, key, node, get_plan_item(work, key))


def open_stage(work: UnitOfWork, key: str, node: Node) -> None:
    parent = work.items[key]["scope"]
    scope = open_scope(work, {"element": node.id, "parent": parent, "token": key, "variables": {}})
    children = [_add_item(work, scope, child) for child in work.definition(scope).scopes[node.id].nodes]
    for child in children:  # after all of them exist: sentries of one wait for another
        notify_sentries(work, child, Transition.CREATE)


def end_item(work: UnitOfWork, key: str, transition: Transition, criterion: str = "") -> None:
    """End an item with everything in it, and repeat it if its repetition rule says so."""
    record, node, item = work.items[key], get_item_node(work, key), get_plan_item(work, key)
    make_transition(work, key, transition, criterion)
    end_contents(work, key, node)
    if node.kind is NodeKind.CASE_PLAN:
        # The caller continues before anything that the case has queued.
        work.enqueue_first("case_ended", get_case_scope(work, record["scope"]), work.items[key]["state"])
    # CMMN 1.1 looks at the repetition rule when an item completes or terminates: an exit criterion ends it for good.
    elif transition is not Transition.EXIT and _repeats_now(work, item, record["scope"], node):
        create_item(work, record["scope"], node.id, held=record.get("held", ()))
        return
    if item.repetition is not None:
        _drop_if_replaced(work, key)


def _add_item(work: UnitOfWork, scope: str, element: str, held: Sequence[int] = ()) -> str:
    if len(work.items) >= MAX_ITEMS:
        raise CommandFailed(element, f"There would be more than {MAX_ITEMS} items.")
    plan = get_plan(work.definition(scope))
    record: ItemRecord = {"element": element, "scope": scope, "state": ItemState.AVAILABLE.value, "since": work.now}
    # CMMN 1.1 evaluates the required rule once, when the item becomes available.
    if _does_rule_apply(work, plan.items[element].required, scope, element):
        record["required"] = True
    if held:
        record["held"] = list(held)
    # Of an item that repeats only the last is kept: otherwise the state would grow with every repetition.
    for ended in work.items_of_element(element):
        if work.items[ended]["scope"] == scope and not is_live(work, ended):
            work.remove_item(ended)
    key = work.add_item(record)
    work.budget.count_step(element)
    work.trace.append((Transition.CREATE.value, element))
    work.conditions_due = work.conditions_due or element in plan.items_with_conditions
    work.enqueue("created", key)
    return key


def _repeats_now(work: UnitOfWork, item: PlanItem, scope: str, node: Node) -> bool:
    """Return whether an ended item is repeated now; one with an entry criterion was repeated when it was entered."""
    by_itself = node.kind not in LISTENERS and node.kind is not NodeKind.MILESTONE and not item.has_entry
    return by_itself and _does_rule_apply(work, item.repetition, scope, node.id)


def end_contents(work: UnitOfWork, key: str, node: Node) -> None:
    """End the contents of an ended item; items of a stage stay in the state to be shown."""
    if node.kind not in (NodeKind.STAGE, NodeKind.CASE_PLAN):
        work.cancel_owned(key)
        return
    for child in work.items_below(key):
        if is_live(work, child):
            inner = get_item_node(work, child)
            make_transition(work, child, get_parent_exit(inner.kind))
            if node.kind is NodeKind.CASE_PLAN:
                # Had the case not ended, it would have gone on: it does when the case is reactivated.
                work.items.put(child, {**work.items[child], "ended_with_case": True})
            end_contents(work, child, inner)


def start_item_timer(work: UnitOfWork, key: str) -> None:
    record, node = work.items[key], get_item_node(work, key)
    if node.event is not None and node.event.timer is not None and not work.timers_below(key):
        start_timer(work, node, node.event.timer, record["scope"], key)


def make_occur(work: UnitOfWork, key: str, timer: str | None = None) -> None:
    """Complete an event listener; one of a timer cycle is followed by another that waits for the next firing."""
    record = work.items[key]
    following = None
    if timer is not None:
        following = find_next_firing(work, work.timers[timer])
    end_item(work, key, Transition.OCCUR)
    if following is not None:
        other = create_item(work, record["scope"], record["element"])
        again: TimerRecord = {**following, "token": other}
        work.add(work.timers, again)


def get_plan_item(work: UnitOfWork, key: str) -> PlanItem:
    record = work.items[key]
    return get_plan(work.definition(record["scope"])).items[record["element"]]


def fail_task(work: UnitOfWork, key: str) -> None:
    """Fail a task whose process ended with an error that nothing in it caught."""
    if is_live(work, key) and can_transition(work, key, Transition.FAULT):
        work.cancel_owned(key)
        make_transition(work, key, Transition.FAULT)


def complete_task(work: UnitOfWork, key: str) -> None:
    """Complete a task whose work, process or case is done."""
    if is_live(work, key) and can_transition(work, key, Transition.COMPLETE):
        end_item(work, key, Transition.COMPLETE)


def _open_human_task(work: UnitOfWork, key: str, node: Node) -> None:
    if not get_plan_item(work, key).is_blocking:
        end_item(work, key, Transition.COMPLETE)
        return
    task: TaskRecord = {
        "element": node.id,
        "token": key,
        "scope": work.items[key]["scope"],
        "kind": "external" if node.handler else "user",
        "name": node.name or node.id,
        "since": work.now,
    }
    describe_people(work, task, node)
    if node.handler:
        task["topic"] = node.topic
    work.add(work.tasks, task)


def _does_rule_apply(work: UnitOfWork, rule: ItemRule | None, scope: str, element: str) -> bool:
    if rule is None:
        return False
    return rule.condition is None or evaluate_condition(work, rule.condition, scope, element)


def _drop_if_replaced(work: UnitOfWork, key: str) -> None:
    """Drop an ended item that has a successor: the last of each element stays in the state to be shown."""
    record = work.items[key]
    if any(
        other != key and work.items[other]["scope"] == record["scope"]
        for other in work.items_of_element(record["element"])
    ):
        work.remove_item(key)


_CALLED_KINDS: Mapping[NodeKind, str] = {NodeKind.PROCESS_TASK: "bpmn", NodeKind.CASE_TASK: "cmmn"}


def run_called_definition(work: UnitOfWork, key: str, node: Node, item: PlanItem) -> None:
    called: Any = node.called
    scope = work.items[key]["scope"]
    if item.called_by is not None:
        called = evaluate(work, item.called_by, scope, node.id)
    if not isinstance(called, str) or not called:
        raise CommandFailed(node.id, "The expression does not return the key of a definition.")
    inputs = evaluate_declared(work, scope, node) if node.inputs else None
    kinds = (_CALLED_KINDS[node.kind],)
    call_definition(work, scope, key, node.id, called, kinds=kinds, variables=inputs, revision=node.revision)
