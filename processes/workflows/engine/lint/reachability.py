"""Elements that no token can ever come to."""

from collections.abc import Iterator

from processes.workflows.engine.definition import Definition, Node, NodeKind, ScopeDefinition
from processes.workflows.engine.lint.findings import Finding


def find_unreachable(definition: Definition) -> Iterator[Finding]:
    """Yield the elements of a process that nothing leads to."""
    if definition.plan is not None:
        return
    reached = _find_reached(definition)
    for node in definition.nodes.values():
        # What lies in a scope that is not reached is named by the scope alone.
        if node.id not in reached and (node.scope in reached or node.scope == definition.key):
            yield Finding(node.id, node.line, node.name, "No path from a start event leads here.")


def _find_reached(definition: Definition) -> set[str]:
    """Return the elements that tokens can come to, and the scopes that they can be in."""
    scope = definition.scopes.get(definition.key)
    rest = list(_list_beginnings(definition, scope)) if scope is not None else []
    reached: set[str] = set()
    while rest:
        key = rest.pop()
        if key in reached:
            continue
        reached.add(key)
        rest.extend(_list_next(definition, definition.nodes[key]))
    return reached


def _list_beginnings(definition: Definition, scope: ScopeDefinition) -> Iterator[str]:
    """Yield where a scope begins: at its start events, else at whatever nothing leads to; and what events begin."""
    starts = definition.starts.get(scope.id, ())
    yield from starts
    yield from definition.event_sub_processes.get(scope.id, ())
    if not starts:
        for key in scope.nodes:
            node = definition.nodes[key]
            if not node.incoming and node.kind is not NodeKind.BOUNDARY and not node.is_for_compensation:
                yield key


def _list_next(definition: Definition, node: Node) -> Iterator[str]:
    for flow in node.outgoing:
        yield definition.flows[flow].target
    yield from definition.boundaries.get(node.id, ())
    if node.compensated_by is not None:
        yield node.compensated_by
    if node.id in definition.scopes:
        yield from _list_beginnings(definition, definition.scopes[node.id])
