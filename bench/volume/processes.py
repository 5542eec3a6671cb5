"""Workflow instances with versions and tasks, made of real ones; change sets that every reader has committed."""

from uuid import UUID

from django.utils import timezone

from bench.volume.notifications import MOST_OF_ONE
from bench.volume.sizes import Sizes
from bench.volume.spread import spread
from processes.coordination.models import (
    AppEvent,
    AppEventPayload,
    DummyItem,
    WriterEvent,
    WriterEventPayload,
    WriterEventReader,
)
from processes.coordination.protocol.statuses import EventStatus, PayloadStatus
from processes.workflows.examples import publish_examples
from processes.workflows.models import (
    BatchItem,
    SearchTerm,
    ShadowDifference,
    ShadowExample,
    ShadowInput,
    WorkflowBatch,
    WorkflowDraft,
    WorkflowEffect,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowRevision,
    WorkflowShadow,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.services.shadow.follow import MOST_EXAMPLES, MOST_PLACES
from processes.workflows.services.start import StartRequest, start_instance

CASE = "sensor-installation"
STOPPED = 20
"""One instance in so many has an incident."""
INSTANCE = "md5('instance' || {n})::uuid"


def fill_instances(sizes: Sizes) -> None:
    """Copy an instance that waits for a person: one in ten still does, one in twenty has an incident."""
    now = timezone.now()
    publish_examples(actor="bench", at=now)
    head = start_instance(StartRequest(CASE, record="template"), actor="bench", at=now)
    template = WorkflowInstance.objects.get(pk=head.id)
    instance = INSTANCE.format(n="n")
    is_open = "mod(n, 10) = 0"
    spread(
        template,
        sizes.instances,
        id=instance,
        record="'Record ' || n",
        status=f"CASE WHEN mod(n, {STOPPED}) = 0 THEN 'incident' WHEN {is_open} THEN 'active' ELSE 'completed' END",
        open_incidents=f"CASE WHEN mod(n, {STOPPED}) = 0 THEN 1 ELSE 0 END",
        started_at="now() - n * interval '1 minute'",
        ended_at=f"CASE WHEN {is_open} THEN NULL ELSE now() END",
        start_key="NULL",
        correlation_id="'workflow-' || n",
    )
    for version in WorkflowVersion.objects.filter(instance=template):
        version.pk = None
        spread(version, sizes.instances, instance_id=instance)
    first = WorkflowInstance.objects.order_by("pk").exclude(pk=template.pk)[0]
    version.pk, version.instance, version.taken_key = None, first, None
    spread(version, min(sizes.instances, MOST_OF_ONE), number="n + 1000", parent="n + 999")
    item = WorkItem.objects.filter(instance=template).first()
    if item is None:
        raise RuntimeError(f"{CASE} begins with no task")
    item.pk = None
    spread(
        item,
        sizes.instances,
        instance_id=instance,
        status=f"CASE WHEN {is_open} THEN 'open' ELSE 'done' END",
        closed_by=f"CASE WHEN {is_open} THEN NULL ELSE 1 END",
        since="now() - n * interval '1 minute'",
        due_at="NULL",
    )
    spread(
        WorkflowEffect(version=1, local="e1", kind="event", element="done", name="done", status="left", at=now),
        sizes.instances,
        instance_id=instance,
        left_at="now()",
        at="now()",
    )
    spread(
        WorkflowIncident(about="start", command={"command": "start"}, reason="broken", opened_at=now),
        sizes.instances // STOPPED,
        instance_id=INSTANCE.format(n=f"n * {STOPPED}"),
    )
    for term in SearchTerm.objects.filter(instance=template).values_list("term", flat=True):
        spread(SearchTerm(term=term), sizes.instances // 10, instance_id=INSTANCE.format(n="n * 10"))


def fill_batches(sizes: Sizes) -> None:
    """Make batches that are done, and one of them with as many instances as one row has at most."""
    now = timezone.now()
    done = {"operation": "suspend", "status": "done", "total": 1, "changed": 1, "actor": "staff:olga", "ended_at": now}
    spread(WorkflowBatch(created_at=now, **done), sizes.few, id="md5('batch' || n)::uuid")
    first = WorkflowBatch.objects.order_by("pk")[0]
    spread(
        BatchItem(batch=first, status="changed", before=1, after=2),
        min(sizes.instances, MOST_OF_ONE),
        instance=INSTANCE.format(n="n"),
    )


def fill_drafts(sizes: Sizes) -> None:
    source = WorkflowRevision.objects.filter(definition=CASE).values_list("source", flat=True)[0]
    spread(
        WorkflowDraft(name="Draft", source=bytes(source).decode(), actor="staff:olga", saved_at=timezone.now()),
        sizes.few,
        id="md5('draft' || n)::uuid",
        saved_at="now() - n * interval '1 minute'",
    )


def fill_shadow(sizes: Sizes) -> None:
    """Make a trial of the first definition that differs in as many places as one can, and is behind."""
    now = timezone.now()
    revision = WorkflowRevision.objects.order_by("definition", "-number").select_related("definition")[0]
    shadow = WorkflowShadow.objects.create(definition=revision.definition, revision=revision, against=revision)
    places = min(sizes.few, MOST_PLACES)
    spread(
        ShadowDifference(shadow=shadow, kind="path", count=1, first_at=now, last_at=now), places, place="'place ' || n"
    )
    first = ShadowDifference.objects.order_by("pk")[0].pk
    spread(
        ShadowExample(version=1, at=now, live="[]", withheld="[]"),
        places * MOST_EXAMPLES,
        difference_id=f"{first} + mod(n, {places})",
        instance=INSTANCE.format(n="n"),
    )
    spread(
        ShadowInput(shadow=shadow.pk, version=2, body="{}", recorded_at=now),
        sizes.few,
        instance=INSTANCE.format(n="n"),
    )


def fill_change_sets(sizes: Sizes) -> None:
    now = timezone.now()
    spread(DummyItem(name="Crate", correlation_id=UUID(int=1), last_event_id=1), sizes.change_sets, id="n")
    committed = {"app_event_type_id": 2, "app_event_status_id": EventStatus.COMMITTED.value, "is_published": True}
    payload = {"app_event_payload_status_id": PayloadStatus.SAVED.value, "is_published": True, "date": now}
    content = '{"entity":"DummyItem","op":"Update","id":1,"before":{},"after":{}}'
    spread(
        AppEvent(date=now, ended_at=now, payload_count=1, steps={}, **committed),
        sizes.change_sets,
        id="n",
        position="n",
        correlation_id="'change-set-' || n",
    )
    spread(AppEventPayload(content=content, **payload), sizes.change_sets, app_event_id="n")
    spread(AppEventPayload(content=content, app_event_id=1, **payload), min(sizes.change_sets, MOST_OF_ONE))
    spread(
        WriterEvent(date=now, ended_at=now, payload_count=1, steps={}, **committed),
        sizes.change_sets,
        id="n",
        position="n",
    )
    spread(WriterEventPayload(content=content, **payload), sizes.change_sets, id="n", writer_event_id="n")
    spread(
        WriterEventReader(name="main", bit=1, progress=4, verdict="committed", answered_at=now, ended_at=now),
        sizes.change_sets,
        writer_event_id="n",
    )
