"""Nodes and flows: the elements of a process with everything they say."""

import re

from processes.workflows.engine.bpmn.assignments import read_assignments, read_inputs, read_outputs
from processes.workflows.engine.bpmn.decisions import read_decision_call
from processes.workflows.engine.bpmn.events import find_event_definitions, read_event, read_message
from processes.workflows.engine.bpmn.extensions import Extensions, read_extensions, read_value
from processes.workflows.engine.bpmn.file import MAX_NAME, Subject, is_key, is_true, quote
from processes.workflows.engine.bpmn.forms import read_form
from processes.workflows.engine.bpmn.loops import read_loop
from processes.workflows.engine.bpmn.outline import OutlinedNode, ProcessOutline
from processes.workflows.engine.bpmn.people import PEOPLE, read_people
from processes.workflows.engine.bpmn.retries import read_retries
from processes.workflows.engine.bpmn.revisions import CHOICES, read_revision
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import BpmnEvent, Flow, Node, NodeKind

EVENTS = frozenset({NodeKind.START, NodeKind.END, NodeKind.CATCH, NodeKind.THROW, NodeKind.BOUNDARY})
GATEWAYS = frozenset({NodeKind.EXCLUSIVE, NodeKind.PARALLEL, NodeKind.INCLUSIVE, NodeKind.EVENT_BASED})
ACTIVITIES = frozenset(NodeKind) - EVENTS - GATEWAYS - {NodeKind.EVENT_SUB_PROCESS}
_INTERRUPTING = {NodeKind.BOUNDARY: "cancelActivity", NodeKind.START: "isInterrupting"}


def read_node(outlined: OutlinedNode, outline: ProcessOutline, compensated_by: str | None) -> Node:
    subject = Subject(outlined.element, outline.file)
    element, kind = outlined.element, outlined.kind
    definitions = find_event_definitions(subject) if kind in EVENTS else ()
    extensions = read_extensions(subject, *definitions, known=_EXTENSIONS.get(kind, frozenset()))
    decision = read_decision_call(subject, extensions) if kind is NodeKind.BUSINESS_RULE_TASK else None
    handler, topic = _read_handler(subject, kind, extensions) if decision is None else ("", "")
    called_by = extensions.find("called")
    _refuse_instantiation(subject, outline)
    return Node(
        id=element.id,
        kind=kind,
        scope=outlined.scope,
        name=read_name(subject),
        line=element.line,
        incoming=tuple(outline.incoming[element.id]),
        outgoing=tuple(outline.outgoing[element.id]),
        default=_read_default(subject, outline),
        event=_read_event(subject, kind, definitions, extensions),
        attached_to=element.get("attachedToRef").rpartition(":")[2] if kind is NodeKind.BOUNDARY else None,
        is_interrupting=is_true(element.get(_INTERRUPTING.get(kind, "")), default=True),
        loop=read_loop(subject) if kind in ACTIVITIES else None,
        handler=handler,
        topic=topic,
        retry=read_retries(subject, extensions) if kind in _WITH_HANDLER else None,
        inputs=read_inputs(subject, extensions) if kind in _WITH_INPUTS else (),
        gets_all=extensions.value("inputs") == "all",
        outputs=read_outputs(subject, extensions) if kind in _WITH_OUTPUTS else (),
        returns_all=extensions.value("outputs") not in ("only", "none"),
        assigns=read_assignments(subject, extensions) if kind is NodeKind.SCRIPT_TASK else (),
        form=read_form(subject, extensions) if kind is NodeKind.USER_TASK else (),
        called=_read_called(subject, extensions) if kind is NodeKind.CALL_ACTIVITY else "",
        called_by=subject.compile(read_value(called_by), called_by) if called_by is not None else None,
        revision=read_revision(subject, extensions) if decision is None else None,
        decision=decision,
        people=read_people(subject, extensions, lane=outline.find_lane(element.id)) if kind in _FOR_PEOPLE else None,
        is_for_compensation=kind in ACTIVITIES and is_true(element.get("isForCompensation")),
        compensated_by=compensated_by,
    )


def read_flow(flow_id: str, outline: ProcessOutline) -> Flow:
    """Read a flow; the condition of a default flow is dropped, because it is never evaluated."""
    element = outline.flows[flow_id]
    subject = Subject(element, outline.file)
    source = element.get("sourceRef")
    condition = subject.compile_child(element, "conditionExpression")
    is_default = outline.nodes[source].element.get("default") == flow_id
    return Flow(
        id=flow_id,
        source=source,
        target=element.get("targetRef"),
        name=read_name(subject),
        condition=None if is_default else condition,
        line=element.line,
    )


def read_name(subject: Subject) -> str:
    """Return the name on one line: modelers break it to fit the diagram."""
    name = " ".join(subject.element.get("name").split())
    if len(name) > MAX_NAME:
        subject.refuse(f"The name has more than {MAX_NAME} characters.")
    return name


