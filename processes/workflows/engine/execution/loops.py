"""Loops: the rounds of an activity, sequential or parallel multi-instance or a standard loop.

The activity's own token stays and owns the rounds; each round has a scope, with the counter and the item, and in it a
token of its own.
"""

from typing import Any

from processes.workflows.engine.definition import Loop, Node
from processes.workflows.engine.execution.activities import arm_boundary_events
from processes.workflows.engine.execution.compensation import record_completed_rounds
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.flows import leave_element
from processes.workflows.engine.execution.limits import MAX_ROUNDS
from processes.workflows.engine.execution.records import LoopRecord, Variables
from processes.workflows.engine.execution.scopes import open_scope
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import (
    evaluate,
    evaluate_condition,
    get_visible,
    write_variables,
)


def begin_loop(work: UnitOfWork, token: str, node: Node, loop: Loop) -> None:
    scope = work.tokens[token]["scope"]
    items = _get_collection(work, scope, node, loop)
    record: LoopRecord = {
        "element": node.id,
        "token": token,
        "scope": scope,
        "total": _count_rounds(work, scope, node, loop, items),
        "started": 0,
        "completed": 0,
        "outputs": [],
        "entries": [],
        "weight": 0,
    }
    if items is not None and loop.is_sequential:
        # Later rounds read the collection as it is now, whatever is written to it in the meantime.
        record["items"] = items
        record["weight"] = work.budget.measure_value(items, node.id)
        work.budget.add_size(record["weight"], node.id)
    key = work.add(work.loops, record)
    work.tokens.put(token, {**work.tokens[token], "loop": key})
    arm_boundary_events(work, node, scope, token)
    if loop.is_multi_instance and not loop.is_sequential:
        _start_all_rounds(work, key, loop, items)
    else:
        _start_next_round(work, key, node, loop, scope)


def end_round(work: UnitOfWork, scope: str) -> None:
    """Count a completed round, then start the next one or end the loop."""
    record = work.scopes[scope]
    key = record["loop"]
    loop_record = work.loops[key]
    node = work.node(loop_record["token"])
    if node.loop is None:
        raise CommandFailed(node.id, "The activity has no loop.")
    loop_record = {**loop_record, "completed": loop_record["completed"] + 1}
    if node.loop.output_collection:
        _record_output(work, scope, record["round"], node.loop, loop_record)
    work.loops.put(key, loop_record)
    is_over = _is_completed_early(work, scope, node, node.loop, loop_record)
    names_scope = loop_record["scope"]
    work.remove_scope(scope)
    if is_over:
        _end_loop(work, key, node.loop)
    elif node.loop.is_multi_instance and not node.loop.is_sequential:
        if loop_record["completed"] == loop_record["total"]:
            _end_loop(work, key, node.loop)
    else:
        _start_next_round(work, key, node, node.loop, names_scope)


def _get_collection(work: UnitOfWork, scope: str, node: Node, loop: Loop) -> list[Any] | None:
    if loop.collection_by is not None:
        items = evaluate(work, loop.collection_by, scope, node.id)
        if not isinstance(items, list):
            raise CommandFailed(node.id, "What the activity is repeated for is not a list.")
        return items
    if not loop.is_multi_instance or not loop.collection:
        return None
    items = get_visible(work, scope).get(loop.collection)
    if not isinstance(items, list):
        raise CommandFailed(node.id, f"The variable {loop.collection} is not a list.")
    return items


def _count_rounds(work: UnitOfWork, scope: str, node: Node, loop: Loop, items: list[Any] | None) -> int | None:
    if not loop.is_multi_instance:
        return None
    total: object = len(items) if items is not None else None
    if items is None and loop.cardinality is not None:
        total = evaluate(work, loop.cardinality, scope, node.id)
    if isinstance(total, float) and total.is_integer():
        total = int(total)
    if not isinstance(total, int) or isinstance(total, bool) or not 0 <= total <= MAX_ROUNDS:
        raise CommandFailed(node.id, f"The number of rounds is not a whole number from 0 to {MAX_ROUNDS}.")
    return total


