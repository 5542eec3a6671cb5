"""Event definitions: what an event waits for or throws."""

from dataclasses import replace

from processes.workflows.engine.bpmn.assignments import is_variable
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
                missing = f"There is no event definition {quote(child.text)}."
                subject.refuse(missing if child.text else "eventDefinitionRef is empty.", child)
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
            return _read_caught(subject, _read_coded(subject, definition, Trigger.ERROR), extensions)
        case "compensateEventDefinition":
            return BpmnEvent(Trigger.COMPENSATION, name=definition.get("activityRef").rpartition(":")[2])
        case "terminateEventDefinition":
            return BpmnEvent(Trigger.TERMINATE)
        case "escalationEventDefinition":
            return _read_coded(subject, definition, Trigger.ESCALATION)
        case "cancelEventDefinition":
            return BpmnEvent(Trigger.CANCEL)
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


def _read_caught(subject: Subject, event: BpmnEvent, extensions: Extensions) -> BpmnEvent:
    """Add the variables that an error is written to where it is caught."""
    for name in ("codeVariable", "messageVariable"):
        variable = extensions.value(name)
        if variable and not is_variable(variable):
            subject.refuse(f"{quote(variable)} cannot be the name of a variable.", extensions.find(name))
    code, message = extensions.value("codeVariable"), extensions.value("messageVariable")
    return replace(event, code_variable=code, message_variable=message) if code or message else event


def _read_coded(subject: Subject, definition: XmlElement, trigger: Trigger) -> BpmnEvent:
    """Read an error or an escalation by its code; without one it is any, which can be caught but not thrown."""
    kind = trigger.value
    reference = definition.get(f"{kind}Ref")
    if not reference:
        return BpmnEvent(trigger)
    found = subject.file.find(kind, reference)
    if found is None:
        subject.refuse(f"There is no {kind} {quote(reference)}.", definition)
        return BpmnEvent(trigger, name=reference)
    code = found.get(f"{kind}Code")
    if len(code) > MAX_NAME:
        Subject(found, subject.file).refuse(f"The code has more than {MAX_NAME} characters.")
    return BpmnEvent(trigger, name=code)
