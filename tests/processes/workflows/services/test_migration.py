from typing import Any

import pytest
from django.utils import timezone

from processes.workflows import errors
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowSubscription, WorkflowTimer, WorkflowVersion, WorkItem
from processes.workflows.services.commands import command_instance
from processes.workflows.services.migration import preview_migration
from processes.workflows.services.returns import return_instance
from tests.processes.workflows.process_files import chain, message, named, service, timer, user
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def migrate(head: Head, revision: int = 2, **more: Any) -> Head:
    body = {"command": "migrate", "revision": revision, **more}
    return command_instance(head.id, body, actor=ACTOR, at=timezone.now())


class TestMigrate:
    def test_is_a_version_of_the_new_revision_and_can_be_returned_from(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a")))
        scene.publish(chain("p", user("a"), user("b")))

        moved = migrate(head)

        assert (moved.number, moved.revision) == (2, 2)
        version = WorkflowVersion.objects.get(instance=head.id, number=2)
        assert (version.cause, version.revision.number) == ("migrate to revision 2", 2)
        assert scene.head(head).revision == 2
        scene.complete(scene.head(head))
        assert [item.element for item in WorkItem.objects.filter(status="open")] == ["b"]
        back = return_instance(head.id, version=1, reason="wrong", actor=ACTOR, at=timezone.now())
        assert (back.revision, scene.complete(back).status) == (1, "completed")

    def test_a_task_keeps_its_id_and_takes_its_new_name(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a")))
        before = WorkItem.objects.get()
        renamed = chain("p", user("z")).replace(b'name="Z"', b'name="Look again"')
        scene.publish(renamed)

        migrate(head, elements={"a": "z"})

        item = WorkItem.objects.get()
        assert (item.public_id, item.status) == (before.public_id, "open")
        assert (item.element, item.name) == ("z", "Look again")
        assert "look again" in item.search.lower()

    def test_timers_and_subscriptions_follow(self, scene: Scene) -> None:
        late, wait = timer("late", "PT1H"), message("wait")
        first = scene.begin(chain("t", late))
        second = scene.begin(chain("m", wait, before=named("custom.paid")))
        scene.publish(chain("t", timer("later", "PT1H")))
        scene.publish(chain("m", wait, before=named("custom.settled")))

        migrate(first, elements={"late": "later"})
        migrate(second)

        assert WorkflowTimer.objects.get().element == "later"
        row = WorkflowSubscription.objects.get()
        assert (row.name, row.revision) == ("custom.settled", 2)

    def test_names_what_needs_a_counterpart_and_does_nothing(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a")))
        scene.publish(chain("p", user("b")))

        with pytest.raises(errors.NotPossible) as refused:
            migrate(head)

        assert [each["element"] for each in refused.value.data["elements"]] == ["a"]
        assert scene.head(head).number == 1
        assert [each.element for each in preview_migration(head.id, revision=2, elements={}, at=timezone.now())] == [
            "a"
        ]
        assert preview_migration(head.id, revision=2, elements={"a": "b"}, at=timezone.now()) == []
        assert scene.head(head).number == 1

    @pytest.mark.parametrize("revision", [0, 7, 2**40])
    def test_a_revision_that_is_not_there_is_not_found(self, scene: Scene, revision: int) -> None:
        with pytest.raises(errors.RevisionNotFound):
            migrate(scene.begin(chain("p", user("a"))), revision)

    def test_an_ended_instance_stays(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a")))
        scene.publish(chain("p", user("a"), user("b")))
        scene.complete(head)

        with pytest.raises(errors.NotPossible):
            migrate(head)

    def test_work_under_a_lock_stays_with_its_worker(self, scene: Scene) -> None:
        head = scene.begin(chain("p", service("s", "external", "stock")))
        WorkItem.objects.update(worker="w", fence=4)
        scene.publish(chain("p", service("s", "external", "stock"), user("b")))

        migrate(head)

        item = WorkItem.objects.get()
        assert (item.worker, item.fence, item.status) == ("w", 4, "open")
