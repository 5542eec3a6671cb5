"""Sequence flows: how a token moves from one element to the next, and how it is consumed."""

from collections.abc import Sequence

from processes.workflows.engine.definition import Node
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate_condition


def leave_element(work: UnitOfWork, token: str) -> None:
    """Send a token on from its element along every outgoing flow whose condition holds."""
    record = work.tokens[token]
    if "loop" not in record:  # of a loop the rounds are traced, not the activity as a whole
        work.trace.append(("leave", record["element"]))
    scope = work.scopes[record["scope"]]
    if "wraps" in scope and scope["element"] == record["element"]:
        consume_token(work, token)  # the round or the compensation that this scope was made for is done
        return
    take_flows(work, token, _find_flows_to_take(work, token, work.node(token)))


def take_flows(work: UnitOfWork, token: str, flows: Sequence[str]) -> None:
    """Send a token along flows: itself along the first, new tokens along the others."""
    if not flows:
        consume_token(work, token)
        return
    scope = work.tokens[token]["scope"]
    known = work.definition(scope).flows
    work.move_token(token, known[flows[0]].target)
    work.enqueue("enter", token, flows[0])
    for flow in flows[1:]:
        work.enqueue("enter", work.add_token(scope, known[flow].target), flow)


def consume_token(work: UnitOfWork, token: str) -> None:
    """Remove a token; the last one of a scope ends the scope."""
    scope = work.remove_token(token)["scope"]
    if not work.has_tokens(scope):
        work.enqueue_first("end", scope)


def choose_flows(work: UnitOfWork, token: str, node: Node, *, only_one: bool = False) -> list[str]:
    """Return the outgoing flows whose condition holds, in the order of the file; else the default flow."""
    scope = work.tokens[token]["scope"]
    known = work.definition(scope).flows
    found: list[str] = []
    for flow in node.outgoing:
        condition = known[flow].condition
        if flow == node.default or (condition is not None and not evaluate_condition(work, condition, scope, node.id)):
            continue
        found.append(flow)
        if only_one:
            return found
    if found:
        return found
    if node.default is None:
        raise CommandFailed(node.id, "No outgoing flow's condition holds, and there is no default flow.")
    return [node.default]


def _find_flows_to_take(work: UnitOfWork, token: str, node: Node) -> Sequence[str]:
    if not node.outgoing:
        return ()
    known = work.definition(work.tokens[token]["scope"]).flows
    if node.default is None and all(known[flow].condition is None for flow in node.outgoing):
        return node.outgoing
    return choose_flows(work, token, node)
