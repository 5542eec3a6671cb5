"""Cases on the same store as processes: versions, open work, time, return, and what is suspended in part."""

from typing import Any

import pytest
from django.utils import timezone

from processes.workflows.errors import Abandoned, NotPossible
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowTimer, WorkItem
from processes.workflows.presentation import present_difference, present_instance
from processes.workflows.selectors import get_version
from processes.workflows.services.events.arrivals import take_postponed_events
from processes.workflows.services.returns import preview_return, return_instance
from tests.processes.workflows.case_files import case, human, listener, milestone, process_task, stage, timer
from tests.processes.workflows.process_files import chain, message, service, user
from tests.processes.workflows.scene import ACTOR, Scene
from tests.processes.workflows.services.events.follower.test_follower import tell
from tests.processes.workflows.services.test_work_items import fetch

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def begin(scene: Scene, *parts: str, given: dict[str, Any] | None = None, **whole: Any) -> Head:
    return scene.begin(case(*parts, **whole).encode(), **(given or {}))


def states(head: Head) -> dict[str, str]:
    """The state of each plan item, the newest of a name."""
    return {item["element"]: item["state"] for item in present_instance(head)["items"]}


def item(head: Head, element: str) -> str:
    return str([each["id"] for each in present_instance(head)["items"] if each["element"] == element][-1])


def back(head: Head, version: int) -> Head:
    return return_instance(head.id, version=version, reason="again", actor=ACTOR, at=timezone.now())


class TestVersions:
    def test_every_command_makes_one_with_its_cause(self, scene: Scene) -> None:
        head = begin(scene, human("A", manual=True), human("B", entry="A complete"))
        head = scene.command(head, "start", item=item(head, "A"))
        head = scene.complete(head, "A")
        assert [cause for *_, cause in scene.chain(head)] == ["start", "start A", "complete_task A"]
        assert states(head) == {"plan": "active", "A": "completed", "B": "active"}

    def test_a_task_that_is_completed_as_an_item_is_done(self, scene: Scene) -> None:
        head = begin(scene, human("A"), human("B"))
        head = scene.command(head, "complete_item", item=item(head, "A"))
        head = scene.command(head, "terminate_item", item=item(head, "B"))
        assert scene.items(head) == [("A", "done"), ("B", "cancelled")]
        assert head.status == "completed"

    def test_a_case_that_has_ended_can_be_closed_once(self, scene: Scene) -> None:
        head = scene.complete(begin(scene, human("A")))
        ended_at = head.ended_at
        head = scene.command(head, "close")
        assert (head.status, head.ended_at) == ("closed", ended_at)
        with pytest.raises(NotPossible):
            scene.command(head, "close")

    def test_a_case_that_has_ended_goes_on_when_it_is_reactivated(self, scene: Scene) -> None:
        head = scene.command(begin(scene, human("A"), human("B")), "terminate")
        assert head.ended_at is not None
        head = scene.command(head, "reactivate")
        assert (head.status, head.ended_at) == ("active", None)
        assert states(head) == {"plan": "active", "A": "active", "B": "active"}
        head = scene.complete(scene.complete(head, "A"), "B")
        assert head.status == "completed"
        with pytest.raises(NotPossible):
            scene.command(head, "reactivate")

    def test_what_cannot_be_done_leaves_nothing(self, scene: Scene) -> None:
        head = begin(scene, human("A"))
        with pytest.raises(NotPossible, match="cannot"):
            scene.command(head, "start", item=item(head, "A"))
        assert scene.head(head).number == 1


class TestTime:
    def test_a_timer_listener_occurs_and_its_cycle_goes_on(self, scene: Scene) -> None:
        head = begin(scene, timer("T", "R2/PT1H"), human("A", entry="T occur", repeats=True))
        scene.pass_time(head, seconds=1)
        assert states(scene.head(head))["A"] == "available"
        assert scene.items(head) == [("A", "open")]
        assert WorkflowTimer.objects.filter(instance=head.id).count() == 1

    def test_a_suspended_item_has_no_timers_until_it_goes_on(self, scene: Scene) -> None:
        head = begin(scene, stage("S", timer("T", "PT1H"), human("A")))
        head = scene.command(head, "suspend_item", item=item(head, "S"))
        assert not WorkflowTimer.objects.exists()
        scene.command(head, "resume_item", item=item(head, "S"))
        assert WorkflowTimer.objects.filter(instance=head.id, due_at__isnull=False).count() == 1


