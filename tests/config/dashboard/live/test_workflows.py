from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F
from django.utils import timezone

from config.common.database.row_lists import read_lists
from config.dashboard.live.counts import read_counts
from config.dashboard.live.workflows import MOST_INSTANCES, ask_workflows, read_workflows
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkflowTimer, WorkItem
from tests.processes.workflows.process_files import chain, timer, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
MINUTE = timedelta(minutes=1)


def workflows() -> dict[str, Any]:
    return read_workflows(read_counts(timezone.now()), read_lists(ask_workflows()))


def started_ago(minutes: int, place: int, **columns: Any) -> WorkflowInstance:
    """Make an instance whose id tells when it was started, as the product makes them."""
    at, like = timezone.now() - minutes * MINUTE, WorkflowInstance.objects.order_by("pk").first()
    assert like is not None
    pk = UUID(int=(int(at.timestamp() * 1000) << 80) + place)
    return WorkflowInstance.objects.create(
        pk=pk, definition_id=like.definition_id, revision_id=like.revision_id, started_at=at, **columns
    )


class TestReadWorkflows:
    def test_every_number_counts_its_own(self) -> None:
        scene = Scene()
        waits = scene.begin(chain("p", user("a"), timer("later", "PT30M")))
        sleeps = [scene.begin(chain("q", timer("soon", "PT30M")))]
        sleeps += [scene.start("q") for _ in range(2)]
        WorkflowTimer.objects.filter(instance=sleeps[0].id).update(due_at=F("due_at") - timedelta(hours=1))
        WorkflowTimer.objects.filter(instance=sleeps[2].id).update(due_at=F("due_at") + timedelta(hours=1))
        started_ago(5, 1)
        for place, minutes in enumerate((3, 3, 0)):
            ended = timezone.now() - minutes * MINUTE
            started_ago(5, 2 + place, status="completed", ended_at=ended)
        for about in range(3):
            fields = {"about": str(about), "command": {}, "opened_at": timezone.now()}
            WorkflowIncident.objects.create(instance_id=waits.id, **fields)
        WorkflowIncident.objects.filter(about="2").update(status="resolved", resolved_at=timezone.now())
        found = workflows()
        del found["instances"]
        numbers = {"active": 5, "tasks": 1, "timers_due": 1, "timers": 2, "incidents": 2, "started": 4, "ended": 1}
        assert found == numbers

    def test_a_task_of_a_machine_and_a_closed_one_wait_for_nobody(self) -> None:
        scene = Scene()
        head = scene.begin(chain("p", user("a"), user("b")))
        scene.complete(head)
        assert workflows()["tasks"] == 1
        WorkItem.objects.update(kind=WorkItem.Kind.EXTERNAL)
        assert workflows()["tasks"] == 0

    def test_a_timer_that_is_held_is_neither_due_nor_expected(self) -> None:
        Scene().begin(chain("p", timer("t", "PT5M")))
        WorkflowTimer.objects.update(due_at=None)
        found = workflows()
        assert (found["timers_due"], found["timers"]) == (0, 0)

    def test_names_the_newest_instances_with_their_record_and_version(self) -> None:
        scene = Scene()
        made = [scene.begin(chain("p", user("a")), record="sensor/0xA")]
        made += [scene.start("p") for _ in range(MOST_INSTANCES)]
        found = workflows()["instances"]
        assert [row["key"] for row in found] == [str(head.id) for head in reversed(made)][:MOST_INSTANCES]
        scene.command(made[-1], "terminate")
        newest = workflows()["instances"][0]
        assert (newest["status"], newest["version"]) == ("terminated", scene.head(made[-1]).number)
        assert newest["page"] == f"/admin/workflows/workflowinstance/{made[-1].id}/change/"
