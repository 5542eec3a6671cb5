"""Compensating activities: found by a compensation boundary event and the association that leads from it."""

from processes.workflows.engine.bpmn.file import BPMN, Subject, is_true
from processes.workflows.engine.bpmn.nodes import ACTIVITIES
from processes.workflows.engine.bpmn.outline import OutlinedNode, ProcessOutline
from processes.workflows.engine.definition import NodeKind


def find_compensations(outline: ProcessOutline) -> dict[str, str]:
    """Return the compensating activity of each activity that has one."""
    found: dict[str, str] = {}
    ends = _index_associations(outline)
    for node_id, outlined in outline.nodes.items():
        definitions = {child.name for child in outlined.element.children if child.space == BPMN}
        if outlined.kind is not NodeKind.BOUNDARY or "compensateEventDefinition" not in definitions:
            continue
        subject = Subject(outlined.element, outline.file)
        handlers = [end for end in ends.get(node_id, []) if _is_handler(outline.nodes.get(end), outlined.scope)]
        host = outlined.element.get("attachedToRef").rpartition(":")[2]
        if len(handlers) != 1:
            subject.refuse("A compensation event is associated with one activity that is for compensation.")
        elif host in found:
            subject.refuse("The activity already has a compensation event.")
        else:
            found[host] = handlers[0]
    return found


def _index_associations(outline: ProcessOutline) -> dict[str, list[str]]:
    """Return the ids each element is associated with; modelers draw associations in either direction."""
    ends: dict[str, list[str]] = {}
    for association in outline.associations:
        source, target = (association.get(name).rpartition(":")[2] for name in ("sourceRef", "targetRef"))
        ends.setdefault(source, []).append(target)
        ends.setdefault(target, []).append(source)
    return ends


def _is_handler(outlined: OutlinedNode | None, scope: str) -> bool:
    if outlined is None or outlined.scope != scope or outlined.kind not in ACTIVITIES:
        return False
    return is_true(outlined.element.get("isForCompensation"))
