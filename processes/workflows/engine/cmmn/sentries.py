"""Sentries and the criteria that refer to them: what must have happened, and which condition must hold."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from processes.workflows.engine.bpmn.file import Subject, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.case_plan import Criterion, CriterionRole, OnPart, Sentry
from processes.workflows.engine.cmmn.file import CMMN, compile_nested
from processes.workflows.engine.cmmn.outline import CaseOutline, OutlinedItem
from processes.workflows.engine.definition import CASE_ACTIVITIES, NodeKind
from processes.workflows.engine.expressions import Expression

MAX_ON_PARTS = 100
MAX_AWAITED = 8_000
"""In the whole case: criteria and their on-parts, which are counted once for each criterion that refers to them."""


@dataclass(slots=True)
class SentryReader:
    outline: CaseOutline
    files: dict[str, tuple[str, ...]]
    read: dict[str, Sentry | None] = field(default_factory=dict)
    awaited: int = 0

    def find(self, subject: Subject, reference: str, at: XmlElement) -> Sentry | None:
        """Return the sentry that a criterion refers to, read once; None, and a problem, when there is none."""
        self._count(subject, 1)
        element = self.outline.sentries.get(reference)
        if element is None:
            missing = f"There is no sentry {quote(reference)}." if reference else f"{at.name} has no sentryRef."
            subject.refuse(missing, at)
            return None
        if reference not in self.read:
            self.read[reference] = self._read(Subject(element, self.outline.file))
        sentry = self.read[reference]
        # For each criterion again: that many are looked at when one of the awaited transitions happens.
        self._count(subject, len(sentry.on) if sentry is not None else 0)
        return sentry

    def read_on_part(self, subject: Subject, part: XmlElement, *, is_file: bool) -> OnPart | None:
        """Read an on-part; None, and a problem, when its event can never happen."""
        written = part.find("standardEvent")
        # An element by the schema of CMMN 1.1; an attribute is accepted too.
        source, event = part.get("sourceRef"), written.text if written is not None else part.get("standardEvent")
        if not event:
            subject.refuse(f"{part.name} has no standardEvent.", part)
            return None
        possible = self._transitions_of(source, is_file=is_file)
        if possible is None:
            kind = "case file item" if is_file else "plan item"
            if not source:
                subject.refuse(f"{part.name} has no sourceRef.", part)
            elif source not in self.outline.refused:
                subject.refuse(f"sourceRef {quote(source)} is not a {kind} of the case.", part)
            return None
        if event not in possible:
            label = quote(self.outline.name_item(source))
            subject.refuse(f"The standard event {quote(event)} of {label} can never happen.", part)
            return None
        return OnPart(source, event, is_file, criterion="" if is_file else part.get("exitCriterionRef"))

    def _read(self, subject: Subject) -> Sentry | None:
        parts = [child for child in subject.element.children if child.space == CMMN and child.name in _ON_PARTS]
        if len(parts) > MAX_ON_PARTS:
            subject.refuse(f"A sentry has at most {MAX_ON_PARTS} on-parts.")
            return None
        condition = _read_condition(subject)
        on = [self.read_on_part(subject, part, is_file=part.name == "caseFileItemOnPart") for part in parts]
        if not parts and condition is None:
            # A condition that could not be compiled is absent here, and a problem already.
            if not self.outline.file.problems.has_problem_with(subject.element.id):
                subject.refuse("A sentry has an on-part, or an if-part with a condition.")
            return None
        known = tuple(part for part in on if part is not None)
        return Sentry(subject.element.id, known, condition, subject.element.line)

    def _transitions_of(self, source: str, *, is_file: bool) -> frozenset[str] | None:
        if is_file:
            return FILE_ITEM_EVENTS if source in self.files else None
        outlined = self.outline.items.get(source)
        return (
            get_standard_events(outlined.kind)
            if outlined is not None and outlined.kind is not NodeKind.CASE_PLAN
            else None
        )

    def _count(self, subject: Subject, awaited: int) -> None:
        self.awaited += awaited
        if self.awaited > MAX_AWAITED:
            message = f"A case has at most {MAX_AWAITED} criteria, counted with all they wait for."
            self.outline.file.problems.abort(subject.element.id, subject.element.line, message)


_ON_PARTS = ("planItemOnPart", "caseFileItemOnPart")


def _read_condition(subject: Subject) -> Expression | None:
    parts = list(subject.element.all("ifPart"))
    if len(parts) > 1:
        subject.refuse("A sentry has at most one if-part.", parts[1])
    return compile_nested(subject, parts[0], "condition") if parts else None


def read_criteria(outlined: OutlinedItem, reader: SentryReader) -> tuple[Criterion, ...]:
    """Read the entry criteria, then the exit criteria; a stage may have exit criteria in its definition element."""
    subject = Subject(outlined.element, reader.outline.file)
    holders = [outlined.element]
    if outlined.kind is NodeKind.STAGE:
        holders.append(outlined.definition)
    if any(
        holder.name != "planItem" and next(_list_criterion_references(holder, CriterionRole.ENTRY), None)
        for holder in holders
    ):
        subject.refuse("Only plan items have entry criteria; a case plan model has none.")
    return tuple(
        Criterion(key or reference, sentry, role)
        for role in (CriterionRole.ENTRY, CriterionRole.EXIT)
        for holder in holders
        for key, reference, at in _list_criterion_references(holder, role)
        if (sentry := reader.find(subject, reference, at)) is not None
    )


def _list_criterion_references(holder: XmlElement, role: CriterionRole) -> Iterator[tuple[str, str, XmlElement]]:
    """Yield each criterion's id (or empty), its sentry reference and the element for error messages."""
    for element in holder.all(f"{role.value}Criterion"):
        yield element.id, element.get("sentryRef"), element
    for reference in holder.get(f"{role.value}CriteriaRefs").split():
        yield "", reference, holder


_ACTIVITY_EVENTS = frozenset(
    {
        "create",
        "enable",
        "disable",
        "reenable",
        "start",
        "manualStart",
        "suspend",
        "resume",
        "parentSuspend",
        "parentResume",
        "complete",
        "terminate",
        "fault",
        "reactivate",
        "exit",
    }
)
_OCCURRENCE_EVENTS = frozenset(
    {"create", "occur", "suspend", "resume", "terminate", "parentSuspend", "parentResume", "parentTerminate"}
)

FILE_ITEM_EVENTS = frozenset({"create", "update", "replace", "delete", "addChild", "removeChild"})


def get_standard_events(kind: NodeKind) -> frozenset[str]:
    return _ACTIVITY_EVENTS if kind in CASE_ACTIVITIES else _OCCURRENCE_EVENTS
