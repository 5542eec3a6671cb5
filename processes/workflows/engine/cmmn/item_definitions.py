"""Plan item definitions: tasks, stages, milestones and listeners, with their rules, called definitions and timers."""

from dataclasses import dataclass, replace

from processes.workflows.engine.bpmn.assignments import read_inputs, read_outputs
from processes.workflows.engine.bpmn.decisions import read_decision_call
from processes.workflows.engine.bpmn.extensions import Extensions, read_extensions
from processes.workflows.engine.bpmn.file import Subject, is_key, is_true, quote
from processes.workflows.engine.bpmn.forms import read_form
from processes.workflows.engine.bpmn.nodes import read_name
from processes.workflows.engine.bpmn.people import PEOPLE, read_people
from processes.workflows.engine.bpmn.revisions import CHOICES, read_revision
from processes.workflows.engine.bpmn.timers import find_literal_kind, read_timer_text
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.case_plan import Criterion, CriterionRole, ItemRule, Sentry
from processes.workflows.engine.cmmn.file import compile_nested, expression_text
from processes.workflows.engine.cmmn.sentries import SentryReader
from processes.workflows.engine.definition import (
    Assignment,
    BpmnEvent,
    DecisionCall,
    FormField,
    NodeKind,
    RevisionChoice,
    TaskPeople,
    TimerKind,
    Trigger,
)
from processes.workflows.engine.expressions import Expression


@dataclass(frozen=True, slots=True)
class ItemControl:
    """The rules of a plan item: whether it is started by hand, repeated, required."""

    manual_activation: ItemRule | None = None
    repetition: ItemRule | None = None
    required: ItemRule | None = None

    def or_else(self, other: "ItemControl") -> "ItemControl":
        """Fill the rules that are absent here from another control."""
        return ItemControl(
            manual_activation=self.manual_activation or other.manual_activation,
            repetition=self.repetition or other.repetition,
            required=self.required or other.required,
        )


@dataclass(frozen=True, slots=True)
class PlanItemDefinition:
    """What a definition element says about every plan item that refers to it."""

    name: str
    form: tuple[FormField, ...]
    people: TaskPeople | None
    event: BpmnEvent | None
    triggers: tuple[Criterion, ...]
    called: str
    called_by: Expression | None
    decision: DecisionCall | None
    control: ItemControl
    is_blocking: bool
    auto_completes: bool
    handler: str = ""
    """`external`, of a task that a worker does."""
    topic: str = ""
    inputs: tuple[Assignment, ...] = ()
    outputs: tuple[Assignment, ...] = ()
    revision: RevisionChoice | None = None


def read_item_definition(element: XmlElement, kind: NodeKind, reader: SentryReader) -> PlanItemDefinition:
    subject = Subject(element, reader.outline.file)
    called, called_by = read_called(subject, kind)
    is_timer = kind is NodeKind.TIMER_LISTENER
    extensions = read_extensions(subject, known=_EXTENSIONS.get(kind, frozenset()))
    form, people = _read_form(subject, kind, extensions)
    return PlanItemDefinition(
        name=read_name(subject),
        form=form,
        people=people,
        handler=extensions.value("handler"),
        topic=extensions.value("topic") or element.id,
        inputs=read_inputs(subject, extensions),
        outputs=read_outputs(subject, extensions),
        revision=read_revision(subject, extensions) if kind in _CALLED else None,
        event=read_timer_event(subject) if is_timer else None,
        triggers=read_start_trigger(subject, reader) if is_timer else (),
        called=called,
        called_by=called_by,
        decision=_read_decision(subject) if kind is NodeKind.DECISION_TASK else None,
        control=read_control(subject, "defaultControl"),
        is_blocking=kind is not NodeKind.HUMAN_TASK or is_true(element.get("isBlocking"), default=True),
        auto_completes=is_true(element.get("autoComplete")),
    )


_PASSED = CHOICES | {"input", "output"}
_EXTENSIONS = {
    NodeKind.HUMAN_TASK: PEOPLE | {"form", "handler", "topic"},
    NodeKind.PROCESS_TASK: _PASSED,
    NodeKind.CASE_TASK: _PASSED,
    NodeKind.DECISION_TASK: CHOICES | {"decision", "result"},
}


def read_own_form(subject: Subject, kind: NodeKind) -> tuple[tuple[FormField, ...], TaskPeople | None]:
    """Read the form of a plan item itself and whose it is; only human tasks have these."""
    is_task = kind is NodeKind.HUMAN_TASK
    extensions = read_extensions(subject, known=PEOPLE | {"form", "neutral"} if is_task else frozenset({"neutral"}))
    return _read_form(subject, kind, extensions)


