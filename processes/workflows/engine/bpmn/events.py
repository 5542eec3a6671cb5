"""Event definitions: what an event waits for or throws."""

from processes.workflows.engine.bpmn.extensions import Extensions, read_value
from processes.workflows.engine.bpmn.file import BPMN, MAX_NAME, Subject, quote
from processes.workflows.engine.bpmn.timers import read_timer
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import BpmnEvent, Trigger
from processes.workflows.engine.expressions import Expression


def find_event_definitions(subject: Subject) -> tuple[XmlElement, ...]:
    """Return the event definitions of an event, its own and those it refers to."""
    found = []
    for child in subject.element.children:
        if child.space == BPMN and child.name.endswith("EventDefinition"):
            found.append(child)
        elif child.space == BPMN and child.name == "eventDefinitionRef":
            # A qualified name, whose prefix means nothing outside of the file.
            shared = subject.file.roots.get(child.text.rpartition(":")[2])
            if shared is None or not shared.name.endswith("EventDefinition"):
                subject.refuse(f"There is no event definition {quote(child.text)}.", child)
            else:
                found.append(shared)
    return tuple(found)


def read_event(subject: Subject, definitions: tuple[XmlElement, ...], extensions: Extensions) -> BpmnEvent | None:
    """Read the event of a node; None, and a problem, when it is not supported."""
    if len(definitions) > 1:
        subject.refuse("Events with several event definitions are not supported.")
        return None
    if not definitions:
        return BpmnEvent(Trigger.NONE)
    definition = definitions[0]
    match definition.name:
        case "messageEventDefinition":
            return read_message(subject, definition, extensions)
        case "signalEventDefinition":
            return _read_named_event(subject, definition, Trigger.SIGNAL, extensions)
        case "timerEventDefinition":
            return BpmnEvent(Trigger.TIMER, timer=read_timer(subject, definition))
        case "conditionalEventDefinition":
            return _read_conditional(subject, definition)
        case "errorEventDefinition":
            return _read_error(subject, definition)
        case "compensateEventDefinition":
            return BpmnEvent(Trigger.COMPENSATION, name=definition.get("activityRef").rpartition(":")[2])
        case "terminateEventDefinition":
            return BpmnEvent(Trigger.TERMINATE)
    kind = definition.name.removesuffix("EventDefinition")
    subject.refuse(f"Events of the kind {quote(kind)} are not supported.", definition)
    return None


def read_message(subject: Subject, holder: XmlElement, extensions: Extensions) -> BpmnEvent:
    """Read the message that an event definition or a task refers to."""
    return _read_named_event(subject, holder, Trigger.MESSAGE, extensions)


def _read_named_event(subject: Subject, holder: XmlElement, trigger: Trigger, extensions: Extensions) -> BpmnEvent:
    """Read an event that arrives under a name, with its correlation and its filter."""
    return BpmnEvent(
        trigger,
        name=_read_name(subject, holder, trigger.value),
        correlation=_compile_extension(subject, extensions, "correlation"),
        filter=_compile_extension(subject, extensions, "condition"),
    )


def _read_name(subject: Subject, holder: XmlElement, kind: str) -> str:
    reference = holder.get(f"{kind}Ref")
    if not reference:
        subject.refuse(f"No {kind} is referred to.", holder)
        return ""
    found = subject.file.find(kind, reference)
    if found is None:
        subject.refuse(f"There is no {kind} {quote(reference)}.", holder)
        return ""
    name = found.get("name")
    if not name:
        Subject(found, subject.file).refuse(f"The {kind} has no name.")
    if len(name) > MAX_NAME:
        Subject(found, subject.file).refuse(f"The name has more than {MAX_NAME} characters.")
    return name


def _compile_extension(subject: Subject, extensions: Extensions, name: str) -> Expression | None:
    found = extensions.find(name)
    return subject.compile(read_value(found), found) if found is not None else None


def _read_conditional(subject: Subject, definition: XmlElement) -> BpmnEvent:
    condition = definition.find("condition")
    if condition is None or not condition.text:
        subject.refuse("A conditional event needs a condition.", definition)
        return BpmnEvent(Trigger.CONDITION)
    return BpmnEvent(Trigger.CONDITION, condition=subject.compile(condition.text, condition))


def _read_error(subject: Subject, definition: XmlElement) -> BpmnEvent:
    """Read an error by its code; without a code it is any error, which can be caught but not thrown."""
    reference = definition.get("errorRef")
    if not reference:
        return BpmnEvent(Trigger.ERROR)
    found = subject.file.find("error", reference)
    if found is None:
        subject.refuse(f"There is no error {quote(reference)}.", definition)
        return BpmnEvent(Trigger.ERROR, name=reference)
    code = found.get("errorCode")
    if len(code) > MAX_NAME:
        Subject(found, subject.file).refuse(f"The code has more than {MAX_NAME} characters.")
    return BpmnEvent(Trigger.ERROR, name=code)
