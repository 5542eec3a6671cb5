"""Reads of workflows: instances with their heads, versions with their states, what is open."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import Count, Exists, F, Func, IntegerField, OuterRef, QuerySet, Window
from django.db.models.functions import RowNumber

from config.common.database.sql import in_array, load_engine_sql, load_sql
from config.common.web.pagination import PAGE_BYTES
from processes.workflows.engine.runner import InstanceState
from processes.workflows.errors import DefinitionNotFound, RevisionNotFound, VersionNotFound
from processes.workflows.heads import PACKAGE, Head, get_head
from processes.workflows.models import (
    BatchItem,
    TaskCandidate,
    WorkflowBody,
    WorkflowDefinition,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowRevision,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.state_storage import join_state
from processes.workflows.task_rights import Person

DUE_ORDER = ("deadline_at", "-priority", "pk")
INBOX = (WorkItem.Kind.USER, WorkItem.Kind.MANUAL)
MOST_OFFERS = 1000
"""Rows that a badge looks at: a task may be offered to several groups of one person."""
MOST_OUTCOMES = 50
MOST_EXAMPLES = 5
LONGEST_SEARCH = 200
MOST_WORDS = 5


@dataclass(frozen=True)
class LoadedVersion:
    """A version with its state; without one its instance was created and has not started."""

    version: WorkflowVersion
    state: InstanceState | None


def get_definition(key: str) -> WorkflowDefinition:
    definition = WorkflowDefinition.objects.filter(pk=key).first()
    if definition is None:
        raise DefinitionNotFound
    return definition


def get_revision(key: str, number: int) -> WorkflowRevision:
    """Return a revision with its source."""
    revision = WorkflowRevision.objects.filter(definition=key, number=number).first() if _fits(number) else None
    if revision is None:
        get_definition(key)
        raise RevisionNotFound
    return revision


def list_revisions(key: str) -> QuerySet[WorkflowRevision]:
    """Return the revisions of a definition, the newest first, without their sources."""
    return WorkflowRevision.objects.filter(definition=get_definition(key)).defer("source").order_by("-number")


def filter_tasks(
    *,
    assignee: str = "",
    candidate_group: str = "",
    definition: str = "",
    record: str = "",
    due_before: datetime | None = None,
    q: str = "",
) -> QuerySet[WorkItem]:
    """Return the open tasks of all instances; with any filter those of people alone, indexed by due date."""
    rows = WorkItem.objects.filter(status=WorkItem.Status.OPEN).select_related("instance")
    rows = rows.prefetch_related("candidates").defer("inputs", "last_error", "search")
    filters: dict[str, Any] = {
        "assignee": assignee,
        "instance__definition": definition,
        "instance__record": record,
        "deadline_at__lt": due_before,
    }
    filters = {name: value for name, value in filters.items() if value}
    if candidate_group:
        offers = TaskCandidate.objects.filter(
            kind=TaskCandidate.Kind.GROUP, name=candidate_group, is_waiting=True, item=OuterRef("pk")
        )
        rows = rows.filter(Exists(offers))
    if filters or candidate_group or q:
        rows = rows.filter(kind__in=INBOX, **filters)
    return search_tasks(rows, q) if q else rows


def find_open_incidents(instance_ids: Iterable[UUID]) -> dict[UUID, list[WorkflowIncident]]:
    rows = WorkflowIncident.objects.filter(instance__in=list(instance_ids), status=WorkflowIncident.Status.OPEN)
    found: dict[UUID, list[WorkflowIncident]] = {}
    for incident in rows.order_by("pk"):
        found.setdefault(incident.instance_id, []).append(incident)
    return found


def load_heads(instances: Sequence[WorkflowInstance]) -> Iterator[Head]:
    """Yield the heads of these instances in their order, read in portions as `load_versions` does."""
    rows = WorkflowVersion.objects.filter(instance__in=[each.pk for each in instances], number=F("instance__head"))
    rows = rows.select_related("instance__definition", "revision").defer("revision__source")
    found = {version.instance_id: version for version in rows}
    return map(_build_head, load_versions([found[each.pk] for each in instances if each.pk in found]))


def waiting_tasks() -> QuerySet[WorkItem]:
    """Return the tasks that wait for a person: the inbox."""
    return WorkItem.objects.filter(status=WorkItem.Status.OPEN, kind__in=INBOX)


def list_versions(instance_id: UUID) -> QuerySet[WorkflowVersion]:
    """Return the versions of an instance, the newest first."""
    return _versions(instance_id).order_by("-number")


def load_versions(versions: Sequence[WorkflowVersion]) -> Iterator[LoadedVersion]:
    """Yield these versions with their states, read in portions whose bodies take no more than `PAGE_BYTES`."""
    sizes = _measure_bodies({digest for version in versions for digest in version.bodies.split()})
    portion: list[WorkflowVersion] = []
    known: set[str] = set()
    for version in versions:
        digests = known.union(version.bodies.split())
        if portion and sum(sizes.get(digest, 0) for digest in digests) > PAGE_BYTES:
            yield from _load_states(portion)
            portion, digests = [], set(version.bodies.split())
        portion.append(version)
        known = digests
    yield from _load_states(portion)


def get_version(instance_id: UUID, number: int) -> LoadedVersion:
    """Return one version with its state."""
    version = _versions(instance_id).filter(number=number).first() if _fits(number) else None
    if version is None:
        get_head(instance_id)
        raise VersionNotFound
    return next(_load_states([version]))


def find_ancestors(instance_id: UUID, number: int) -> set[int]:
    """Return the numbers of a version and of all the versions that it was made from."""
    instance = instance_id if connection.vendor == "postgresql" else instance_id.hex
    with connection.cursor() as cursor:
        cursor.execute(load_sql(PACKAGE, "ancestors"), {"instance": instance, "number": number})
        return {row[0] for row in cursor.fetchall()}


def find_returns(instance_id: UUID, *, most: int) -> dict[int, int]:
    """Return the parents of the versions that returns have made, of the newest so many."""
    instance = instance_id if connection.vendor == "postgresql" else instance_id.hex
    with connection.cursor() as cursor:
        cursor.execute(load_sql(PACKAGE, "returns"), {"instance": instance, "most": most})
        return dict(cursor.fetchall())


def _versions(instance_id: UUID) -> QuerySet[WorkflowVersion]:
    rows = WorkflowVersion.objects.filter(instance=instance_id)
    return rows.select_related("revision").defer("revision__source")


def _measure_bodies(digests: set[str]) -> dict[str, int]:
    if not digests:
        return {}
    length = Func("content", function="octet_length" if connection.vendor == "postgresql" else "length")
    length.output_field = IntegerField()
    return dict(WorkflowBody.objects.filter(pk__in=in_array(digests)).values_list("digest", length))


def _load_states(versions: Sequence[WorkflowVersion]) -> Iterator[LoadedVersion]:
    digests = {digest for version in versions for digest in version.bodies.split()}
    bodies = (
        dict(WorkflowBody.objects.filter(pk__in=in_array(digests)).values_list("digest", "content")) if digests else {}
    )
    return (LoadedVersion(each, join_state(each.skeleton, bodies) if each.skeleton else None) for each in versions)


def _build_head(loaded: LoadedVersion) -> Head:
    version, instance = loaded.version, loaded.version.instance
    return Head(
        id=instance.pk,
        definition=instance.definition_id,
        revision_id=version.revision_id,
        revision=version.revision.number,
        record=instance.record,
        status=instance.status,
        number=instance.head,
        epoch=instance.epoch,
        open_incidents=instance.open_incidents,
        started_at=instance.started_at,
        ended_at=instance.ended_at,
        enterprise=instance.definition.enterprise_id,
        at=version.at,
        state_status=version.status,
        state=loaded.state,
        digests=frozenset(version.bodies.split()),
        shadow=instance.shadow,
    )


def _fits(number: int) -> bool:
    """Tell whether a number of an address fits the column: PostgreSQL refuses to compare with a larger one."""
    return 0 < number < 2**31


def tasks_of(person: Person) -> QuerySet[WorkItem]:
    """Return the open tasks that a person has."""
    rows = WorkItem.objects.filter(status=WorkItem.Status.OPEN, kind__in=INBOX)
    return rows.filter(assignee=person.name) if person.name else rows.none()


def offers_to(person: Person) -> QuerySet[TaskCandidate]:
    """Return the rows by which tasks that nobody has are offered to a person or to their groups."""
    return TaskCandidate.objects.filter(person.is_candidate, is_waiting=True)


def tasks_offered_to(person: Person, most: int = MOST_OFFERS) -> QuerySet[WorkItem]:
    """Return tasks that a person or their groups may claim, in no order; enough of them for a count on a badge."""
    return WorkItem.objects.filter(pk__in=offers_to(person).values("item_id")[:most])


def tasks_for(user: Any) -> tuple[QuerySet[WorkItem], ...]:
    """Return what an account has, what it is offered itself and what its groups are, each task once, for counts.

    The groups are looked up within the statement, and the three stand apart: each is answered by an index.
    """
    name = user.get_username()
    waiting = TaskCandidate.objects.filter(is_waiting=True)
    own = waiting.filter(kind=TaskCandidate.Kind.USER, name=name)
    to_groups = waiting.filter(kind=TaskCandidate.Kind.GROUP, name__in=Group.objects.filter(user=user).values("name"))
    named_too = TaskCandidate.objects.filter(item=OuterRef("item"), kind=TaskCandidate.Kind.USER, name=name)
    offers = (own, to_groups.filter(~Exists(named_too)))
    mine = WorkItem.objects.filter(status=WorkItem.Status.OPEN, kind__in=INBOX, assignee=name)
    return mine, *(WorkItem.objects.filter(pk__in=rows.values("item_id")[:MOST_OFFERS]) for rows in offers)


def find_offered_tasks(person: Person, *, limit: int, offset: int = 0) -> list[int]:
    """Return the ids of the tasks that a person or their groups may claim, by deadline and priority."""
    if connection.vendor != "postgresql":
        rows = offers_to(person).order_by("deadline_at", "-priority", "item_id")
        return list(rows.values_list("item_id", flat=True).distinct()[offset : offset + limit])
    kinds, names = zip(*person.places, strict=True) if person.places else ((), ())
    values: dict[str, Any] = {
        "kinds": list(kinds),
        "names": list(names),
        "limit": limit,
        "offset": offset,
        "most": offset + limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(load_engine_sql(PACKAGE, "offered_tasks"), values)
        return [pk for (pk,) in cursor.fetchall()]


def search_tasks(rows: QuerySet[WorkItem], text: str) -> QuerySet[WorkItem]:
    """Narrow open tasks down to those in which each word is found: names, record, definition, variables."""
    for word in text[:LONGEST_SEARCH].split()[:MOST_WORDS]:
        rows = rows.filter(search__icontains=word)
    return rows


@dataclass(frozen=True)
class OutcomeGroup:
    """Instances of a batch that have come to the same, for the same reason."""

    status: str
    reason: str
    count: int
    examples: list[UUID]


def list_outcomes(batch_id: UUID) -> list[OutcomeGroup]:
    """Return what has become of the instances of a batch, the most frequent first, each with a few of them."""
    alike = [F("status"), F("reason")]
    rows = BatchItem.objects.filter(batch=batch_id).annotate(
        place=Window(RowNumber(), partition_by=alike, order_by="instance"),
        alike=Window(Count("pk"), partition_by=alike),
    )
    rows = rows.filter(place__lte=MOST_EXAMPLES).order_by("-alike", "status", "reason", "place")
    found: dict[tuple[str, str], OutcomeGroup] = {}
    shown = rows.values_list("status", "reason", "alike", "instance")[: MOST_OUTCOMES * MOST_EXAMPLES]
    for status, reason, count, instance in shown:
        found.setdefault((status, reason), OutcomeGroup(status, reason, count, [])).examples.append(instance)
    return list(found.values())[:MOST_OUTCOMES]
