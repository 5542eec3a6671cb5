"""Reads of workflows: instances with their heads, versions with their states, what is open."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import F, Func, IntegerField, QuerySet

from config.common.database.sql import in_array, load_sql
from config.common.web.pagination import PAGE_BYTES
from processes.workflows.engine.runner import InstanceState
from processes.workflows.errors import DefinitionNotFound, RevisionNotFound, VersionNotFound
from processes.workflows.heads import PACKAGE, Head, get_head
from processes.workflows.models import (
    WorkflowBody,
    WorkflowDefinition,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowRevision,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.state_storage import join_state


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


def filter_instances(*, status: str = "", definition: str = "", record: str = "") -> QuerySet[WorkflowInstance]:
    rows = WorkflowInstance.objects.order_by("-id")
    filters = {"status": status, "definition": definition, "record": record}
    return rows.filter(**{name: value for name, value in filters.items() if value})


def list_open_tasks(*, kinds: Sequence[str] = ()) -> QuerySet[WorkItem]:
    """Return the open tasks of all instances, the oldest first, without their inputs."""
    rows = WorkItem.objects.filter(status=WorkItem.Status.OPEN).select_related("instance").order_by("id")
    rows = rows.defer("inputs", "last_error")
    return rows.filter(kind__in=kinds) if kinds else rows


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
    )


def _fits(number: int) -> bool:
    """Tell whether a number of an address fits the column: PostgreSQL refuses to compare with a larger one."""
    return 0 < number < 2**31
