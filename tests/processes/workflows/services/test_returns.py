from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.common.errors import Invalid
from notifications.models import Alert
from processes.workflows import errors
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowEffect, WorkflowIncident, WorkflowInstance, WorkflowTimer, WorkItem
from processes.workflows.presentation import present_difference, present_version
from processes.workflows.selectors import find_ancestors, get_version
from processes.workflows.services.effects import dispatch
from processes.workflows.services.effects.dispatch import dispatch_due_effects
from processes.workflows.services.effects.handlers import dispatch_alert
from processes.workflows.services.returns import preview_return, return_instance
from processes.workflows.services.work_items import complete_external_task, fetch_external_tasks
from tests.processes.workflows.process_files import chain, script, service, timer, user
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

THREE = chain("p", user("a"), user("b"), user("c"))
ALERTS = chain("p", user("a"), service("tell", "alert", title='"Look"'), user("b"))


def back(head: Head, version: int) -> Head:
    return return_instance(head.id, version=version, reason="wrong turn", actor=ACTOR, at=timezone.now())


class TestReturnInstance:
    def test_an_earlier_version_is_the_parent_of_the_new_head(self, scene: Scene) -> None:
        head = scene.begin(THREE, x=1)
        scene.complete(head, x=2)
        scene.complete(head, x=3)
        after = back(head, 1)
        assert scene.head(head) == after
        assert (after.number, after.epoch, scene.waits_at(head)) == (4, 1, ["a"])
        assert scene.chain(head)[-1] == (4, 1, "return to 1: wrong turn")
        assert present_version(get_version(head.id, 4))["variables"] == {"x": 1}

    def test_the_abandoned_branch_stays(self, scene: Scene) -> None:
        head = scene.begin(THREE)
        scene.complete(head)
        back(head, 1)
        scene.complete(head)
        assert (find_ancestors(head.id, 4), find_ancestors(head.id, 2)) == ({1, 3, 4}, {1, 2})

    def test_what_waited_is_abandoned(self, scene: Scene) -> None:
        head = scene.begin(THREE)
        scene.complete(head)
        old = scene.task(head)
        back(head, 1)
        assert scene.items(head) == [("a", "done"), ("b", "abandoned"), ("a", "open")]
        with pytest.raises(errors.Abandoned):
            scene.command(head, "complete_task", task=old)

    def test_the_same_commands_lead_to_the_same_places(self, scene: Scene) -> None:
        head = scene.begin(THREE)
        scene.complete(head)
        back(head, 1)
        assert scene.waits_at(scene.complete(head)) == ["b"]

    def test_a_finished_instance_lives_again(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a")))
        scene.complete(head)
        assert back(head, 1).status == "active"
        assert WorkflowInstance.objects.get().ended_at is None

    def test_timers_have_the_time_they_had_left(self, scene: Scene) -> None:
        head = scene.begin(chain("p", timer("t", "PT1H"), user("a")))
        scene.pass_time(head, hours=1)
        back(head, 1)
        left = WorkflowTimer.objects.get().due_at
        assert left is not None
        assert timedelta(minutes=59) < left - timezone.now() <= timedelta(hours=1)

    def test_an_effect_that_has_not_left_does_not_leave(self, scene: Scene) -> None:
        head = scene.begin(ALERTS)
        scene.complete(head)
        back(head, 1)
        dispatch_due_effects()
        assert WorkflowEffect.objects.get().status == "cancelled"

    def test_an_effect_that_is_just_being_dispatched_does_not_leave(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        head = scene.begin(ALERTS)
        scene.complete(head)

        def return_first(effect: WorkflowEffect, instance: WorkflowInstance, inputs: dict[str, Any]) -> None:
            back(head, 1)
            dispatch_alert(effect, instance, inputs)

        monkeypatch.setitem(dispatch._HANDLERS, WorkflowEffect.Kind.ALERT, return_first)
        dispatch_due_effects()
        assert (WorkflowEffect.objects.get().status, Alert.objects.count()) == ("cancelled", 0)

    def test_an_effect_of_a_branch_that_counts_again_leaves_after_all(self, scene: Scene) -> None:
        head = scene.begin(ALERTS)
        scene.complete(head)
        back(head, 1)
        back(head, 2)
        dispatch_due_effects()
        assert WorkflowEffect.objects.get().status == "left"

    def test_closes_the_incidents(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a"), user("b"), script("s", "y", "1 / x")), x=0)
        scene.complete(head)
        scene.complete(head)
        assert back(head, 1).status == "active"
        assert WorkflowIncident.objects.get().status == "resolved"

    def test_an_external_task_of_the_abandoned_branch_has_no_effect(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a"), service("s", "external", "stock"), user("b")))
        scene.complete(head)
        (task,) = fetch_external_tasks(topic="stock", worker="w", limit=1, lock=timedelta(seconds=60))
        back(head, 1)
        with pytest.raises(errors.Abandoned):
            complete_external_task(task=task.item.public_id, worker="w", variables={}, actor=ACTOR, at=timezone.now())
        assert WorkItem.objects.get(element="s").status == "abandoned"
        assert fetch_external_tasks(topic="stock", worker="w", limit=1, lock=timedelta(seconds=60)) == []

    def test_needs_a_reason(self, scene: Scene) -> None:
        head = scene.begin(THREE)
        with pytest.raises(Invalid):
            return_instance(head.id, version=1, reason=" ", actor=ACTOR, at=timezone.now())

    @pytest.mark.parametrize(("version", "error"), [(1, errors.NotPossible), (9, errors.VersionNotFound)])
    def test_only_an_earlier_version(self, scene: Scene, version: int, error: type[Exception]) -> None:
        with pytest.raises(error):
            back(scene.begin(THREE), version)

    def test_not_to_what_had_not_started(self, scene: Scene) -> None:
        head = scene.begin(chain("p", script("s", "y", "1 / x"), user("a")), x=0)
        scene.command(head, "retry_incident", variables={"x": 1})
        with pytest.raises(errors.NotPossible):
            back(head, 1)


class TestPreviewReturn:
    def test_lists_what_it_would_do_and_does_nothing(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a"), service("say", "event"), service("tell", "alert"), user("b")))
        scene.complete(head)
        shown = preview_return(head.id, version=1, at=timezone.now())
        assert [(each["what"], each["element"]) for each in shown["cancelled"]] == [("task", "b"), ("effect", "tell")]
        assert [(each["what"], each["element"]) for each in shown["restarted"]] == [("task", "a")]
        assert [(each["kind"], each["element"]) for each in shown["irrevocable"]] == [("event", "say")]
        assert scene.head(head).number == 2

    def test_what_workers_have_done_cannot_be_taken_back(self, scene: Scene) -> None:
        head = scene.begin(chain("p", service("s", "external", "stock"), user("a")))
        (task,) = fetch_external_tasks(topic="stock", worker="w", limit=1, lock=timedelta(seconds=60))
        complete_external_task(task=task.item.public_id, worker="w", variables={}, actor=ACTOR, at=timezone.now())
        shown = preview_return(head.id, version=1, at=timezone.now())
        assert [(each["kind"], each["element"]) for each in shown["irrevocable"]] == [("external", "s")]


class TestDifference:
    def test_names_variables_and_places(self, scene: Scene) -> None:
        head = scene.begin(THREE, x=1, gone=1)
        scene.complete(head, x=2, new=True)
        shown = present_difference(get_version(head.id, 1), get_version(head.id, 2))
        assert shown["variables"]["changed"] == {"x": {"before": 1, "after": 2}}
        assert shown["variables"]["added"] == {"new": True}
        assert shown["active"] == {"added": ["b"], "removed": ["a"]}