def _read_form(
    subject: Subject, kind: NodeKind, extensions: Extensions
) -> tuple[tuple[FormField, ...], TaskPeople | None]:
    if kind is not NodeKind.HUMAN_TASK:
        return (), None
    return read_form(subject, extensions), read_people(subject, extensions)


def read_control(subject: Subject, name: str) -> ItemControl:
    """Read the rules in the child of that name: `itemControl` or `defaultControl`."""
    control = subject.element.find(name)
    if control is None:
        return ItemControl()
    return ItemControl(
        manual_activation=_read_rule(subject, control, "manualActivationRule"),
        repetition=_read_rule(subject, control, "repetitionRule"),
        required=_read_rule(subject, control, "requiredRule"),
    )


def _read_rule(subject: Subject, control: XmlElement, name: str) -> ItemRule | None:
    rule = control.find(name)
    return ItemRule(compile_nested(subject, rule, "condition")) if rule is not None else None


def read_called(subject: Subject, kind: NodeKind) -> tuple[str, Expression | None]:
    """Return the key of the definition a process or case task runs, or the expression for it."""
    what = _CALLED.get(kind)
    if what is None:
        return "", None
    _refuse_unsupported(subject)
    reference = subject.element.get(f"{what}Ref")
    expression = subject.element.find(f"{what}RefExpression")
    if expression is None or not expression_text(expression):
        return _read_key(subject, what, reference), None
    if reference:
        subject.refuse(f"The {what} is named twice: by {what}Ref and by {what}RefExpression.")
    return "", subject.compile(expression_text(expression), expression)


def _read_decision(subject: Subject) -> DecisionCall | None:
    """Return the decision that a decision task evaluates; the file's `decision` element may give its name outside."""
    extensions = read_extensions(subject, known=_EXTENSIONS[NodeKind.DECISION_TASK])
    call = read_decision_call(subject, extensions)
    if call is None:
        subject.refuse("No decision is named: decisionRef or decisionRefExpression.")
        return None
    element = subject.file.find("decision", call.key) if call.key else None
    outside = (element.get("externalRef") or element.get("name")) if element is not None else ""
    key = outside.rpartition(":")[2]
    return replace(call, key=key) if is_key(key) else call


_CALLED = {NodeKind.PROCESS_TASK: "process", NodeKind.CASE_TASK: "case"}


def _refuse_unsupported(subject: Subject) -> None:
    """Refuse attributes that would be ignored: a called definition always belongs to a task that waits for it."""
    if not is_true(subject.element.get("isBlocking"), default=True):
        subject.refuse("Process and case tasks that are not blocking are not supported.")
    mapping = subject.element.find("parameterMapping")
    if mapping is not None:
        subject.refuse(
            "Parameter mappings are not supported: the called definition gets all visible variables.", mapping
        )


def _read_key(subject: Subject, what: str, reference: str) -> str:
    if not reference:
        subject.refuse(f"No {what} is named: {what}Ref or {what}RefExpression.")
        return ""
    element = subject.file.find("process", reference) if what == "process" else None
    named = (element.get("externalRef") or element.get("name")) if element is not None else ""
    key = (named or reference).rpartition(":")[2]
    if not is_key(key):
        subject.refuse(f"{quote(key)} cannot be the key of a definition.")
    return key


def read_timer_event(subject: Subject) -> BpmnEvent:
    expression = subject.element.find("timerExpression")
    text = expression_text(expression) if expression is not None else ""
    if expression is None or not text:
        subject.refuse("A timer event listener has a timerExpression.")
        return BpmnEvent(Trigger.TIMER)
    # The form of its text tells its kind; an expression must give a duration.
    kind = find_literal_kind(text) or TimerKind.DURATION
    return BpmnEvent(Trigger.TIMER, timer=read_timer_text(subject, kind, text, expression))


def read_start_trigger(subject: Subject, reader: SentryReader) -> tuple[Criterion, ...]:
    """Read the start trigger of a timer as a criterion; without one the timer runs from the beginning."""
    element = subject.element
    found = [child for child in element.children if child.space == element.space and child.name in _TRIGGERS]
    if not found:
        return ()
    if len(found) > 1:
        subject.refuse("A timer event listener has at most one start trigger.", found[1])
    part = reader.read_on_part(subject, found[0], is_file=found[0].name == "caseFileItemStartTrigger")
    key = found[0].id or element.id
    return (Criterion(key, Sentry(key, (part,), line=found[0].line), CriterionRole.TIMER),) if part is not None else ()


_TRIGGERS = ("planItemStartTrigger", "caseFileItemStartTrigger")
