"""The entry and exit criteria of a plan item, as elements or as references in an attribute."""

from collections.abc import Iterator

from processes.workflows.engine.bpmn.file import Subject
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.case_plan import Criterion, CriterionRole
from processes.workflows.engine.cmmn.outline import OutlinedItem
from processes.workflows.engine.cmmn.sentries import Sentries
from processes.workflows.engine.definition import NodeKind


def read_criteria(placed: OutlinedItem, sentries: Sentries) -> tuple[Criterion, ...]:
    """Read the criteria of entry, then those of exit; a stage may have some of these in its definition element."""
    subject = Subject(placed.element, sentries.outline.file)
    holders = [placed.element]
    if placed.kind is NodeKind.STAGE:
        holders.append(placed.described_by)
    if any(holder.name != "planItem" and next(_references(holder, CriterionRole.ENTRY), None) for holder in holders):
        subject.refuse("Entry criteria stand in a plan item; a case plan model has none.")
    return tuple(
        Criterion(key or reference, sentry, role)
        for role in (CriterionRole.ENTRY, CriterionRole.EXIT)
        for holder in holders
        for key, reference, at in _references(holder, role)
        if (sentry := sentries.find(subject, reference, at)) is not None
    )


def _references(holder: XmlElement, role: CriterionRole) -> Iterator[tuple[str, str, XmlElement]]:
    """Give the id of each criterion, if it has one, what it refers to and where it stands."""
    for element in holder.all(f"{role.value}Criterion"):
        yield element.id, element.get("sentryRef"), element
    for reference in holder.get(f"{role.value}CriteriaRefs").split():
        yield "", reference, holder
