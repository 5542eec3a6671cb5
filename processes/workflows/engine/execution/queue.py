"""The queue of a command: its steps are run until everything waits for something outside."""

from collections.abc import Callable

from processes.workflows.engine.cases import items, sentries
from processes.workflows.engine.cases.stages import begin_case, complete_innermost_stage, end_case
from processes.workflows.engine.definition import Node, NodeKind
from processes.workflows.engine.execution import events, gateways
from processes.workflows.engine.execution.activities import begin_activity
from processes.workflows.engine.execution.completion import complete_scope, terminate_scope
from processes.workflows.engine.execution.events import fire_true_conditions
from processes.workflows.engine.execution.loops import begin_loop
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def run_queue(work: UnitOfWork) -> None:
    """Run the queued steps until everything waits for something outside, checking conditions after each.

    A stage is complete only when everything that its last item has set off is done.
    """
    while True:
        _check_conditions(work)
        while work.queue:
            name, *arguments = work.queue.popleft()
            _STEPS[name](work, *arguments)
            _check_conditions(work)
        if work.status != "active":
            return
        # Last, when nothing moves any more: until then a token or an item may still arrive.
        if not gateways.open_inclusive_join(work) and not (len(work.items) and complete_innermost_stage(work)):
            return


def _check_conditions(work: UnitOfWork) -> None:
    # What a condition sets off may write variables that make another one true.
    while work.conditions_due:
        work.conditions_due = False
        if len(work.conditions):
            fire_true_conditions(work)
        if len(work.items):
            sentries.notify_variable_changes(work)
            sentries.check_sentry_conditions(work)


def _enter_element(work: UnitOfWork, token: str, flow: str | None) -> None:
    record = work.tokens.get(token)
    if record is None:
        return  # cancelled in the meantime
    work.budget.count_step(record["element"])
    node = work.definition(record["scope"]).nodes[record["element"]]
    if node.loop is not None and "loop" not in work.scopes[record["scope"]]:
        begin_loop(work, token, node, node.loop)
        return
    work.trace.append(("enter", node.id))
    enter = _ENTER.get(node.kind)
    if enter is None:
        begin_activity(work, token, node)
    else:
        enter(work, token, node, flow)


_STEPS: dict[str, Callable[..., None]] = {
    "enter": _enter_element,
    "end": complete_scope,
    "terminate": terminate_scope,
    "begin_case": begin_case,
    "case_ended": end_case,
    "created": items.activate_created,
    "met": items.meet_criterion,
    "occur": items.make_occur,
    "finish_task": items.complete_task,
    "fail_task": items.fail_task,
}

_ENTER: dict[NodeKind, Callable[[UnitOfWork, str, Node, str | None], None]] = {
    NodeKind.START: events.pass_event,
    NodeKind.BOUNDARY: events.pass_event,
    NodeKind.END: events.enter_throw,
    NodeKind.THROW: events.enter_throw,
    NodeKind.CATCH: events.enter_catch,
    NodeKind.EVENT_BASED: events.enter_event_gateway,
    NodeKind.EXCLUSIVE: gateways.enter_exclusive,
    NodeKind.PARALLEL: gateways.enter_parallel,
    NodeKind.INCLUSIVE: gateways.enter_inclusive,
}