class TestReturn:
    def test_items_are_there_again_as_something_new(self, scene: Scene) -> None:
        head = begin(scene, human("A"), human("B", entry="A complete"))
        old = item(head, "A")
        scene.complete(head, "A")
        head = back(head, 1)
        assert states(head) == {"plan": "active", "A": "active", "B": "available"}
        with pytest.raises(Abandoned):
            scene.command(head, "complete_item", item=old)
        assert states(scene.complete(head, "A"))["B"] == "active"

    def test_also_of_a_case_that_has_ended_or_was_closed(self, scene: Scene) -> None:
        head = scene.complete(begin(scene, human("A")))
        scene.command(head, "close")
        head = back(head, 1)
        assert (head.status, head.ended_at, states(head)["A"]) == ("active", None, "active")

    def test_a_dry_run_names_the_items_that_begin_again(self, scene: Scene) -> None:
        head = begin(scene, human("A"), milestone("M", entry="A complete"), listener("L"))
        head = scene.complete(head, "A")
        told = preview_return(head.id, version=1, at=timezone.now())
        again = {each["element"]: each["kind"] for each in told["restarted"] if each["what"] == "item"}
        assert again == {"plan": "active", "A": "active", "M": "available", "L": "available"}

    def test_two_versions_of_a_case_can_be_compared(self, scene: Scene) -> None:
        head = begin(scene, human("A"), human("B", entry="A complete"))
        head = scene.complete(head, "A", x=1)
        told = present_difference(get_version(head.id, 1), get_version(head.id, 2))
        assert told["active"] == {"added": ["B"], "removed": ["A"]}
        assert told["variables"]["added"] == {"x": 1}


class TestProcesses:
    def test_a_case_runs_a_process_inside_its_own_state(self, scene: Scene) -> None:
        scene.publish(chain("p", user("inner")))
        head = begin(scene, process_task("P", "p"), human("A", entry="P complete"))
        head = scene.complete(head, "inner", y=2)
        assert (states(head)["A"], present_instance(head)["variables"]) == ("active", {"y": 2})

    def test_a_process_runs_a_case(self, scene: Scene) -> None:
        scene.publish(case(human("A"), key="c").encode())
        head = scene.begin(chain("p", ("call", '<callActivity id="call" calledElement="c"/>'), user("after")))
        assert present_instance(head)["tasks"][0]["element"] == "A"
        head = scene.complete(head, "A")
        assert present_instance(head)["tasks"][0]["element"] == "after"

    def test_work_in_a_suspended_task_is_given_to_nobody(self, scene: Scene) -> None:
        scene.publish(chain("p", service("s", "external", "stock")))
        head = begin(scene, process_task("P", "p"), human("A"))
        head = scene.command(head, "suspend_item", item=item(head, "P"))
        assert fetch() == []
        scene.command(head, "resume_item", item=item(head, "P"))
        assert len(fetch()) == 1

    def test_an_instance_that_is_resumed_leaves_what_was_suspended_by_itself(self, scene: Scene) -> None:
        scene.publish(chain("p", service("s", "external", "stock")))
        head = begin(scene, process_task("P", "p"), human("A"))
        head = scene.command(head, "suspend_item", item=item(head, "P"))
        scene.command(head, "suspend")
        scene.command(head, "resume")
        assert fetch() == []

    def test_an_event_for_a_suspended_task_waits(self, scene: Scene) -> None:
        named = '<message id="m1" name="custom.x"/>'
        scene.publish(chain("p", message("wait"), user("told"), before=named))
        head = begin(scene, process_task("P", "p"), human("A"))
        head = scene.command(head, "suspend_item", item=item(head, "P"))
        tell()
        assert not WorkItem.objects.filter(element="told").exists()
        scene.command(head, "resume_item", item=item(head, "P"))
        take_postponed_events()
        assert WorkItem.objects.filter(element="told").exists()
