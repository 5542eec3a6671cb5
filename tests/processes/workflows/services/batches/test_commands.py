"""Many instances are commanded as one by one: the same versions, rows and incidents, by fewer trips."""

from typing import Any
from xml.sax.saxutils import escape

import pytest

from notifications.models import Alert
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.runner import CommandOutcome
from processes.workflows.engine.state_queries import get_variables
from processes.workflows.heads import Head, get_head
from processes.workflows.models import (
    PostponedEvent,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.services.batches import commands
from processes.workflows.services.commands import run_engine
from processes.workflows.services.steps import CommandRequest
from tests.processes.workflows.case_files import case, human, stage
from tests.processes.workflows.process_files import chain, message, named, script, service, timer, user
from tests.processes.workflows.scene import Scene
from tests.processes.workflows.services.batches.steps import do, finish, make, outcomes

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

SOURCES = {
    "task": chain("task", user("a")),
    "timer": chain("timer", timer("t", "PT1H")),
    "message": chain("message", message("m"), before=named("custom.x")),
    "work": chain("work", service("s", "external", "stock", x="1")),
    "case": case(human("A"), stage("S", human("B"), auto=True), key="case").encode(),
}
FAILING = chain("failing", user("a"), script("s", "y", "1 / 0"))
UNSTARTED = chain("unstarted", script("s", "y", "1 / 0"))


def condition(name: str, expression: str) -> tuple[str, str]:
    """An event that is caught when the condition holds."""
    inner = f"<conditionalEventDefinition><condition>{escape(expression)}</condition></conditionalEventDefinition>"
    return name, f'<intermediateCatchEvent id="{name}">{inner}</intermediateCatchEvent>'


def end(*heads: Head) -> tuple[int, int]:
    """Terminate instances by a batch; return how many were, and how many were refused."""
    batch = do("terminate", *heads)
    return batch.changed, batch.refused


def rows_of(head: Head) -> dict[str, Any]:
    """What a terminated instance leaves, apart from ids and times."""
    version = WorkflowVersion.objects.filter(instance=head.id).order_by("-number").values(
        "number", "parent", "cause", "actor", "status", "taken_key", "bodies"
    )[0]  # fmt: skip
    instance = WorkflowInstance.objects.get(pk=head.id)
    items = WorkItem.objects.filter(instance=head.id).order_by("pk")
    return {
        "version": version,
        "state": {**(get_head(head.id).state or {}), "scopes": None, "items": None},
        "instance": (instance.status, instance.head, instance.open_incidents, instance.ended_at is not None),
        "items": list(items.values_list("element", "status", "closed_by", "due_at", "fence")),
        "timers": WorkflowTimer.objects.filter(instance=head.id).count(),
        "subscriptions": WorkflowSubscription.objects.filter(instance=head.id).count(),
        "incidents": list(WorkflowIncident.objects.filter(instance=head.id).values_list("about", "status", "actor")),
    }


class TestTerminate:
    @pytest.mark.parametrize("kind", SOURCES)
    def test_leaves_what_one_by_one_leaves(self, scene: Scene, kind: str) -> None:
        alone = scene.begin(SOURCES[kind], big="x" * 5000)
        pair = [scene.start(kind, big="x" * 5000) for _ in range(2)]
        scene.command(alone, "terminate")
        assert end(*pair) == (2, 0)
        assert [rows_of(head) for head in pair] == [rows_of(alone)] * 2

    @pytest.mark.parametrize("source", [FAILING, UNSTARTED], ids=["at a task", "at the start"])
    def test_closes_incidents_and_their_alerts(self, scene: Scene, source: bytes) -> None:
        heads = [scene.begin(source) for _ in range(2)]
        for head in heads if source is FAILING else ():
            scene.complete(head)
        assert Alert.objects.filter(status=Alert.Status.OPEN).count() == 2
        scene.command(heads[0], "terminate")
        assert end(heads[1]) == (1, 0)
        assert rows_of(heads[1]) == rows_of(heads[0])
        assert not Alert.objects.filter(status=Alert.Status.OPEN).exists()

    def test_ends_what_is_suspended_and_lets_go_of_what_came_meanwhile(self, scene: Scene) -> None:
        head = scene.begin(SOURCES["message"])
        scene.command(head, "suspend")
        PostponedEvent.objects.create(instance_id=head.id, taken_key="1:x", command={}, position=1, due_at=None)
        assert end(head) == (1, 0)
        assert PostponedEvent.objects.get().due_at is not None

    def test_leaves_out_what_has_ended_or_is_not_there(self, scene: Scene) -> None:
        done, open_one, gone = scene.begin(SOURCES["task"]), scene.start("task"), scene.start("task")
        scene.complete(done)
        ended = rows_of(done)
        batch = make("terminate", done, open_one, gone)
        WorkflowInstance.objects.filter(pk=gone.id).delete()
        assert (finish(batch).changed, finish(batch).refused) == (1, 2)
        assert outcomes(batch)[done.id] == ("refused", "The instance is completed.")
        assert outcomes(batch)[gone.id] == ("refused", "The instance no longer exists.")
        assert (rows_of(done), rows_of(open_one)["instance"][0]) == (ended, "terminated")
        assert end(open_one) == (0, 1)
        assert end() == (0, 0)

    def test_one_that_fails_has_an_incident_and_stops_no_other(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scene.publish(SOURCES["task"])
        bad, good = scene.start("task"), scene.start("task")

        def run_or_fail(head: Head, request: CommandRequest) -> CommandOutcome:
            if head.id == bad.id:
                raise CommandFailed("a", "There is no definition gone.")
            return run_engine(head, request)

        monkeypatch.setattr(commands, "run_engine", run_or_fail)
        assert end(bad, good) == (1, 1)
        assert (scene.head(bad).status, scene.head(good).status) == ("incident", "terminated")
        assert WorkflowIncident.objects.get().reason == "There is no definition gone."

    def test_comes_to_the_end_however_little_one_transaction_may_take(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(commands, "LONGEST_PLAN", -1)
        scene.publish(SOURCES["task"])
        heads = [scene.start("task") for _ in range(5)]
        assert end(*heads) == (5, 0)

    def test_an_instance_can_be_returned_afterwards(self, scene: Scene) -> None:
        head = scene.begin(SOURCES["task"])
        end(head)
        assert [cause for _, _, cause in scene.chain(head)] == ["start", "terminate"]


class TestOtherCommands:
    def test_suspends_and_resumes_with_the_work_that_waits(self, scene: Scene) -> None:
        pair = [scene.begin(SOURCES["work"]), scene.start("work")]
        assert do("suspend", *pair).changed == 2
        assert set(WorkItem.objects.values_list("due_at", flat=True)) == {None}
        assert [status for status, _ in outcomes(do("suspend", *pair)).values()] == ["refused"] * 2
        assert do("resume", *pair).changed == 2
        assert None not in set(WorkItem.objects.values_list("due_at", flat=True))
        assert [cause for _, _, cause in scene.chain(pair[0])] == ["start", "suspend", "resume"]

    def test_sets_variables_and_checks_the_conditions_that_wait_for_them(self, scene: Scene) -> None:
        pair = [scene.begin(SOURCES["task"], amount=1), scene.start("task", amount=2)]
        assert do("set_variables", *pair, variables={"amount": 7, "note": "x"}).changed == 2
        for head in pair:
            assert get_variables(scene.head(head).state or {}) == {"amount": 7, "note": "x"}

    def test_moves_to_a_revision_and_says_what_has_no_counterpart(self, scene: Scene) -> None:
        order, other = scene.begin(chain("order", user("a"))), scene.begin(SOURCES["task"])
        scene.publish(chain("order", user("b")))
        batch = do("migrate", order, other, revision=2)
        assert outcomes(batch)[other.id] == (
            "refused",
            "The definition has no revision of this number that can be run.",
        )
        assert outcomes(batch)[order.id][1].startswith("The revision has no counterpart for")
        assert do("migrate", order, revision=2, elements={"a": "b"}).changed == 1
        assert (scene.head(order).revision, scene.waits_at(order)) == (2, ["b"])
        assert scene.items(order) == [("b", "open")]

    def test_a_command_that_fails_leaves_an_incident_and_a_dry_run_none(self, scene: Scene) -> None:
        head = scene.begin(chain("failing", condition("c", "x > 0"), script("s", "y", "1 / 0")), x=0)
        wanted: dict[str, Any] = {"variables": {"x": 1}}
        (tried,) = outcomes(do("set_variables", head, dry_run=True, **wanted)).values()
        assert not WorkflowIncident.objects.exists()
        (done,) = outcomes(do("set_variables", head, **wanted)).values()
        assert tried == done
        assert done[0] == "refused"
        assert WorkflowIncident.objects.get().reason == done[1]
