"""Sequence flows and gateways: how a token moves on, splits and merges; event-based gateways wait, see `events`."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeAlias

from processes.workflows.engine.definition import Definition, Node, NodeKind
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import MAX_UPSTREAM, VISITS_PER_CHECK
from processes.workflows.engine.execution.records import sequence_number
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
    """Remove a token; with the last one of its flow a scope ends, or no event sub-process of it begins any more."""
    scope = work.remove_token(token)["scope"]
    if not work.has_tokens(scope) or is_flow_over(work, scope):
        # By the queue: a condition that the last step has made true still counts.
        work.enqueue_first("end", scope)


def is_flow_over(work: UnitOfWork, scope: str) -> bool:
    """Return whether nothing but event sub-processes still runs in a scope: by BPMN 2.0.2, 13.5.4, no other begins."""
    sub_processes = work.definition(scope).event_sub_processes.get(work.scopes[scope]["element"], ())
    return bool(sub_processes) and all(work.tokens[key]["element"] in sub_processes for key in work.tokens_of(scope))


def enter_exclusive(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    work.trace.append(("leave", node.id))
    take_flows(work, token, _choose_flows(work, token, node, only_one=True) if node.outgoing else ())


def enter_parallel(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Wait for one token of every incoming flow, then leave by every outgoing one."""
    # A token that came by no flow was put here by the scope that began: there is nothing to wait for.
    if flow is not None and len(node.incoming) > 1:
        waiting = work.wait_at_join(token, flow)
        if len(waiting) < len(node.incoming):
            return
        token = _merge_tokens(work, waiting)
    work.trace.append(("leave", node.id))
    take_flows(work, token, node.outgoing)


def enter_inclusive(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Wait for every token that can still arrive, then leave by every flow whose condition holds."""
    if flow is not None and len(node.incoming) > 1:
        waiting = work.wait_at_join(token, flow)
        if _can_token_still_arrive(work, node, work.tokens[token]["scope"], waiting):
            return
        token = _merge_tokens(work, waiting)
    _leave_inclusive(work, token, node)


def open_inclusive_join(work: UnitOfWork) -> bool:
    """Open the oldest inclusive join that no further token can reach; return whether there was one."""
    if not work.joins:
        return False
    for (scope, element), waiting in sorted(work.joins.items(), key=_oldest):
        node = work.definition(scope).nodes[element]
        if node.kind is NodeKind.INCLUSIVE and not _can_token_still_arrive(work, node, scope, waiting):
            _leave_inclusive(work, _merge_tokens(work, waiting), node)
            return True
    return False


def fail_if_stuck(work: UnitOfWork) -> None:
    """Fail if nothing can ever move again: tokens wait at joins, and nothing waits for a person, a time or an event."""
    waits_for_something = any(
        len(section) for section in (work.tasks, work.timers, work.subscriptions, work.conditions, work.items)
    )
    if waits_for_something or not work.joins:
        return
    (scope, element), waiting = min(work.joins.items(), key=_oldest)
    definition = work.definition(scope)
    missing = [definition.flows[flow] for flow in definition.nodes[element].incoming if flow not in waiting]
    sources = ", ".join(f"“{definition.nodes[flow.source].name or flow.source}”" for flow in missing[:5])
    raise CommandFailed(
        element,
        f"Nothing in the instance can move any more: this join still waits for {sources}, and no token can come.",
    )


def _find_flows_to_take(work: UnitOfWork, token: str, node: Node) -> Sequence[str]:
    if not node.outgoing:
        return ()
    known = work.definition(work.tokens[token]["scope"]).flows
    if node.default is None and all(known[flow].condition is None for flow in node.outgoing):
        return node.outgoing
    return _choose_flows(work, token, node)


def _choose_flows(work: UnitOfWork, token: str, node: Node, *, only_one: bool = False) -> list[str]:
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


def _oldest(join: tuple[tuple[str, str], dict[str, list[str]]]) -> int:
    return min(sequence_number(tokens[0]) for tokens in join[1].values())


def _leave_inclusive(work: UnitOfWork, token: str, node: Node) -> None:
    work.trace.append(("leave", node.id))
    take_flows(work, token, _choose_flows(work, token, node) if node.outgoing else ())


def _merge_tokens(work: UnitOfWork, waiting: dict[str, list[str]]) -> str:
    """Merge the first token of each flow into one; later tokens of the same flows keep waiting."""
    oldest, *others = sorted((tokens[0] for tokens in waiting.values()), key=sequence_number)
    for other in others:
        work.remove_token(other)
    return oldest


def _can_token_still_arrive(work: UnitOfWork, node: Node, scope: str, waiting: dict[str, list[str]]) -> bool:
    """Return whether a token elsewhere in the scope can reach an incoming flow at which none waits.

    By the standard such a token does not count when it can also reach a flow at which one waits already. There boundary
    events lead nowhere: what one of them lets go to the join comes beside the activity, or the activity never ends.
    """
    empty = [flow for flow in node.incoming if flow not in waiting]
    if not empty:
        return False
    towards_empty, towards_full = _find_upstream(work, scope, node, empty, waiting)
    tokens = work.tokens_of(scope)
    work.budget.count_checks(node.id, len(tokens))
    for token in tokens:
        record = work.tokens[token]
        element = record["element"]
        if element == node.id:
            if "flow" not in record:
                return True
        elif element in towards_empty and element not in towards_full:
            return True
    return False


JoinUpstream: TypeAlias = tuple[frozenset[str], frozenset[str]]
"""From where a flow without a token can be reached, boundary events counted; and one with a token, without them."""


def _find_upstream(work: UnitOfWork, scope: str, node: Node, empty: Iterable[str], full: Iterable[str]) -> JoinUpstream:
    """Return what lies upstream of a join, cached on the definition up to `MAX_UPSTREAM` elements."""
    definition = work.definition(scope)
    key = (node.id, frozenset(full))
    found = definition.upstream.get(key)
    if found is None:
        found = (
            _find_elements_reaching(definition, empty, node.id, by_boundaries=True),
            _find_elements_reaching(definition, key[1], node.id, by_boundaries=False),
        )
        size = sum(map(len, found))
        work.budget.count_checks(node.id, size // VISITS_PER_CHECK)
        # The definition is shared by threads: the oldest entry may be gone by the time it is evicted.
        while (cached := [*definition.upstream.values()]) and size + sum(map(len, chain(*cached))) > MAX_UPSTREAM:
            definition.upstream.pop(next(iter(definition.upstream)), None)
        definition.upstream[key] = found
    return found


def _find_elements_reaching(
    definition: Definition, flows: Iterable[str], join: str, *, by_boundaries: bool
) -> frozenset[str]:
    found: set[str] = set()
    rest = [definition.flows[flow].source for flow in flows]
    while rest:
        element = rest.pop()
        if element in found or element == join:
            continue
        found.add(element)
        node = definition.nodes[element]
        rest.extend(definition.flows[incoming].source for incoming in node.incoming)
        if by_boundaries and node.attached_to is not None:
            rest.append(node.attached_to)
    return frozenset(found)
