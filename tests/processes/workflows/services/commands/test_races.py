"""Many at one instance at once: the versions are a chain, and everything happens once."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from notifications.models import Event
from notifications.services.sequencer import stamp_once
from processes.workflows import errors
from processes.workflows.heads import get_head
from processes.workflows.models import WorkflowInstance, WorkflowVersion, WorkItem
from processes.workflows.services.events.follower import handle_events
from processes.workflows.services.events.receive import receive_event
from processes.workflows.services.returns import return_instance
from processes.workflows.services.timers import LEASE
from processes.workflows.services.work_items import fetch_external_tasks
from tests.processes.workflows.process_files import chain, message, named, service, started_by, user
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.embedded]

InThreads = Callable[[Callable[[int], Any], int], list[Any]]
TASKS = chain("p", user("a"), user("b"))


class TestEightWorkers:
    def test_versions_form_a_chain_without_a_fork(self, scene: Scene, in_threads: InThreads) -> None:
        head = scene.begin(TASKS)

        def work(number: int) -> None:
            for turn in range(3):
                scene.command(head, "set_variables", variables={f"v{number}": turn})

        in_threads(work, 8)
        chain_of = [(number, parent) for number, parent, _ in scene.chain(head)]
        assert chain_of == [(1, None), *((number, number - 1) for number in range(2, 26))]
        state = get_head(head.id).state
        assert state is not None
        assert next(iter(state["scopes"].values()))["variables"] == {f"v{number}": 2 for number in range(8)}

    def test_a_task_is_completed_once(self, scene: Scene, in_threads: InThreads) -> None:
        head = scene.begin(TASKS)
        task = scene.task(head)

        def work(number: int) -> bool:
            try:
                scene.command(head, "complete_task", task=task)
            except errors.NotPossible:
                return False
            return True

        assert sorted(in_threads(work, 8)) == [False] * 7 + [True]
        assert WorkItem.objects.filter(element="b").count() == 1

    def test_an_event_that_several_hand_over_is_taken_once(self, scene: Scene, in_threads: InThreads) -> None:
        x = named("custom.x")
        scene.begin(chain("p", message("m"), message("n"), user("a"), before=x))
        scene.publish(chain("q", user("a"), before=x, start=started_by()))
        receive_event(source="test", type="custom.x", at=timezone.now())
        stamp_once()
        events = list(Event.objects.filter(type="custom.x"))
        in_threads(lambda number: handle_events(events), 4)
        assert list(WorkflowVersion.objects.filter(cause="event custom.x").values_list("number", flat=True)) in (
            [1, 2],
            [2, 1],
        )
        assert WorkflowInstance.objects.filter(definition="q").count() == 1

    def test_an_external_task_is_given_to_one_worker(self, scene: Scene, in_threads: InThreads) -> None:
        scene.begin(chain("p", service("s", "external", "stock")))
        given = in_threads(
            lambda number: fetch_external_tasks(topic="stock", worker=str(number), limit=5, lock=LEASE), 4
        )
        assert sorted(map(len, given)) == [0, 0, 0, 1]

    def test_a_return_and_commands_make_no_fork(self, scene: Scene, in_threads: InThreads) -> None:
        head = scene.begin(TASKS)
        scene.command(head, "set_variables", variables={"x": 1})

        def work(number: int) -> None:
            if number:
                scene.command(head, "set_variables", variables={"x": number})
            else:
                return_instance(head.id, version=1, reason="back", actor=ACTOR, at=timezone.now())

        in_threads(work, 4)
        numbers = [number for number, _, _ in scene.chain(head)]
        assert numbers == [1, 2, 3, 4, 5, 6]
        assert sum(parent != number - 1 for number, parent, _ in scene.chain(head)[1:]) == 1
