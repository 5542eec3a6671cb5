"""The outline of a process: which elements lie in which scope, and which flows connect them."""

from collections import defaultdict
from dataclasses import dataclass, field

from processes.workflows.engine.bpmn.file import BPMN, SourceFile, Subject, is_true, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import NodeKind, ScopeDefinition

MAX_NODES = 2_000
MAX_FLOWS = 4_000
MAX_NESTED = 40
"""Sub-processes inside one another. With a round around each, all of them can be open at once."""


@dataclass(frozen=True, slots=True)
class OutlinedNode:
    element: XmlElement
    kind: NodeKind
    scope: str


@dataclass(slots=True)
class ProcessOutline:
    file: SourceFile
    scopes: dict[str, ScopeDefinition] = field(default_factory=dict)
    nodes: dict[str, OutlinedNode] = field(default_factory=dict)
    flows: dict[str, XmlElement] = field(default_factory=dict)
    associations: list[XmlElement] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    """Elements with a problem already: a flow to one of them adds no second problem."""
    incoming: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    outgoing: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    lanes: dict[str, str] = field(default_factory=dict)
    """The name of the innermost lane by the element that it refers to."""

    def find_lane(self, key: str) -> str:
        """Return the lane of an element, or of the sub-process around it; empty: it is in none."""
        while key in self.nodes:
            if key in self.lanes:
                return self.lanes[key]
            key = self.nodes[key].scope
        return ""


def outline_process(process: XmlElement, file: SourceFile) -> ProcessOutline:
    """Walk through a process and its sub-processes, then connect its flows to their ends."""
    outline = ProcessOutline(file)
    if _register_id(outline, process):
        _outline_scope(outline, process, parent=None, depth=0)
    for flow in list(outline.flows.values()):
        _connect_flow(outline, flow)
    return outline


KINDS = {
    "startEvent": NodeKind.START,
    "endEvent": NodeKind.END,
    "intermediateCatchEvent": NodeKind.CATCH,
    "intermediateThrowEvent": NodeKind.THROW,
    "boundaryEvent": NodeKind.BOUNDARY,
    "task": NodeKind.TASK,
    "userTask": NodeKind.USER_TASK,
    "manualTask": NodeKind.MANUAL_TASK,
    "serviceTask": NodeKind.SERVICE_TASK,
    "scriptTask": NodeKind.SCRIPT_TASK,
    "sendTask": NodeKind.SEND_TASK,
    "receiveTask": NodeKind.RECEIVE_TASK,
    "exclusiveGateway": NodeKind.EXCLUSIVE,
    "parallelGateway": NodeKind.PARALLEL,
    "inclusiveGateway": NodeKind.INCLUSIVE,
    "eventBasedGateway": NodeKind.EVENT_BASED,
    "subProcess": NodeKind.SUB_PROCESS,
    "transaction": NodeKind.SUB_PROCESS,
    "callActivity": NodeKind.CALL_ACTIVITY,
    "businessRuleTask": NodeKind.BUSINESS_RULE_TASK,
}
_SCOPES = (NodeKind.SUB_PROCESS, NodeKind.EVENT_SUB_PROCESS)
# Documentation, data, diagrams, and what belongs to the element itself.
_IGNORED = frozenset(
    {
        "documentation",
        "extensionElements",
        "laneSet",
        "dataObject",
        "dataObjectReference",
        "dataStoreReference",
        "textAnnotation",
        "group",
        "ioSpecification",
        "ioBinding",
        "property",
        "auditing",
        "monitoring",
        "resourceRole",
        "performer",
        "humanPerformer",
        "potentialOwner",
        "correlationSubscription",
        "supports",
        "supportedInterfaceRef",
        "incoming",
        "outgoing",
        "dataInputAssociation",
        "dataOutputAssociation",
        "multiInstanceLoopCharacteristics",
        "standardLoopCharacteristics",
        "category",
    }
)


def _register_id(outline: ProcessOutline, element: XmlElement) -> bool:
    if not Subject(element, outline.file).has_own_id(outline.ids):
        return False
    outline.ids.add(element.id)
    is_flow = element.name == "sequenceFlow"
    if (len(outline.flows) >= MAX_FLOWS) if is_flow else (len(outline.nodes) >= MAX_NODES):
        message = f"A process has at most {MAX_NODES} elements and {MAX_FLOWS} sequence flows."
        outline.file.problems.abort(element.id, element.line, message)
    return True


def _outline_scope(outline: ProcessOutline, scope: XmlElement, parent: str | None, depth: int) -> None:
    inside: list[str] = []
    # Before its contents, so that outer scopes come first; replaced when they are known.
    outline.scopes[scope.id] = ScopeDefinition(scope.id, parent, ())
    for child in scope.children:
        if child.space == BPMN and child.name == "laneSet":
            _outline_lanes(outline, child)
        if child.space != BPMN or child.name in _IGNORED:
            continue
        if child.name == "association":
            outline.associations.append(child)
        elif child.name == "sequenceFlow":
            if _register_id(outline, child):
                outline.flows[child.id] = child
        elif child.name not in KINDS:
            outline.refused.add(child.id)
            Subject(child, outline.file).refuse(f"Elements of the type {quote(child.name)} are not supported.")
        elif _register_id(outline, child):
            inside.append(child.id)
            _outline_node(outline, child, scope.id, depth)
    outline.scopes[scope.id] = ScopeDefinition(scope.id, parent, tuple(inside))


def _outline_lanes(outline: ProcessOutline, lanes: XmlElement) -> None:
    for lane in lanes.all("lane"):
        name = " ".join(lane.get("name").split())
        outline.lanes.update({each.text.rpartition(":")[2]: name for each in lane.all("flowNodeRef") if name})
        for inner in lane.all("childLaneSet"):  # after the outer one: the innermost lane counts
            _outline_lanes(outline, inner)


def _outline_node(outline: ProcessOutline, element: XmlElement, scope: str, depth: int) -> None:
    kind = KINDS[element.name]
    if kind is NodeKind.SUB_PROCESS and is_true(element.get("triggeredByEvent")):
        kind = NodeKind.EVENT_SUB_PROCESS
    outline.nodes[element.id] = OutlinedNode(element, kind, scope)
    if kind in _SCOPES:
        if depth >= MAX_NESTED:
            message = f"Sub-processes are nested more than {MAX_NESTED} deep."
            outline.file.problems.abort(element.id, element.line, message)
        _outline_scope(outline, element, parent=scope, depth=depth + 1)


def _connect_flow(outline: ProcessOutline, flow: XmlElement) -> None:
    subject = Subject(flow, outline.file)
    source, target = flow.get("sourceRef"), flow.get("targetRef")
    ends = [outline.nodes.get(end) for end in (source, target)]
    for name, end in (("sourceRef", source), ("targetRef", target)):
        if not end:
            subject.refuse(f"A sequence flow has no {name}.")
        elif end not in outline.nodes and end not in outline.refused:
            subject.refuse(f"{name} {quote(end)} is not an element of the process.")
    if ends[0] is None or ends[1] is None:
        del outline.flows[flow.id]
    elif ends[0].scope != ends[1].scope:
        subject.refuse("A sequence flow cannot cross the border of a sub-process.")
        del outline.flows[flow.id]
    else:
        outline.outgoing[source].append(flow.id)
        outline.incoming[target].append(flow.id)
