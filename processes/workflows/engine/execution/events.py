"""Events in the flow: starts, ends, intermediate ones; and the gateway that waits for the first of several."""

from processes.workflows.engine.definition import BpmnEvent, Node, Trigger
from processes.workflows.engine.execution.arming import arm
from processes.workflows.engine.execution.compensation import compensate
from processes.workflows.engine.execution.firing import throw_signal
from processes.workflows.engine.execution.flows import leave
from processes.workflows.engine.execution.handlers import inputs_of
from processes.workflows.engine.execution.raising import raise_in_scope
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def pass_event(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Go on from a start or boundary event: what it waits for has come already."""
    leave(work, token)


def enter_catch(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    if node.event is None or node.event.trigger is Trigger.NONE:
        leave(work, token)
        return
    arm(work, node, work.tokens[token]["scope"], token)


def enter_event_gateway(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Wait at every event behind the gateway; the first one that comes takes the token."""
    scope = work.tokens[token]["scope"]
    definition = work.definition(scope)
    for outgoing in node.outgoing:
        arm(work, definition.nodes[definition.flows[outgoing].target], scope, token)


def enter_throw(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Do what an end or an intermediate throw event does."""
    event = node.event
    trigger = event.trigger if event is not None else Trigger.NONE
    if event is None or trigger is Trigger.NONE:
        leave(work, token)
    elif trigger is Trigger.COMPENSATION:
        compensate(work, token, event.name)
    elif trigger is Trigger.TERMINATE:
        _terminate(work, token)
    elif trigger is Trigger.ERROR:
        _raise(work, token, event)
    else:
        _send(work, token, node, event)


def _send(work: UnitOfWork, token: str, node: Node, event: BpmnEvent) -> None:
    inputs = inputs_of(work, token, node)
    if event.trigger is Trigger.SIGNAL:
        throw_signal(work, event.name)
        work.give("signal", node.id, inputs, event.name)
    else:
        work.give("throw", node.id, inputs, event.name)
    if token in work.tokens:  # the signal may have interrupted the one who threw it
        leave(work, token)


def _raise(work: UnitOfWork, token: str, event: BpmnEvent) -> None:
    work.trace.append(("leave", work.tokens[token]["element"]))
    record = work.drop_token(token)
    raise_in_scope(work, record["scope"], event.name, origin=record["element"])


def _terminate(work: UnitOfWork, token: str) -> None:
    """End the scope at once, with everything that still runs in it."""
    work.trace.append(("leave", work.tokens[token]["element"]))
    scope = work.drop_token(token)["scope"]
    work.clear(scope)
    work.at_once("terminate", scope)
