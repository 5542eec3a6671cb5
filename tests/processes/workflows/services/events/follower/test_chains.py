"""Definitions that lead to themselves for ever end in an incident; ordinary cycles go on, and so do the others."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from notifications.models import Alert, Event
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.execution import unit_of_work
from processes.workflows.engine.execution.limits import LEAST_WAIT, LONG_WAIT
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.runner import InstanceState, run_command
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkflowTimer, WorkflowVersion
from processes.workflows.services.events import starts
from processes.workflows.services.jobs import register_handler, run_due_jobs
from processes.workflows.services.timers import fire_due_timers
from tests.processes.workflows.process_files import (
    chain,
    flow,
    named,
    process,
    service,
    started_by,
    timer,
    user,
)
from tests.processes.workflows.scene import Scene
from tests.processes.workflows.services.events.follower.test_follower import follow, tell

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

X = named("custom.x")
AT = datetime(2030, 1, 1, tzinfo=UTC)
MAX_HOPS = 12
RENEWED = {"type": "&quot;custom.x&quot;"}


@pytest.fixture(autouse=True)
def _few_hops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chains be short, that they need not be run to their true end."""
    monkeypatch.setattr(unit_of_work, "MAX_HOPS", MAX_HOPS)


def lap(*steps: tuple[str, str]) -> bytes:
    """A process whose steps lead back to the first."""
    ids = ["begin", *(name for name, _ in steps), steps[0][0]]
    flows = [flow(source, target) for source, target in pairwise(ids)]
    return process("lap", '<startEvent id="begin"/>', *(text for _, text in steps), *flows)


def events(*names: str, **more: str) -> list[tuple[str, str]]:
    return [service(name, "event", **RENEWED, **more) for name in names]


def settle() -> None:
    """Let events be taken until none leads to another; here an end of that is what is asked for."""
    seen = -1
    for _ in range(3 * MAX_HOPS):
        if Event.objects.count() == seen:
            return
        seen = Event.objects.count()
        follow()
    pytest.fail("events lead to one another for ever")


def end_waits() -> None:
    """Let every timer fire, and what it throws be taken."""
    WorkflowTimer.objects.filter(due_at__isnull=False).update(due_at=timezone.now() - timedelta(seconds=1))
    fire_due_timers()
    follow()


def reasons() -> set[str]:
    return set(WorkflowIncident.objects.filter(status="open").values_list("reason", flat=True))


