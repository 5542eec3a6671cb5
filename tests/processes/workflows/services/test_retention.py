from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from processes.workflows.models import (
    BatchItem,
    ReceivedEvent,
    WorkflowBatch,
    WorkflowBody,
    WorkflowInstance,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.services.events.receive import receive_event
from processes.workflows.services.retention import expire_workflows
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene
from tests.processes.workflows.services.batches.steps import do, make

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

TASK = chain("p", user("a"))
LONG_AGO = timezone.now() - timedelta(days=400)


class TestExpireWorkflows:
    def test_finished_instances_are_kept_unless_told_otherwise(self, scene: Scene) -> None:
        self._finish(scene)
        expire_workflows()
        assert WorkflowInstance.objects.count() == 1

    def test_forgets_what_ended_long_ago_with_all_its_parts(self, scene: Scene, settings: Any) -> None:
        settings.FINISHED_INSTANCE_DAYS = 30
        self._finish(scene)
        expire_workflows()
        assert not WorkflowInstance.objects.exists()
        assert not WorkflowVersion.objects.exists()
        assert not WorkItem.objects.exists()
        assert not WorkflowBody.objects.exists()

    def test_keeps_what_goes_on_and_what_it_shares(self, scene: Scene, settings: Any) -> None:
        settings.FINISHED_INSTANCE_DAYS = 30
        goes_on = scene.begin(TASK, big="x" * 3000)
        self._finish(scene)
        expire_workflows()
        assert WorkflowInstance.objects.get().pk == goes_on.id
        assert scene.complete(goes_on).status == "completed"

    def test_forgets_the_ids_of_old_events(self) -> None:
        receive_event(source="a", id="1", type="custom.x", at=timezone.now())
        receive_event(source="a", id="2", type="custom.x", at=timezone.now())
        ReceivedEvent.objects.filter(event_id="1").update(received_at=LONG_AGO)
        expire_workflows()
        assert ReceivedEvent.objects.get().event_id == "2"

    def test_batches_expire_and_dry_runs_sooner(self, scene: Scene) -> None:
        head = scene.begin(TASK)
        tried, done, under_way = do("suspend", head, dry_run=True), do("suspend", head), make("resume", head)
        WorkflowBatch.objects.update(created_at=timezone.now() - timedelta(days=2))
        expire_workflows()
        assert set(WorkflowBatch.objects.values_list("pk", flat=True)) == {done.pk, under_way.pk}
        assert not BatchItem.objects.filter(batch=tried.pk).exists()
        WorkflowBatch.objects.update(created_at=LONG_AGO)
        expire_workflows()
        assert WorkflowBatch.objects.get().pk == under_way.pk
        assert BatchItem.objects.get().batch_id == under_way.pk

    def _finish(self, scene: Scene) -> None:
        head = scene.begin(TASK, big="x" * 3000)
        scene.complete(head)
        WorkflowInstance.objects.filter(pk=head.id).update(ended_at=LONG_AGO)
        WorkflowBody.objects.update(touched_at=LONG_AGO)
