"""What the element that defines plan items says about each of them. Read once, however many refer to it."""

from dataclasses import dataclass

from processes.workflows.engine.bpmn.extensions import read_extensions
from processes.workflows.engine.bpmn.file import Subject, is_true
from processes.workflows.engine.bpmn.forms import read_form
from processes.workflows.engine.bpmn.nodes import read_name
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.case_plan import Criterion
from processes.workflows.engine.cmmn.rules import Control, read_control
from processes.workflows.engine.cmmn.sentries import Sentries
from processes.workflows.engine.cmmn.tasks import read_called
from processes.workflows.engine.cmmn.timers import read_start_trigger, read_timer_event
from processes.workflows.engine.definition import BpmnEvent, FormField, NodeKind
from processes.workflows.engine.expressions import Expression


@dataclass(frozen=True, slots=True)
class Described:
    name: str
    form: tuple[FormField, ...]
    event: BpmnEvent | None
    triggers: tuple[Criterion, ...]
    called: str
    called_by: Expression | None
    control: Control
    is_blocking: bool
    auto_completes: bool


def read_described(element: XmlElement, kind: NodeKind, sentries: Sentries) -> Described:
    subject = Subject(element, sentries.outline.file)
    called, called_by = read_called(subject, kind)
    is_timer = kind is NodeKind.TIMER_LISTENER
    return Described(
        name=read_name(subject),
        form=read_own_form(subject, kind),
        event=read_timer_event(subject) if is_timer else None,
        triggers=read_start_trigger(subject, sentries) if is_timer else (),
        called=called,
        called_by=called_by,
        control=read_control(subject, "defaultControl"),
        is_blocking=kind is not NodeKind.HUMAN_TASK or is_true(element.get("isBlocking"), default=True),
        auto_completes=is_true(element.get("autoComplete")),
    )


def read_own_form(subject: Subject, kind: NodeKind) -> tuple[FormField, ...]:
    """Read the form that stands in this very element, which only human tasks and their plan items have."""
    known = frozenset({"form"}) if kind is NodeKind.HUMAN_TASK else frozenset[str]()
    return read_form(subject, read_extensions(subject, known=known))