class TestEvents:
    def test_one_that_begins_itself_ends_after_so_many_hops(self, scene: Scene) -> None:
        scene.publish(chain("again", *events("more"), before=X, start=started_by()))
        tell()
        settle()
        assert WorkflowInstance.objects.count() == MAX_HOPS + 1
        (reason,) = reasons()
        assert f"{MAX_HOPS} times in a row" in reason
        assert Alert.objects.filter(kind="workflow.incident").count() == 1

    def test_one_that_begins_two_of_itself_is_held_by_its_rate(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(starts, "MOST_STARTS", 40)
        monkeypatch.setattr(starts, "MOST_REFUSED", 10)
        scene.publish(chain("twice", *events("one", "two"), before=X, start=started_by()))
        scene.publish(chain("other", user("a"), before=named("custom.y"), start=started_by()))
        tell()
        tell("custom.y")
        settle()
        assert WorkflowInstance.objects.filter(definition="twice").count() == 50
        assert WorkflowIncident.objects.filter(status="open").count() == 10
        assert reasons() == {starts.TOO_MANY}
        assert WorkflowInstance.objects.filter(definition="other", status="active").count() == 1

    @pytest.mark.parametrize("wait", ["PT1M", "P1D"])
    def test_one_that_begins_two_of_itself_after_a_wait_is_held_by_it_too(
        self, scene: Scene, wait: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(starts, "LONG_CHAIN", 2)
        monkeypatch.setattr(starts, "MOST_STARTS", 10)
        monkeypatch.setattr(starts, "MOST_REFUSED", 3)
        scene.publish(chain("twice", timer("wait", wait), *events("one", "two"), before=X, start=started_by()))
        tell()
        for _ in range(6):
            end_waits()
        assert WorkflowInstance.objects.filter(definition="twice").count() == 13
        assert reasons() == {starts.TOO_MANY}

    def test_what_began_more_than_a_minute_ago_is_not_counted(self, scene: Scene) -> None:
        head = scene.begin(chain("child", user("a")))
        began_at = datetime.fromtimestamp((head.id.int >> 80) / 1000, UTC)  # what its id says
        later = [began_at + timedelta(seconds=seconds) for seconds in (59, 61)]
        assert [starts._count_recent_starts("child", at=at) for at in later] == [1, 0]

    def test_a_person_may_let_it_go_on(self, scene: Scene) -> None:
        scene.publish(chain("again", *events("more"), before=X, start=started_by()))
        tell()
        settle()
        held = WorkflowIncident.objects.get(status="open").instance_id
        scene.command(held, "retry_incident")
        settle()
        assert WorkflowInstance.objects.count() == 2 * (MAX_HOPS + 1) - 1
        assert WorkflowInstance.objects.get(pk=held).status == "completed"

    def test_many_that_one_instance_begins_are_no_chain(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(starts, "MOST_STARTS", 3)
        scene.publish(chain("child", user("a"), before=X, start=started_by()))
        scene.begin(chain("parent", *events(*(f"e{number}" for number in range(10)))))
        follow()
        assert WorkflowInstance.objects.filter(definition="child", status="active").count() == 10


class TestTimers:
    @pytest.mark.parametrize("wait", ["PT0S", "PT0.01S"])
    def test_a_loop_without_a_wait_ends(self, scene: Scene, wait: str) -> None:
        head = scene.begin(lap(timer("wait", wait)))
        for _ in range(MAX_HOPS + 5):
            scene.pass_time(head, seconds=1)
        assert WorkflowVersion.objects.filter(instance=head.id).count() == MAX_HOPS
        assert len(reasons()) == 1
        assert not fire_due_timers()

    def test_events_between_do_not_hide_it(self, scene: Scene) -> None:
        steps = (timer("wait", "PT0S"), *events("more"))
        scene.publish(chain("again", *steps, before=X, start=started_by()))
        tell()
        for _ in range(MAX_HOPS):
            end_waits()
        assert WorkflowInstance.objects.count() <= MAX_HOPS // 2 + 1
        assert len(reasons()) == 1


class TestHandlers:
    def test_a_loop_through_a_handler_ends(self, scene: Scene) -> None:
        register_handler("nothing", lambda job: None)
        head = scene.begin(lap(service("work", "nothing")))
        while run_due_jobs():
            pass
        for _ in range(MAX_HOPS + 5):
            run_due_jobs()
        assert WorkflowVersion.objects.filter(instance=head.id).count() == MAX_HOPS
        assert len(reasons()) == 1


class Clock:
    """An instance in the engine alone, whose timers fire when they are due."""

    def __init__(self, source: bytes) -> None:
        self.definition = parse_definition(source)
        self.at = AT
        self.state: InstanceState = self.run({"command": "start", "definition": [self.definition.key, 1]}, None)

    def run(self, command: dict[str, Any], state: InstanceState | None) -> InstanceState:
        outcome = run_command(self._find, state, command, self.at)
        self.effects = outcome.effects
        return outcome.state

    def fire(self) -> None:
        key, record = min(self.state["timers"].items(), key=lambda each: each[1]["due"])
        self.at = max(self.at, datetime.fromisoformat(record["due"]))
        self.state = self.run({"command": "fire_timer", "timer": key}, self.state)

    def _find(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        return self.definition, 1


class TestOrdinaryCycles:
    @pytest.mark.parametrize("wait", [f"PT{LEAST_WAIT:.0f}S", "PT10S", f"PT{LONG_WAIT:.0f}S"])
    def test_a_timer_that_waits_may_come_for_ever(self, wait: str) -> None:
        clock = Clock(lap(timer("wait", wait), *events("tells")))
        for _ in range(3 * MAX_HOPS):
            clock.fire()
        assert clock.effects[0]["hops"] == 1

    @pytest.mark.parametrize("cycle", ["R/PT1M", "R/PT1S"])
    def test_a_cycle_goes_on(self, cycle: str) -> None:
        every = f"<timerEventDefinition><timeCycle>{cycle}</timeCycle></timerEventDefinition>"
        beside = f'<boundaryEvent id="every" attachedToRef="a" cancelActivity="false">{every}</boundaryEvent>'
        steps = ('<startEvent id="begin"/>', user("a")[1], beside, *(text for _, text in events("tells")))
        clock = Clock(process("cycle", *steps, flow("begin", "a"), flow("every", "tells")))
        for _ in range(2 * MAX_HOPS):
            clock.fire()
        assert clock.state["timers"], "the next lap is due"

    def test_people_may_go_round_as_often_as_they_like(self, scene: Scene) -> None:
        head = scene.begin(lap(user("a"), timer("wait", "PT0S")))
        for _ in range(MAX_HOPS + 10):
            scene.complete(head)
            scene.pass_time(head, seconds=1)
        assert not reasons()

    def test_what_begins_itself_anew_after_a_minute_does_so_for_ever(self) -> None:
        """The chain of the event that began it is over when the timer fires."""
        clock = Clock(chain("renewed", timer("wait", f"PT{LONG_WAIT:.0f}S"), *events("more")))
        start = {"command": "start", "definition": ["renewed", 1], "hops": MAX_HOPS}
        clock.state = clock.run(start, None)
        clock.at += timedelta(minutes=1)
        clock.fire()
        assert clock.effects[0]["hops"] == 1
