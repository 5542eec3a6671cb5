"""Filters over instances: each is answered by an index, whatever the history.

Elements and variables are those of instances that have not ended, incidents the open ones.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from config.common.text import is_storable
from processes.workflows.models import SearchTerm, WorkflowIncident, WorkflowInstance, WorkflowRevision
from processes.workflows.reasons import find_stored_reasons
from processes.workflows.search_terms import element_term, variable_term

LONGEST_WAIT = timedelta(hours=1)
"""By so much the time in the id of an instance may be later than its start: work waits before it is begun."""
LEAST_LETTERS = 3
"""Of a part of an incident's text: the index knows it from so many letters on."""
MOST_VARIABLES = 5
LARGEST_NUMBER = 2**31 - 1


@dataclass(frozen=True)
class InstanceFilter:
    status: str = ""
    definition: str = ""
    revision: int | None = None
    """Of the definition."""
    record: str = ""
    element: str = ""
    incident: str = ""
    """A part of the text of an open incident."""
    variable: tuple[str, ...] = ()
    """Each as `name=value`."""
    started_after: datetime | None = None
    started_before: datetime | None = None


def filter_instances(wanted: InstanceFilter) -> QuerySet[WorkflowInstance]:
    """Return the instances that fit everything that is asked for, newest first."""
    rows = WorkflowInstance.objects.order_by("-id")
    plain = {"status": wanted.status, "definition": wanted.definition, "record": wanted.record}
    rows = rows.filter(**{name: value for name, value in plain.items() if value})
    if wanted.revision is not None:
        rows = at_revision(rows, wanted.definition, wanted.revision)
    if wanted.element:
        rows = at_element(rows, wanted.element)
    if wanted.incident:
        rows = with_incident(rows, wanted.incident)
    for variable in wanted.variable:
        rows = with_variable(rows, variable)
    return started_between(rows, wanted.started_after, wanted.started_before)


def at_revision(rows: QuerySet[WorkflowInstance], definition: str, number: int) -> QuerySet[WorkflowInstance]:
    """Narrow down to a revision, by its id: so one index has them in order."""
    revisions = WorkflowRevision.objects.filter(definition=definition, number=number)
    found = revisions.values_list("pk", flat=True).first() if 0 < number <= LARGEST_NUMBER else None
    return rows.none() if found is None else rows.filter(revision=found)


def at_element(rows: QuerySet[WorkflowInstance], element: str) -> QuerySet[WorkflowInstance]:
    return _with_term(rows, element_term(element))


def with_variable(rows: QuerySet[WorkflowInstance], typed: str) -> QuerySet[WorkflowInstance]:
    """Narrow down to those whose variable has a value, typed as `name=value`."""
    name, _, value = typed.partition("=")
    term = variable_term(name.strip(), value)
    return rows.none() if term is None else _with_term(rows, term)


def with_incident(rows: QuerySet[WorkflowInstance], text: str) -> QuerySet[WorkflowInstance]:
    """Narrow down to those with an open incident that says this, as its reader has it or as it is stored."""
    says = Q(reason__icontains=text)
    for words in find_stored_reasons(text):
        says |= Q(*(Q(reason__icontains=piece) for piece in words.pieces))
    incidents = WorkflowIncident.objects.filter(says, status=WorkflowIncident.Status.OPEN)
    return rows.filter(pk__in=incidents.order_by().values("instance"))


def started_between(
    rows: QuerySet[WorkflowInstance], after: datetime | None, before: datetime | None
) -> QuerySet[WorkflowInstance]:
    """Narrow down to what was started in a period.

    Ids are ordered by time, so the period bounds them, too: whatever index gives the order begins where it does.
    """
    if after is not None:
        rows = rows.filter(started_at__gte=after, pk__gte=_first_id(after - LONGEST_WAIT))
    if before is not None:
        rows = rows.filter(started_at__lt=before, pk__lt=_first_id(before + LONGEST_WAIT))
    return rows


def _with_term(rows: QuerySet[WorkflowInstance], term: str) -> QuerySet[WorkflowInstance]:
    if not is_storable(term):  # whatever was typed: PostgreSQL refuses to look for it
        return rows.none()
    return rows.filter(pk__in=SearchTerm.objects.filter(term=term).values("instance"))


def _first_id(at: datetime) -> UUID:
    """Return the least id of version 7 that could be made at a time."""
    return UUID(int=max(0, int(at.timestamp() * 1000)) << 80)
