"""Whether a definition can be run: what the parts of it say about each other. All problems at once."""

from processes.workflows.engine.bpmn.event_rules import check_event
from processes.workflows.engine.bpmn.flow_rules import check_flows
from processes.workflows.engine.bpmn.nodes import EVENTS
from processes.workflows.engine.definition import Definition, Node, NodeKind, ScopeDefinition, Trigger
from processes.workflows.engine.problems import Problems


def validate(definition: Definition, problems: Problems, *, line: int) -> None:
    """Add what keeps the process, which begins on that line, from running."""
    for scope in definition.scopes.values():
        _check_scope(definition, scope, problems, line)
    for node in definition.nodes.values():
        check_flows(definition, node, problems)
        if node.kind in EVENTS:
            check_event(definition, node, problems)


def _check_scope(definition: Definition, scope: ScopeDefinition, problems: Problems, line: int) -> None:
    starts = [definition.nodes[start] for start in definition.starts.get(scope.id, ())]
    holder = definition.nodes.get(scope.id)
    if holder is None:
        _check_starts_of_process(scope, starts, problems, line)
    elif holder.kind is NodeKind.EVENT_SUB_PROCESS and len(starts) != 1:
        problems.add(scope.id, holder.line, "An event sub-process has exactly one start event.")
    elif holder.kind is NodeKind.SUB_PROCESS and len(starts) != 1:
        problems.add(scope.id, holder.line, "A sub-process has exactly one start event.")


def _check_starts_of_process(scope: ScopeDefinition, starts: list[Node], problems: Problems, line: int) -> None:
    if not starts:
        problems.add(scope.id, line, "The process has no start event.")
    plain = [start for start in starts if start.event is not None and start.event.trigger is Trigger.NONE]
    for start in plain[1:]:
        problems.add(start.id, start.line, "The process has a start event of no type already.")
