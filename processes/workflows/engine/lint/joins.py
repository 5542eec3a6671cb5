"""Parallel joins that wait for ever: two of their flows can never have a token at the same time."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from processes.workflows.engine.definition import Definition, Node, NodeKind
from processes.workflows.engine.lint.findings import Finding

MAX_VISITS = 200_000
"""Flows looked at in one definition; what is beyond is not judged."""
MAX_INCOMING = 50
_FORKING_GATEWAYS = (NodeKind.PARALLEL, NodeKind.INCLUSIVE)
_CHOOSING_GATEWAYS = (NodeKind.EXCLUSIVE, NodeKind.EVENT_BASED)


def find_unsatisfiable_joins(definition: Definition) -> Iterator[Finding]:
    """Yield the parallel gateways whose incoming flows can never all have a token.

    Two tokens come from one by a fork: by different ways out of it. A pair of flows that no fork leads to so can never
    be taken together.
    """
    forks = list(_list_forks(definition))
    visits = _Visits()
    for node in definition.nodes.values():
        if node.kind is not NodeKind.PARALLEL or not 2 <= len(node.incoming) <= MAX_INCOMING:
            continue
        before = {flow: _find_before(definition, flow, node.id, visits) for flow in node.incoming}
        if visits.left < 0:
            return
        for one, other in combinations(node.incoming, 2):
            if not any(fork.leads_to(before[one], before[other]) for fork in forks):
                sources = [definition.nodes[definition.flows[flow].source] for flow in (one, other)]
                names = " and ".join(f"“{source.name or source.id}”" for source in sources)
                message = f"The join waits for ever: the flows from {names} are never taken together."
                yield Finding(node.id, node.line, node.name, message)
                break


@dataclass(slots=True)
class _Visits:
    left: int = MAX_VISITS


@dataclass(frozen=True, slots=True)
class _Fork:
    """The ways out of an element that several tokens leave; by one that repeats several leave by the same way."""

    branches: frozenset[str]
    repeating: frozenset[str] = frozenset()

    def leads_to(self, one: set[str], other: set[str]) -> bool:
        first, second = self.branches & one, self.branches & other
        if self.repeating & first & second:
            return True
        return bool(first and second) and len(first | second) > 1


def _list_forks(definition: Definition) -> Iterator[_Fork]:
    for node in definition.nodes.values():
        if node.kind in _FORKING_GATEWAYS and len(node.outgoing) > 1:
            yield _Fork(frozenset(node.outgoing))
        elif node.kind not in _FORKING_GATEWAYS and node.kind not in _CHOOSING_GATEWAYS:
            yield from _list_forks_of(definition, node)


def _list_forks_of(definition: Definition, node: Node) -> Iterator[_Fork]:
    """Yield the fork that an activity or an event is: by several flows, and by events that do not interrupt it."""
    beside = [
        definition.nodes[boundary]
        for boundary in definition.boundaries.get(node.id, ())
        if not definition.nodes[boundary].is_interrupting
    ]
    repeating = frozenset(flow for boundary in beside for flow in boundary.outgoing)
    # An activity that is entered again while its event's path runs is left by any of its events: all count.
    every = (
        [flow for boundary in definition.boundaries.get(node.id, ()) for flow in definition.nodes[boundary].outgoing]
        if beside
        else []
    )
    branches = frozenset((*node.outgoing, *every))
    if len(branches) > 1 or repeating:
        yield _Fork(branches, repeating)


def _find_before(definition: Definition, flow: str, join: str, visits: _Visits) -> set[str]:
    """Return the flows from which a token can come to a flow, itself included, without passing the join."""
    found = {flow}
    rest = [flow]
    while rest and visits.left >= 0:
        source = definition.nodes[definition.flows[rest.pop()].source]
        if source.id == join:
            continue
        if source.kind is NodeKind.BOUNDARY:
            source = definition.nodes.get(source.attached_to or "", source)
        for each in source.incoming:
            visits.left -= 1
            if each not in found:
                found.add(each)
                rest.append(each)
    return found
