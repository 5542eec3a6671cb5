"""What a shadow hears, once and in order, whoever dies or comes twice; and within which bounds."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once
from processes.workflows.models import (
    ShadowDifference,
    ShadowExample,
    ShadowInput,
    ShadowTwin,
    WorkflowShadow,
)
from processes.workflows.services.commands import execute_command, run_engine
from processes.workflows.services.events.follower import FOLLOWING
from processes.workflows.services.events.receive import receive_event
from processes.workflows.services.returns import return_instance
from processes.workflows.services.shadow import follow as follow_module
from processes.workflows.services.shadow import twins
from processes.workflows.services.shadow.follow import follow_inputs, follow_shadows
from processes.workflows.services.start import StartRequest, start_instance
from processes.workflows.services.steps import CommandRequest
from tests.processes.workflows.process_files import (
    chain,
    flow,
    message,
    named,
    process,
    script,
    started_by,
    user,
)
from tests.processes.workflows.scene import ACTOR, Scene
from tests.processes.workflows.services.shadow.trial import differences, follow, sides, try_out

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

InThreads = Callable[[Callable[[int], Any], int], list[Any]]
ORDER = chain("order", user("check"), user("ship"))


class TestFollowing:
    def test_hears_instances_that_events_start_and_reach(self, scene: Scene) -> None:
        names = named("custom.new") + named("custom.paid", "m2")
        source = chain("order", message("paid", ref="m2"), before=names, start=started_by())
        scene.publish(source)
        try_out(source)
        for name in ("custom.new", "custom.paid"):
            receive_event(source="test", type=name, record="7", payload={"a": 1}, at=timezone.now())
            while stamp_once() or relay_once(FOLLOWING):
                pass
        shadow = follow()
        assert (shadow.equal, shadow.steps, differences()) == (1, 2, [])

    def test_a_start_that_the_engine_was_not_asked_for_is_not_heard(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(ORDER)
        head = start_instance(StartRequest("order", refusal="Too many."), actor=ACTOR, at=timezone.now())
        scene.complete(scene.command(head, "retry_incident"), "check")
        assert (follow().steps, differences()) == (0, [])

    def test_an_event_that_the_engine_was_not_asked_for_is_not_heard(self, scene: Scene) -> None:
        waits = message("paid", attributes='postern:condition="missing &gt; 1"')
        source = chain("order", waits, before=named("custom.paid"))
        scene.publish(source)
        try_out(source)
        head = scene.start("order", record="7")
        receive_event(source="test", type="custom.paid", record="7", payload={}, at=timezone.now())
        while stamp_once() or relay_once(FOLLOWING):
            pass
        shadow = follow()
        assert (scene.head(head).status, shadow.steps, differences()) == ("incident", 1, [])

    def test_instances_from_before_are_not_followed(self, scene: Scene) -> None:
        head = scene.begin(ORDER)
        try_out(ORDER)
        scene.complete(head, "check")
        shadow = follow()
        assert (shadow.steps, shadow.following, ShadowInput.objects.count()) == (0, 0, 0)

    def test_what_died_before_its_commit_is_done_once(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.publish(ORDER)
        try_out(chain("order", script("sum", "total", "1"), user("check"), user("ship")))
        scene.complete(scene.start("order"), "check")
        write = follow_module._write_differences
        with monkeypatch.context() as patch:

            def die(*values: Any) -> None:
                write(*values)
                raise OperationalError("killed")

            patch.setattr(follow_module, "_write_differences", die)
            with pytest.raises(OperationalError):
                follow_shadows()
        assert (ShadowInput.objects.count(), ShadowTwin.objects.count()) == (2, 0)
        assert (follow().steps, ShadowTwin.objects.get().version) == (2, 2)
        assert [count for _, _, count in differences()] == [1, 1]

    def test_inputs_that_another_follower_has_done_are_not_done_again(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(chain("order", script("sum", "total", "1"), user("check"), user("ship")))
        head = scene.start("order")
        rows = list(ShadowInput.objects.all())
        follow()
        follow_inputs(rows[0].shadow, head.id, rows)
        shadow = WorkflowShadow.objects.get()
        assert (shadow.steps, shadow.following, shadow.incomplete, differences()[0][2]) == (1, 1, 0, 1)

    def test_a_return_ends_the_twin_without_a_difference(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(ORDER)
        head = scene.complete(scene.start("order"), "check")
        return_instance(head.id, version=1, reason="again", actor=ACTOR, at=timezone.now())
        scene.complete(head, "check")
        shadow = follow()
        assert (shadow.incomplete, shadow.following, differences()) == (1, 0, [])

    def test_a_gap_ends_the_twin_without_a_difference(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(ORDER)
        head = scene.start("order")
        WorkflowShadow.objects.update(hears_until=timezone.now() - timedelta(seconds=1))
        scene.complete(head, "check")
        follow()  # which lets it hear again
        scene.complete(head, "ship")
        shadow = follow()
        assert (shadow.steps, shadow.incomplete, shadow.equal, differences()) == (1, 1, 0, [])

    def test_what_cannot_be_written_does_not_hold_up_the_rest(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scene.publish(ORDER)
        try_out(ORDER)
        bad, good = scene.start("order"), scene.start("order")
        write = follow_module._write_twin

        def fail(shadow: Any, instance_id: Any, *more: Any) -> None:
            if instance_id == bad.id and more[1].end is None:
                raise ValueError("poisoned")
            write(shadow, instance_id, *more)

        monkeypatch.setattr(follow_module, "_write_twin", fail)
        shadow = follow()
        assert (ShadowTwin.objects.get().instance, shadow.incomplete, shadow.following) == (good.id, 1, 1)

    def test_other_instances_never_wait_for_the_engine(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        """The engine of a twin runs outside of a transaction: on SQLite nobody else could write meanwhile."""
        scene.publish(ORDER)
        try_out(ORDER)
        scene.start("order")
        depths: list[int] = []

        def look(*values: Any) -> Any:
            depths.append(len(connection.savepoint_ids))
            return run_engine(*values)

        monkeypatch.setattr(twins, "run_engine", look)
        before = len(connection.savepoint_ids)
        follow()
        assert depths == [before]


class TestBounds:
    def test_a_turn_takes_no_more_than_its_time(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.publish(ORDER)
        try_out(ORDER)
        for _ in range(3):
            scene.start("order")
        monkeypatch.setattr(follow_module, "CPU_SECONDS", -1.0)
        assert (follow_shadows(), ShadowTwin.objects.count()) == (True, 1)

    def test_beyond_so_many_twins_an_idle_one_gives_way(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(follow_module, "MOST_TWINS", 2)
        scene.publish(ORDER)
        try_out(ORDER)
        first, second, _third = (scene.start("order") for _ in range(3))
        shadow = follow()
        assert (shadow.following, shadow.left_out) == (2, 1)
        ShadowTwin.objects.filter(instance=first.id).update(heard_at=timezone.now() - timedelta(hours=2))
        fourth = scene.start("order")
        shadow = follow()
        assert (shadow.following, shadow.left_out, shadow.incomplete) == (2, 1, 1)
        assert set(ShadowTwin.objects.values_list("instance", flat=True)) == {second.id, fourth.id}

    def test_examples_and_places_are_few(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(follow_module, "MOST_EXAMPLES", 2)
        monkeypatch.setattr(follow_module, "MOST_PLACES", 2)
        scene.publish(ORDER)
        scripts = [script(f"set_{name}", name, "1") for name in "abc"]
        try_out(chain("order", *scripts, user("check"), user("ship")))
        for _ in range(3):
            scene.start("order")
        follow()
        assert differences() == [("path", "set_a", 3), ("variables", "", 6), ("variables", "a", 3)]
        assert ShadowExample.objects.count() == 2 + 2 + 2

    def test_a_state_that_grows_too_large_is_not_followed(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(twins, "LARGEST_STATE", 1000)
        scene.publish(ORDER)
        try_out(ORDER)
        head = scene.start("order")
        scene.command(head, "set_variables", variables={"large": "x" * 1000})
        shadow = follow()
        assert (shadow.incomplete, shadow.following) == (1, 0)

    def test_a_twin_fires_so_many_timers_of_its_own_before_an_input(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(twins, "MOST_FIRED", 2)
        scene.publish(chain("order", user("check")))
        ticking = (
            '<startEvent id="begin"/><boundaryEvent id="tick" attachedToRef="check" cancelActivity="false">'
            "<timerEventDefinition><timeCycle>R/PT1M</timeCycle></timerEventDefinition></boundaryEvent>"
        )
        count = script("count", "ticks", "(ticks if ticks else 0) + 1")[1]
        ways = (flow("begin", "check"), flow("tick", "count"))
        try_out(process("order", ticking, user("check")[1], count, *ways))
        head = scene.start("order")
        command = {"command": "set_variables", "variables": {"a": 1}}
        execute_command(head.id, CommandRequest(command, actor=ACTOR, at=timezone.now() + timedelta(minutes=10)))
        follow()
        assert '"ticks":2' in ShadowTwin.objects.get().state

    def test_a_twin_that_differs_in_too_much_is_not_followed(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(twins, "MOST_REPORTED", 2)
        scene.publish(ORDER)
        try_out(chain("order", script("sum", "total", "1"), user("check"), user("ship")))
        scene.start("order")
        assert (follow().following, len(differences())) == (0, 2)

    def test_a_long_value_is_cut(self, scene: Scene) -> None:
        scene.publish(chain("order", user("check")))
        try_out(chain("order", user("check"), script("copy", "twice", "text + text")))
        scene.complete(scene.start("order", text="x" * 2000))
        follow()
        assert len(sides("variables")[1]) == follow_module.LONGEST_SIDE + 1

    def test_one_that_is_too_far_behind_goes_deaf(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.publish(ORDER)
        try_out(ORDER)
        scene.start("order")
        WorkflowShadow.objects.update(hears_until=timezone.now())
        monkeypatch.setattr(follow_module, "MOST_WAITING", 0)
        monkeypatch.setattr(follow_module, "CPU_SECONDS", -1.0)
        follow_shadows()
        assert WorkflowShadow.objects.get().hears_until is None
        scene.start("order")
        assert not ShadowInput.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_of_followers_at_once_each_input_is_counted_by_one(self, scene: Scene, in_threads: InThreads) -> None:
        scene.publish(ORDER)
        try_out(chain("order", script("sum", "total", "1"), user("check"), user("ship")))
        for _ in range(4):
            scene.complete(scene.start("order"), "check")

        def run(_number: int) -> None:
            for _attempt in range(20):
                try:
                    while follow_shadows():
                        pass
                    return
                except OperationalError:
                    continue

        in_threads(run, 3)
        shadow = follow()
        assert (shadow.steps, shadow.following, shadow.different) == (8, 4, 4)
        assert {count for _, _, count in differences()} == {4}
        assert ShadowDifference.objects.count() == 2
