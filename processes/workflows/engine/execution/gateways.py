"""Gateways: exclusive, parallel and inclusive ones. The event-based one waits like an event: see `events`."""

from collections import OrderedDict
from typing import NamedTuple

from processes.workflows.engine.definition import Definition, Kind, Node
from processes.workflows.engine.execution.flows import chosen, take
from processes.workflows.engine.execution.records import number
from processes.workflows.engine.execution.working import Work


def enter_exclusive(work: Work, token: str, node: Node, flow: str | None) -> None:
    work.trace.append(("leave", node.id))
    take(work, token, chosen(work, token, node, only_one=True) if node.outgoing else ())


def enter_parallel(work: Work, token: str, node: Node, flow: str | None) -> None:
    """Wait for one token of every incoming flow, then go on by every outgoing one."""
    if flow is not None and len(node.incoming) > 1:
        waiting = work.wait_at_join(token, flow)
        if len(waiting) < len(node.incoming):
            return
        token = _merge(work, waiting)
    work.trace.append(("leave", node.id))
    take(work, token, node.outgoing)


def enter_inclusive(work: Work, token: str, node: Node, flow: str | None) -> None:
    """Wait for every token that can still come, then go on by every flow whose condition holds."""
    if flow is not None and len(node.incoming) > 1:
        waiting = work.wait_at_join(token, flow)
        if _may_still_come(work, node, work.tokens[token]["scope"], waiting):
            return
        token = _merge(work, waiting)
    _split(work, token, node)


def open_inclusive(work: Work) -> bool:
    """Open one inclusive join for which nothing can come any more; tell whether there was one."""
    if not work.joins:
        return False
    for (scope, element), waiting in sorted(work.joins.items(), key=_oldest):
        node = work.definition(scope).nodes[element]
        if node.kind is Kind.INCLUSIVE and not _may_still_come(work, node, scope, waiting):
            _split(work, _merge(work, waiting), node)
            return True
    return False


def _oldest(join: tuple[tuple[str, str], dict[str, list[str]]]) -> int:
    return min(number(tokens[0]) for tokens in join[1].values())


def _split(work: Work, token: str, node: Node) -> None:
    work.trace.append(("leave", node.id))
    take(work, token, chosen(work, token, node) if node.outgoing else ())


def _merge(work: Work, waiting: dict[str, list[str]]) -> str:
    """Make one token of the first of each flow; others that came by the same flows go on waiting."""
    oldest, *others = sorted((tokens[0] for tokens in waiting.values()), key=number)
    for other in others:
        work.drop_token(other)
    return oldest


def _may_still_come(work: Work, node: Node, scope: str, waiting: dict[str, list[str]]) -> bool:
    """Tell whether a token elsewhere in the scope can reach a flow of the join at which none waits.

    By the standard such a token does not count when it can also reach a flow at which one waits already. There boundary
    events lead nowhere: what one of them lets go to the join comes beside the activity, or the activity never ends.
    """
    upstream = _upstream(work.definition(scope), node)
    empty = [upstream[flow].at_all for flow in node.incoming if flow not in waiting]
    if not empty:
        return False
    full = [upstream[flow].by_flows for flow in waiting]
    tokens = work.tokens_of(scope)
    work.allowance.look(node.id, len(tokens))
    for token in tokens:
        record = work.tokens[token]
        element = record["element"]
        if element == node.id:
            if "flow" not in record:
                return True
        elif any(element in nodes for nodes in empty) and not any(element in nodes for nodes in full):
            return True
    return False


class Upstream(NamedTuple):
    """The elements from which a flow can be reached: by sequence flows alone, and by boundary events as well."""

    by_flows: frozenset[str]
    at_all: frozenset[str]


_known: OrderedDict[int, tuple[Definition, dict[str, dict[str, Upstream]]]] = OrderedDict()
"""What lies upstream of joins, by definition. A definition is shared by all instances and never changes; holding it
here keeps its identity its own."""
_MAX_KNOWN = 256


def _upstream(definition: Definition, node: Node) -> dict[str, Upstream]:
    """Give, for each incoming flow of a join, what lies upstream of it on this side of the join."""
    known = _known.get(id(definition))
    if known is None or known[0] is not definition:
        known = (definition, {})
        _known[id(definition)] = known
        while len(_known) > _MAX_KNOWN:
            _known.popitem(last=False)
    joins = known[1]
    if node.id not in joins:
        joins[node.id] = {
            flow: Upstream(
                by_flows=_reaching(definition, flow, node.id, by_boundaries=False),
                at_all=_reaching(definition, flow, node.id, by_boundaries=True),
            )
            for flow in node.incoming
        }
    return joins[node.id]


def _reaching(definition: Definition, flow: str, join: str, *, by_boundaries: bool) -> frozenset[str]:
    found: set[str] = set()
    rest = [definition.flows[flow].source]
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
