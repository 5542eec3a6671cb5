"""Which activity undoes which: a compensation boundary event and the association that leads from it."""

from processes.workflows.engine.bpmn.file import BPMN, Subject, is_true
from processes.workflows.engine.bpmn.nodes import ACTIVITIES
from processes.workflows.engine.bpmn.outline import OutlinedNode, ProcessOutline
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import NodeKind


def find_compensations(outline: ProcessOutline) -> dict[str, str]:
    """Give the activities that undo others, by the activity they undo."""
    found: dict[str, str] = {}
    ends = _index_associations(outline)
    for node_id, placed in outline.nodes.items():
        if placed.kind is not NodeKind.BOUNDARY or not _is_compensation(placed.element):
            continue
        subject = Subject(placed.element, outline.file)
        handlers = [end for end in ends.get(node_id, []) if _undoes(outline.nodes.get(end), placed.scope)]
        host = placed.element.get("attachedToRef").rpartition(":")[2]
        if len(handlers) != 1:
            subject.refuse("A compensation event is associated with one activity that is for compensation.")
        elif host in found:
            subject.refuse("The activity has a compensation event already.")
        else:
            found[host] = handlers[0]
    return found


def _index_associations(outline: ProcessOutline) -> dict[str, list[str]]:
    """Give what each element is associated with, whichever way the association points."""
    ends: dict[str, list[str]] = {}
    for association in outline.associations:
        source, target = (association.get(name).rpartition(":")[2] for name in ("sourceRef", "targetRef"))
        ends.setdefault(source, []).append(target)
        ends.setdefault(target, []).append(source)
    return ends


def _is_compensation(element: XmlElement) -> bool:
    return any(child.space == BPMN and child.name == "compensateEventDefinition" for child in element.children)


def _undoes(placed: OutlinedNode | None, scope: str) -> bool:
    if placed is None or placed.scope != scope or placed.kind not in ACTIVITIES:
        return False
    return is_true(placed.element.get("isForCompensation"))