_WITH_HANDLER = (NodeKind.SERVICE_TASK, NodeKind.SEND_TASK, NodeKind.BUSINESS_RULE_TASK)
_WITH_OUTPUTS = (
    *_WITH_HANDLER,
    NodeKind.USER_TASK,
    NodeKind.RECEIVE_TASK,
    NodeKind.SUB_PROCESS,
    NodeKind.CALL_ACTIVITY,
)
_WITH_INPUTS = (*_WITH_OUTPUTS, NodeKind.THROW, NodeKind.END)
_FOR_PEOPLE = (NodeKind.USER_TASK, NodeKind.MANUAL_TASK)
_NAMED = frozenset({"correlation", "condition"})
_CAUGHT = frozenset({"codeVariable", "messageVariable"})
_INPUTS = frozenset({"input", "inputs"})
_MAPPED = _INPUTS | {"output", "outputs"}
_EXTENSIONS = {
    NodeKind.START: _NAMED | _CAUGHT,
    NodeKind.CATCH: _NAMED,
    NodeKind.BOUNDARY: _NAMED | _CAUGHT,
    NodeKind.RECEIVE_TASK: _NAMED | _MAPPED,
    NodeKind.THROW: _NAMED | _INPUTS,
    NodeKind.END: _NAMED | _INPUTS,
    NodeKind.SERVICE_TASK: _MAPPED | {"handler", "topic", "retry"},
    NodeKind.SEND_TASK: _MAPPED | {"handler", "topic", "retry", "correlation"},
    NodeKind.SUB_PROCESS: _MAPPED,
    NodeKind.CALL_ACTIVITY: _MAPPED | CHOICES | {"called"},
    NodeKind.BUSINESS_RULE_TASK: _MAPPED | {"handler", "topic", "retry", "decision", "result"} | CHOICES,
    NodeKind.SCRIPT_TASK: frozenset({"assign"}),
    NodeKind.USER_TASK: PEOPLE | _MAPPED | {"form"},
    NodeKind.MANUAL_TASK: PEOPLE,
}
_HANDLER = re.compile(r"[A-Za-z_][\w.-]*")


def _read_event(
    subject: Subject, kind: NodeKind, definitions: tuple[XmlElement, ...], extensions: Extensions
) -> BpmnEvent | None:
    if kind in EVENTS:
        return read_event(subject, definitions, extensions)
    if kind is NodeKind.RECEIVE_TASK or (kind is NodeKind.SEND_TASK and subject.element.get("messageRef")):
        return read_message(subject, subject.element, extensions)
    return None


def _read_handler(subject: Subject, kind: NodeKind, extensions: Extensions) -> tuple[str, str]:
    """Return the handler and the topic of a service or send task; by default an external worker, by the task's id.

    So a file from another tool, whose own extensions are ignored, runs as it is. A send task with a message and without
    a handler throws the message, like an event.
    """
    element = extensions.find("handler")
    throws = kind is NodeKind.SEND_TASK and subject.element.get("messageRef") and not extensions.value("topic")
    if kind not in _WITH_HANDLER or (throws and element is None):
        return "", ""
    handler = extensions.value("handler") or "external"
    topic = extensions.value("topic") or (element.get("topic") if element is not None else "")
    if len(handler) > MAX_NAME or _HANDLER.fullmatch(handler) is None:
        subject.refuse(f"{quote(handler)} cannot be the name of a handler.", element)
    if len(topic) > MAX_NAME:
        subject.refuse(f"The topic has more than {MAX_NAME} characters.", element)
    return handler, topic or (subject.element.id if handler == "external" else "")


def _refuse_instantiation(subject: Subject, outline: ProcessOutline) -> None:
    """Refuse gateways and receive tasks that instantiate: a process begins at start events alone."""
    element = subject.element
    if element.name == "eventBasedGateway" and element.get("eventGatewayType") == "Parallel":
        subject.refuse("Parallel event-based gateways are not supported.")
    starts = element.name in ("eventBasedGateway", "receiveTask") and is_true(element.get("instantiate"))
    if starts and not outline.incoming[element.id]:
        subject.refuse("Only start events begin a process.")


def _read_default(subject: Subject, outline: ProcessOutline) -> str | None:
    default = subject.element.get("default")
    if not default:
        return None
    if default not in outline.outgoing[subject.element.id]:
        subject.refuse(f"The default flow {quote(default)} does not leave this element.")
    return default


def _read_called(subject: Subject, extensions: Extensions) -> str:
    """Return the key of the called definition; empty where an expression gives it."""
    # A qualified name, whose prefix means nothing outside of the file.
    called = subject.element.get("calledElement").rpartition(":")[2]
    if extensions.find("called") is not None:
        return ""
    if not called:
        subject.refuse("A call activity names a definition: calledElement.")
    elif not is_key(called):
        subject.refuse(f"{quote(called)} cannot be the key of a definition.")
    return called
