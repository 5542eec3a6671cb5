from datetime import timedelta

import pytest
from django.utils import timezone

from processes.workflows.models import WorkflowInstance, WorkflowStartTimer, WorkflowTimer
from processes.workflows.services import timers
from processes.workflows.services.timers import fire_due_timers, start_due_instances
from tests.processes.workflows.process_files import chain, flow, process, started_at, timer, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

WAITS = chain("p", timer("t", "PT1H"), user("a"))


class TestFireDueTimers:
    def test_fires_what_is_due(self, scene: Scene) -> None:
        head = scene.begin(WAITS)
        scene.pass_time(head, seconds=1)
        assert (scene.waits_at(head), scene.chain(head)[-1]) == (["a"], (2, 1, "fire_timer t"))
        assert not WorkflowTimer.objects.exists()

    def test_leaves_what_is_not(self, scene: Scene) -> None:
        head = scene.begin(WAITS)
        assert not fire_due_timers()
        assert scene.head(head).number == 1

    def test_a_timer_that_two_hold_fires_once(self, scene: Scene) -> None:
        head = scene.begin(WAITS)
        kept = WorkflowTimer.objects.get()
        scene.pass_time(head, seconds=1)
        kept.due_at = timezone.now() - timedelta(seconds=1)
        kept.save(force_insert=True)
        fire_due_timers()
        assert (scene.head(head).number, WorkflowTimer.objects.count()) == (2, 0)

    def test_a_cycle_is_set_to_its_next_time(self, scene: Scene) -> None:
        reminds = (
            '<boundaryEvent id="again" attachedToRef="a" cancelActivity="false"><timerEventDefinition>'
            "<timeCycle>R/PT1H</timeCycle></timerEventDefinition></boundaryEvent>"
        )
        source = process(
            "p",
            '<startEvent id="begin"/><endEvent id="end"/><endEvent id="end2"/>',
            user("a")[1],
            reminds,
            user("b")[1],
            *(flow(*pair) for pair in (("begin", "a"), ("a", "end"), ("again", "b"), ("b", "end2"))),
        )
        head = scene.begin(source)
        scene.pass_time(head, seconds=1)
        due_at = WorkflowTimer.objects.get().due_at
        assert scene.waits_at(head) == ["a", "b"]
        assert due_at is not None
        assert due_at > timezone.now()

    def test_whoever_comes_late_leaves_the_timer_of_the_next_round(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It was suspended when it was to fire, and resumed before the row was looked at again."""
        head = scene.begin(WAITS)
        scene.command(head, "suspend")
        reconcile = timers._reconcile

        def resumed_first(timer: WorkflowTimer) -> None:
            scene.command(head, "resume")
            WorkflowTimer.objects.update(due_at=timezone.now() - timedelta(seconds=1), fence=timer.fence + 1)
            reconcile(timer)

        with monkeypatch.context() as patch:
            patch.setattr(timers, "_reconcile", resumed_first)
            scene.pass_time(head, seconds=1)
        assert WorkflowTimer.objects.get().due_at is not None
        fire_due_timers()
        assert scene.waits_at(head) == ["a"]

    def test_a_suspended_instance_keeps_its_timers(self, scene: Scene) -> None:
        head = scene.begin(WAITS)
        scene.command(head, "suspend")
        scene.pass_time(head, seconds=1)
        assert scene.waits_at(head) == ["t"]
        assert WorkflowTimer.objects.get().due_at is None


class TestStartDueInstances:
    def test_begins_an_instance_and_waits_for_the_next_time(self, scene: Scene) -> None:
        scene.publish(chain("p", user("a"), start=started_at("<timeCycle>R2/PT1H</timeCycle>")))
        self._pass_time()
        start_due_instances()
        assert (WorkflowInstance.objects.count(), WorkflowStartTimer.objects.get().left) == (1, 1)
        assert WorkflowStartTimer.objects.get().next_at > timezone.now()

    def test_ends_with_the_last_time(self, scene: Scene) -> None:
        scene.publish(chain("p", user("a"), start=started_at("<timeDuration>PT1H</timeDuration>")))
        self._pass_time()
        start_due_instances()
        assert (WorkflowInstance.objects.count(), WorkflowStartTimer.objects.count()) == (1, 0)

    def test_one_time_begins_one_instance(self, scene: Scene) -> None:
        scene.publish(chain("p", user("a"), start=started_at("<timeCycle>R/PT1H</timeCycle>")))
        self._pass_time()
        kept = WorkflowStartTimer.objects.get()
        start_due_instances()
        WorkflowStartTimer.objects.update(due_at=kept.due_at, next_at=kept.next_at)
        start_due_instances()
        assert WorkflowInstance.objects.count() == 1
        assert WorkflowStartTimer.objects.get().next_at > timezone.now()

    def test_whoever_dies_in_it_has_done_nothing(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.publish(chain("p", user("a"), start=started_at("<timeDuration>PT1H</timeDuration>")))
        self._pass_time()

        def die(*args: object, **options: object) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(timers, "_start_by_timer", die)
            with pytest.raises(SystemExit):
                start_due_instances()
        self._pass_time()
        start_due_instances()
        assert (WorkflowInstance.objects.count(), WorkflowStartTimer.objects.count()) == (1, 0)

    def _pass_time(self) -> None:
        past = timezone.now() - timedelta(seconds=1)
        WorkflowStartTimer.objects.update(due_at=past, next_at=past)
