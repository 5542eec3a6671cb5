"""Timer event listeners: when they occur, and what their time is counted from."""

from processes.workflows.engine.bpmn.file import Subject
from processes.workflows.engine.bpmn.timers import is_literal, read_timer_text
from processes.workflows.engine.case_plan import Criterion, CriterionRole, Sentry
from processes.workflows.engine.cmmn.file import text_of
from processes.workflows.engine.cmmn.sentries import Sentries
from processes.workflows.engine.definition import BpmnEvent, TimerKind, Trigger


def read_timer_event(subject: Subject) -> BpmnEvent:
    expression = subject.element.find("timerExpression")
    text = text_of(expression) if expression is not None else ""
    if expression is None or not text:
        subject.refuse("A timer event listener has a timerExpression.")
        return BpmnEvent(Trigger.TIMER)
    return BpmnEvent(Trigger.TIMER, timer=read_timer_text(subject, _kind_of(text), text, expression))


def read_start_trigger(subject: Subject, sentries: Sentries) -> tuple[Criterion, ...]:
    """Read what starts the timer; nothing: it runs from the beginning."""
    element = subject.element
    found = [child for child in element.children if child.space == element.space and child.name in _TRIGGERS]
    if not found:
        return ()
    if len(found) > 1:
        subject.refuse("A timer event listener has at most one start trigger.", found[1])
    part = sentries.read_on_part(subject, found[0], is_file=found[0].name == "caseFileItemStartTrigger")
    key = found[0].id or element.id
    return (Criterion(key, Sentry(key, (part,), line=found[0].line), CriterionRole.TIMER),) if part is not None else ()


_TRIGGERS = ("planItemStartTrigger", "caseFileItemStartTrigger")


def _kind_of(text: str) -> TimerKind:
    """Tell the kind by the form; an expression gives a duration, since only one kind can be told before it is run."""
    if not is_literal(text) or text.lstrip("+-").startswith("P"):
        return TimerKind.DURATION
    return TimerKind.CYCLE if text.startswith("R") else TimerKind.DATE