def _start_all_rounds(work: UnitOfWork, key: str, loop: Loop, items: list[Any] | None) -> None:
    total = work.loops[key]["total"] or 0
    if total == 0:
        _end_loop(work, key, loop)
    for index in range(total):
        _start_round(work, key, loop, index + 1, items[index] if items is not None else None)


def _start_next_round(work: UnitOfWork, key: str, node: Node, loop: Loop, scope: str) -> None:
    """Start the next round of a sequential loop, or end the loop."""
    record = work.loops[key]
    done = record["started"]
    if loop.is_multi_instance:
        goes_on = done < (record["total"] or 0)
    elif done == 0 and not loop.tests_before:
        goes_on = True
    else:
        goes_on = _goes_round_again(work, node, loop, scope, done)
    if not goes_on:
        _end_loop(work, key, loop)
        return
    items = record.get("items")
    _start_round(work, key, loop, done + 1, items[done] if items is not None else None)


def _goes_round_again(work: UnitOfWork, node: Node, loop: Loop, scope: str, done: int) -> bool:
    """Return whether a standard loop runs once more; without a condition it does up to its maximum."""
    if loop.maximum is not None and done >= loop.maximum:
        return False
    if loop.condition is None:
        return loop.maximum is not None
    return evaluate_condition(work, loop.condition, scope, node.id, loopCounter=done)


def _start_round(work: UnitOfWork, key: str, loop: Loop, count: int, item: object) -> None:
    record = work.loops[key]
    work.loops.put(key, {**record, "started": count})
    variables: Variables = {}
    if loop.output_item:
        variables[loop.output_item] = None  # local to the round: parallel rounds do not overwrite each other
    variables["loopCounter"] = count
    if loop.item:
        variables[loop.item] = item
    scope = open_scope(
        work,
        {
            "element": record["element"],
            "parent": record["scope"],
            "token": record["token"],
            "variables": variables,
            "wraps": True,
            "loop": key,
            "round": count,
        },
    )
    work.enqueue("enter", work.add_token(scope, record["element"]), None)


def _record_output(work: UnitOfWork, scope: str, count: int, loop: Loop, record: LoopRecord) -> None:
    if loop.output_by is not None:
        value = evaluate(work, loop.output_by, scope, record["element"])
    else:
        value = get_visible(work, scope).get(loop.output_item or loop.item)
    weight = work.budget.measure_value(value, record["element"])
    work.budget.add_size(weight, record["element"])
    record["weight"] += weight
    record["outputs"] = [*record["outputs"], [count, value]]


def _is_completed_early(work: UnitOfWork, scope: str, node: Node, loop: Loop, record: LoopRecord) -> bool:
    """Return whether the completion condition holds; it sees the counters under BPMN's names and under Camunda's."""
    if not loop.is_multi_instance or loop.completion is None:
        return False
    total, completed = record["total"], record["completed"]
    active = record["started"] - completed
    return evaluate_condition(
        work,
        loop.completion,
        scope,
        node.id,
        numberOfInstances=total,
        numberOfActiveInstances=active,
        numberOfCompletedInstances=completed,
        nrOfInstances=total,
        nrOfActiveInstances=active,
        nrOfCompletedInstances=completed,
    )


def _end_loop(work: UnitOfWork, key: str, loop: Loop) -> None:
    """End the loop, cancel the rounds still running and send the activity's token on."""
    record = work.loops[key]
    token = record["token"]
    work.loops.put(key, {**record, "entries": []})  # they outlive the loop
    work.cancel_owned(token)
    if loop.output_collection:
        outputs = [value for _, value in sorted(record["outputs"], key=lambda output: int(output[0]))]
        write_variables(work, record["scope"], {loop.output_collection: outputs}, record["element"])
    record_completed_rounds(work, record["entries"])
    leave_element(work, token)
