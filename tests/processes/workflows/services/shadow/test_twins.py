"""A twin beside its instance: equal where the revisions are, each kind of difference, and nothing of it leaves."""

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.utils import timezone

from notifications.models import Alert, Delivery, Event
from processes.workflows.models import (
    ShadowExample,
    ShadowInput,
    WorkflowEffect,
    WorkflowIncident,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.services.commands import execute_command
from processes.workflows.services.shadow import twins
from processes.workflows.services.steps import CommandRequest
from processes.workflows.state_storage import section
from tests.processes.workflows.process_files import (
    chain,
    flow,
    message,
    named,
    process,
    script,
    sending,
    service,
    signal,
    signalled,
    timer,
    user,
)
from tests.processes.workflows.scene import ACTOR, Scene
from tests.processes.workflows.services.shadow.trial import differences, follow, sides, try_out

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

InThreads = Callable[[Callable[[int], Any], int], list[Any]]
ORDER = chain("order", user("check"), user("ship"))
BUSY = process(
    "busy",
    '<startEvent id="begin"/><parallelGateway id="fork"/><parallelGateway id="join"/><endEvent id="end"/>',
    '<userTask id="each"><multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality>'
    "</multiInstanceLoopCharacteristics></userTask>",
    service("work", "external", topic="t")[1],
    message("paid")[1],
    timer("wait", "PT1H")[1],
    script("sum", "total", "(total if total else 0) + 1")[1],
    service("told", "alert", title='"Done"')[1],
    *(flow("fork", name) for name in ("each", "work", "paid")),
    *(flow(name, "join") for name in ("each", "work", "paid")),
    *(flow(*pair) for pair in (("begin", "fork"), ("join", "wait"), ("wait", "sum"), ("sum", "told"), ("told", "end"))),
    before=named("paid"),
)
"""Loops, external work, messages, timers, scripts and effects, some of them side by side."""


def do_something(scene: Scene, head: Any, random: Random) -> None:
    """Give an instance one of the things that it waits for."""
    state: Any = scene.head(head).state
    choices: list[dict[str, Any]] = [
        *({"command": "complete_task", "task": key, "variables": {"x": 1}} for key in _keys(state, "tasks", "user")),
        *({"command": "complete_job", "task": key} for key in _keys(state, "tasks", "external")),
        *({"command": "event", "subscription": key, "payload": {"y": 2}} for key in section(state, "subscriptions")),
        *({"command": "fire_timer", "timer": key} for key in section(state, "timers")),
        {"command": "set_variables", "variables": {"z": random.randrange(9)}},
    ]
    execute_command(head.id, CommandRequest(random.choice(choices), actor=ACTOR, at=timezone.now()))


def _keys(state: Any, part: str, kind: str) -> list[str]:
    return [key for key, record in section(state, part).items() if record["kind"] == kind]


class TestTimersOfTheTwin:
    """A timer that only the new revision has fires before the next input, at its own time."""

    WATCHED = process(
        "order",
        '<startEvent id="begin"/><endEvent id="end"/>',
        user("check")[1],
        user("late")[1],
        '<boundaryEvent id="watch" attachedToRef="check" cancelActivity="{}"><timerEventDefinition>'
        "<timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>",
        *(flow(*pair) for pair in (("begin", "check"), ("check", "end"), ("watch", "late"))),
    ).decode()

    @pytest.mark.parametrize(
        ("hours", "interrupts", "kinds"),
        [
            (0.5, "true", {"waits"}),
            (2, "false", {"waits", "path", "status"}),
            (2, "true", {"waits", "path", "counterpart"}),
        ],
    )
    def test_fires(self, scene: Scene, hours: float, interrupts: str, kinds: set[str]) -> None:
        scene.publish(chain("order", user("check")))
        try_out(self.WATCHED.replace("{}", interrupts).encode())
        head = scene.start("order")
        [key] = _keys(scene.head(head).state, "tasks", "user")
        at = timezone.now() + timedelta(hours=hours)
        execute_command(head.id, CommandRequest({"command": "complete_task", "task": key}, actor=ACTOR, at=at))
        follow()
        assert {kind for kind, _, _ in differences()} == kinds
        if hours > 1:
            assert "late" in sides("path")[1]


class TestEqualRevisions:
    @pytest.mark.parametrize("seed", range(4))
    def test_do_not_differ_whatever_they_are_given(self, scene: Scene, seed: int) -> None:
        random = Random(seed)
        scene.publish(BUSY)
        try_out(BUSY)
        heads = [scene.start("busy", record=str(number), total=number) for number in range(2)]
        for _ in range(60):
            running = [head for head in heads if scene.head(head).status == "active"]
            if not running:
                break
            do_something(scene, random.choice(running), random)
            if random.random() < 0.3:
                follow()
        shadow = follow()
        assert differences() == []
        ended = sum(scene.head(head).status == "completed" for head in heads)
        assert (shadow.equal, shadow.following, shadow.different) == (ended, len(heads) - ended, 0)
        assert shadow.steps == WorkflowVersion.objects.count()

    def test_end_together_by_termination(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(ORDER)
        head = scene.start("order")
        scene.command(head, "terminate")
        assert (follow().equal, differences()) == (1, [])

    def test_fail_together(self, scene: Scene) -> None:
        broken = chain("order", user("check"), script("sum", "total", "missing + 1"), user("ship"))
        scene.publish(broken)
        try_out(broken)
        head = scene.complete(scene.start("order"))
        assert (head.status, follow().different) == ("incident", 0)
        scene.command(head, "retry_incident", variables={"missing": 1})
        scene.complete(head, "ship")
        assert (follow().equal, differences()) == (1, [])

    def test_a_start_that_fails_is_followed_from_its_retry(self, scene: Scene) -> None:
        broken = chain("order", script("sum", "total", "missing + 1"), user("ship"))
        scene.publish(broken)
        try_out(broken)
        head = scene.start("order")
        assert (head.status, follow().following) == ("incident", 1)
        scene.command(head, "retry_incident", variables={"missing": 1})
        scene.complete(head, "ship")
        assert (follow().equal, differences()) == (1, [])


class TestDifferences:
    def test_another_path(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(chain("order", user("check"), user("pack"), user("ship")))
        scene.complete(scene.start("order"))
        assert (follow().different, differences()) == (1, [("path", "ship", 1)])
        assert [text.split() for text in sides("path")] == [["[", '"ship"', "]"], ["[", '"pack"', "]"]]

    def test_no_counterpart_of_what_the_instance_was_given(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(chain("order", user("check"), user("pack"), user("ship")))
        head = scene.complete(scene.complete(scene.start("order")), "ship")
        assert head.status == "completed"
        assert follow().following == 0
        assert differences() == [("counterpart", "ship", 1), ("path", "ship", 1)]
        assert '"pack"' in sides("counterpart")[1]
        assert list(ShadowExample.objects.order_by("pk").values_list("is_first", "version")) == [(True, 2), (False, 3)]

    def test_other_variables_are_listed_once_and_followed_on(self, scene: Scene) -> None:
        scene.publish(chain("order", script("sum", "total", "1"), user("check"), user("ship")))
        try_out(chain("order", script("sum", "total", "2"), user("check"), user("ship")))
        head = scene.complete(scene.complete(scene.start("order"), "check"), "ship")
        assert head.status == "completed"
        shadow = follow()
        assert differences() == [("variables", "total", 1)]
        assert (sides("variables"), shadow.steps, shadow.equal, shadow.different) == (("1", "2"), 3, 0, 1)

    def test_other_effects(self, scene: Scene) -> None:
        scene.publish(chain("order", service("told", "alert", title="'Old'"), user("check")))
        try_out(chain("order", service("told", "alert", title="'New'"), user("check")))
        scene.start("order")
        follow()
        assert differences() == [("effects", "told", 1)]
        assert ("Old" in sides("effects")[0], "New" in sides("effects")[1]) == (True, True)

    def test_other_work_at_the_same_task(self, scene: Scene) -> None:
        scene.publish(chain("order", service("work", "external", topic="old")))
        try_out(chain("order", service("work", "external", topic="new")))
        scene.start("order")
        follow()
        assert differences() == [("work", "work", 1)]

    @pytest.mark.parametrize("other", [timer("wait", "PT2H"), message("wait")])
    def test_waits_for_something_else(self, scene: Scene, other: tuple[str, str]) -> None:
        scene.publish(chain("order", timer("wait", "PT1H")))
        try_out(chain("order", other, before=named("paid")))
        scene.start("order")
        follow()
        assert [(kind, place) for kind, place, _ in differences()] == [("waits", "wait")]

    def test_another_status(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(chain("order", user("check")))
        scene.complete(scene.start("order"))
        follow()
        assert differences() == [("path", "ship", 1), ("status", "", 1)]
        assert sides("status") == ('"active"', '"completed"')

    def test_an_incident_of_one_alone(self, scene: Scene) -> None:
        broken = chain("order", user("check"), script("sum", "total", "missing + 1"), user("ship"))
        mended = chain("order", user("check"), script("sum", "total", "1"), user("ship"))
        scene.publish(mended)
        try_out(broken)
        scene.complete(scene.start("order"))
        follow()
        assert differences() == [("incident", "sum", 1)]
        assert (sides("incident")[0], "missing" in sides("incident")[1]) == ("null", True)

    def test_an_incident_of_the_live_one_alone(self, scene: Scene) -> None:
        broken = chain("order", user("check"), script("sum", "total", "missing + 1"), user("ship"))
        mended = chain("order", user("check"), script("sum", "total", "1"), user("ship"))
        scene.publish(broken)
        try_out(mended)
        scene.complete(scene.start("order"))
        follow()
        assert differences() == [("incident", "sum", 1)]
        assert sides("incident")[1] == "null"

    def test_a_shadow_that_raises_ends_its_twin_alone(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.publish(ORDER)
        try_out(ORDER)
        head = scene.start("order")
        follow()

        def fail(*_: object) -> None:
            raise ZeroDivisionError("by a fault")

        monkeypatch.setattr(twins, "run_engine", fail)
        head = scene.complete(head, "check")
        assert (follow().different, differences()) == (1, [("error", "check", 1)])
        assert "ZeroDivisionError" in sides("error")[1]
        assert scene.complete(head, "ship").status == "completed"
        assert (follow().following, ShadowInput.objects.count()) == (0, 0)


class TestWithholding:
    def test_nothing_of_a_twin_is_there_or_leaves(self, scene: Scene) -> None:
        """The shadow opens tasks, offers work, waits, throws, alerts and sends; none of it can be found."""
        scene.publish(chain("order", user("check"), user("ship")))
        loud = [
            service("told", "alert", title='"Door"'),
            service("hook", "webhook", client="1"),
            service("letter", "message", to='"phone"', payload="1"),
            service("event", "event", type='"custom.done"'),
            signal("calls", throws=True),
            sending("sends"),
            service("work", "external", topic="t"),
        ]
        loud_task = '<userTask id="check"><extensionElements/></userTask>'
        try_out(
            chain("order", ("check", loud_task), *loud, before=named("paid") + signalled("alarm")).replace(
                b'<userTask id="check">', b'<userTask id="check" postern:assignee="anna">'
            )
        )
        head = scene.start("order")
        before = self.count_rows()
        follow()
        assert self.count_rows() == before
        scene.complete(head, "check")
        before = self.count_rows()
        follow()
        assert self.count_rows() == before
        assert {"path", "effects"} <= {kind for kind, _, _ in differences()}
        withheld = ShadowExample.objects.filter(difference__kind="effects").values_list("difference__place", flat=True)
        assert set(withheld) == {"told", "hook", "letter", "event", "calls", "sends"}

    def test_a_waiting_twin_has_neither_timer_nor_subscription(self, scene: Scene) -> None:
        scene.publish(chain("order", user("check")))
        try_out(chain("order", timer("wait", "PT0S"), message("paid"), before=named("paid")))
        scene.start("order")
        before = self.count_rows()
        follow()
        assert (self.count_rows(), follow().following) == (before, 1)

    def count_rows(self) -> list[int]:
        """Count everything through which something could leave."""
        models: tuple[Any, ...] = (
            *(WorkItem, WorkflowEffect, WorkflowTimer, WorkflowSubscription, WorkflowIncident, WorkflowVersion),
            *(Event, Delivery, Alert),
        )
        return [model._default_manager.count() for model in models]
