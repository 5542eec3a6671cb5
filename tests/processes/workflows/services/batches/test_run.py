"""Whoever dies has committed whole slices; each instance is changed once, and undone unless it has gone on."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from config.common.database.batches import write_with_retries
from processes.workflows import selectors
from processes.workflows.engine.runner import CommandOutcome
from processes.workflows.errors import NotPossible
from processes.workflows.heads import Head
from processes.workflows.models import (
    BatchItem,
    WorkflowBatch,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.selectors import OutcomeGroup, list_outcomes
from processes.workflows.services.batches import commands, retries, run
from processes.workflows.services.batches.create import carry_out, get_batch, stop_batch, undo_batch
from processes.workflows.services.batches.run import run_due_batches
from processes.workflows.services.commands import run_engine
from processes.workflows.services.steps import CommandRequest, Step
from processes.workflows.services.write_step import write_steps
from tests.processes.workflows.process_files import chain, script, service, user
from tests.processes.workflows.scene import ACTOR, Scene
from tests.processes.workflows.services.batches.steps import do, finish, make, make_due, outcomes

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

TASK = chain("task", user("a"))
FAILING = chain("sums", user("check"), script("divide", "share", "10 / parts"))


def begin_many(scene: Scene, count: int) -> list[Head]:
    scene.publish(TASK)
    return [scene.start("task") for _ in range(count)]


def stuck(scene: Scene, **variables: Any) -> Head:
    """An instance whose script has failed."""
    scene.publish(FAILING)
    return scene.complete(scene.start("sums", parts=0), **variables)


class TestDryRun:
    @pytest.mark.parametrize(
        ("operation", "parameters"),
        [
            ("terminate", {}),
            ("suspend", {}),
            ("resume", {}),
            ("set_variables", {"variables": {"parts": 5}}),
            ("migrate", {"revision": 2}),
            ("retry", {}),
        ],
    )
    def test_says_what_the_run_then_does(self, scene: Scene, operation: str, parameters: dict[str, Any]) -> None:
        ended, waiting, suspended = begin_many(scene, 3)
        scene.command(ended, "terminate")
        scene.command(suspended, "suspend")
        failed = stuck(scene)
        repaired = stuck(scene)
        scene.command(repaired, "set_variables", variables={"parts": 2})
        scene.publish(chain("task", user("a"), user("b")))
        everyone = (ended, waiting, suspended, failed, repaired)
        before = list(WorkflowVersion.objects.order_by("pk").values_list("pk", flat=True))
        tried = do(operation, *everyone, dry_run=True, **parameters)
        assert tried.status == "checked"
        assert list(WorkflowVersion.objects.order_by("pk").values_list("pk", flat=True)) == before
        promised = {key: (status.replace("possible", "changed"), why) for key, (status, why) in outcomes(tried).items()}
        assert {status for status, _ in promised.values()} == {"changed", "refused"}
        done = finish(carry_out(tried.pk, actor=ACTOR))
        assert (done.status, done.changed, done.refused) == ("done", tried.changed, tried.refused)
        assert outcomes(done) == promised

    def test_groups_what_would_be_refused_with_examples(self, scene: Scene) -> None:
        heads = begin_many(scene, 3)
        for head in heads[:2]:
            scene.command(head, "suspend")
        batch = do("resume", *heads, dry_run=True)
        assert list_outcomes(batch.pk) == [
            OutcomeGroup("possible", "", 2, sorted(head.id for head in heads[:2])),
            OutcomeGroup("refused", "The instance is not suspended.", 1, [heads[2].id]),
        ]

    def test_so_many_different_outcomes_are_shown(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        heads = begin_many(scene, 2)
        scene.command(heads[0], "suspend")
        monkeypatch.setattr(selectors, "MOST_OUTCOMES", 1)
        assert len(list_outcomes(do("resume", *heads, dry_run=True).pk)) == 1

    def test_is_carried_out_once(self, scene: Scene) -> None:
        batch = do("terminate", *begin_many(scene, 1), dry_run=True)
        carry_out(batch.pk, actor=ACTOR)
        with pytest.raises(NotPossible):
            carry_out(batch.pk, actor=ACTOR)


class TestRetry:
    def test_repeats_what_failed_and_closes_the_incidents(self, scene: Scene) -> None:
        good, bad = stuck(scene), stuck(scene)
        scene.command(good, "set_variables", variables={"parts": 2})
        batch = do("retry", good, bad, note="looked at")
        assert outcomes(batch) == {
            good.id: ("changed", ""),
            bad.id: ("refused", WorkflowIncident.objects.get(instance=bad.id).reason),
        }
        assert WorkflowIncident.objects.get(instance=good.id).note == "looked at"
        assert WorkflowIncident.objects.get(instance=bad.id).times == 2

    def test_offers_failed_work_again_which_has_no_version_to_return_from(self, scene: Scene) -> None:
        head = failed_work(scene)
        batch = do("retry", head)
        assert batch.changed == 1
        assert WorkItem.objects.get().due_at is not None
        undone = finish(undo_batch(batch.pk, reason="", actor=ACTOR))
        assert (undone.undone, undone.kept) == (0, 1)

    def test_so_many_incidents_of_an_instance_are_retried(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retries, "MOST_RETRIED", 1)
        head = failed_work(scene, times=2)
        assert do("retry", head).changed == 1
        assert WorkflowIncident.objects.filter(status="open").count() == 1

    def test_of_a_suspended_instance_waits_for_its_resume(self, scene: Scene) -> None:
        head = stuck(scene)
        scene.command(head, "suspend")
        assert outcomes(do("retry", head)) == {head.id: ("refused", "The instance is suspended.")}


def failed_work(scene: Scene, times: int = 1) -> Head:
    """An instance whose external task has failed for good."""
    head = scene.begin(chain("work", service("s", "external", "stock", x="1")))
    item = WorkItem.objects.get()
    WorkItem.objects.update(due_at=None, retries=0)
    for number in range(times):
        WorkflowIncident.objects.create(
            instance_id=head.id,
            about=f"task:{item.local}:{number}",
            command={"command": "retry_task", "task": item.local},
            reason="worker gone",
            opened_at=item.since,
        )
    WorkflowInstance.objects.update(open_incidents=times, status="incident")
    return head


class TestUndo:
    def test_returns_what_nobody_has_changed_since_and_says_what_it_left(self, scene: Scene) -> None:
        quiet, busy, ended = begin_many(scene, 3)
        scene.command(ended, "terminate")
        batch = do("set_variables", quiet, busy, ended, variables={"amount": 7})
        scene.complete(busy)
        undone = finish(undo_batch(batch.pk, reason="too early", actor="boss"))
        assert (undone.status, undone.undone, undone.kept) == ("undone", 1, 1)
        assert outcomes(undone) == {
            quiet.id: ("undone", ""),
            busy.id: ("kept", "The instance has gone on since."),
            ended.id: ("refused", "The instance is terminated."),
        }
        assert scene.chain(quiet)[-1] == (3, 1, "return to 1: too early")
        assert scene.items(quiet)[-1] == ("a", "open")
        with pytest.raises(NotPossible):
            undo_batch(batch.pk, reason="", actor=ACTOR)

    def test_brings_terminated_instances_back(self, scene: Scene) -> None:
        heads = begin_many(scene, 3)
        batch = do("terminate", *heads)
        finish(undo_batch(batch.pk, reason="", actor=ACTOR))
        assert {scene.head(head).status for head in heads} == {"active"}

    def test_of_nothing_is_refused(self, scene: Scene) -> None:
        (head,) = begin_many(scene, 1)
        scene.command(head, "terminate")
        with pytest.raises(NotPossible):
            undo_batch(do("terminate", head).pk, reason="", actor=ACTOR)

    def test_a_dry_run_cannot_be_undone(self, scene: Scene) -> None:
        batch = do("terminate", *begin_many(scene, 1), dry_run=True)
        with pytest.raises(NotPossible):
            undo_batch(batch.pk, reason="", actor=ACTOR)


class TestStop:
    @pytest.fixture
    def stopped(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> WorkflowBatch:
        """A batch over three instances that was stopped after the first, by somebody who did not wait for a slice."""
        batch = make("terminate", *begin_many(scene, 3))

        def write_and_stop(write: Callable[[], Any]) -> Any:
            written = write_with_retries(write)
            stop_batch(batch.pk, actor="boss")
            return written

        with monkeypatch.context() as patch:
            patch.setattr(run, "SLICE", 1)
            patch.setattr(run, "write_with_retries", write_and_stop)
            run_due_batches()
        return get_batch(batch.pk)

    def test_leaves_the_others_alone(self, stopped: WorkflowBatch) -> None:
        assert (stopped.status, stopped.changed, stopped.left, stopped.stopped_by) == ("stopped", 1, 2, "boss")
        assert finish(stopped).changed == 1
        assert WorkflowVersion.objects.filter(cause="terminate").count() == 1

    def test_is_continued_with_the_others(self, stopped: WorkflowBatch) -> None:
        done = finish(carry_out(stopped.pk, actor=ACTOR))
        assert (done.status, done.changed, done.stopped_by) == ("done", 3, "")
        assert WorkflowVersion.objects.filter(cause="terminate").count() == 3

    def test_is_undone_where_it_has_changed_something(self, stopped: WorkflowBatch) -> None:
        undone = finish(undo_batch(stopped.pk, reason="", actor=ACTOR))
        assert (undone.status, undone.undone, undone.left) == ("undone", 1, 2)
        assert set(WorkflowInstance.objects.values_list("status", flat=True)) == {"active"}

    def test_only_what_changes_something_is_stopped(self, scene: Scene) -> None:
        (head,) = begin_many(scene, 1)
        for batch in (make("terminate", head, dry_run=True), do("terminate", head)):
            with pytest.raises(NotPossible):
                stop_batch(batch.pk, actor=ACTOR)


class TestFaults:
    def test_one_that_fails_unexpectedly_stops_no_other(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        heads = begin_many(scene, 4)

        def run_or_fail(head: Head, request: CommandRequest) -> CommandOutcome:
            if head.id == heads[2].id:
                raise RuntimeError("a defect")
            return run_engine(head, request)

        monkeypatch.setattr(commands, "run_engine", run_or_fail)
        batch = do("terminate", *heads)
        assert (batch.status, batch.changed, batch.refused) == ("done", 3, 1)
        assert outcomes(batch)[heads[2].id] == ("refused", "It failed unexpectedly; the log says more.")

    def test_a_slice_that_was_written_and_is_repeated_changes_nothing(self, scene: Scene) -> None:
        batch = make("terminate", *begin_many(scene, 2))
        items = list(BatchItem.objects.filter(batch=batch))
        run._run_slice(batch, items)
        run._run_slice(batch, items)  # as after a commit whose answer was lost
        assert {status for status, _ in outcomes(batch).values()} == {"changed"}
        assert WorkflowBatch.objects.get().changed == 2

    def test_another_has_its_turn_in_between(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        heads = begin_many(scene, 4)
        monkeypatch.setattr(run, "SLICE", 1)
        monkeypatch.setattr(run, "TURN", timedelta(0))
        make("suspend", *heads[:2])
        make("suspend", *heads[2:])
        for _ in range(2):
            run_due_batches()
        assert set(WorkflowBatch.objects.values_list("changed", flat=True)) == {1}


@pytest.mark.django_db(transaction=True)
class TestTransactions:
    def test_whoever_is_killed_is_followed_by_another(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        heads = begin_many(scene, 5)
        batch = make("terminate", *heads)
        calls: list[int] = []

        def die_later(steps: Sequence[Step]) -> list[str | None]:
            calls.append(len(steps))
            statuses = write_steps(steps)
            if len(calls) == 2:
                raise SystemExit  # not an error of anybody: the process ends
            return statuses

        monkeypatch.setattr(run, "SLICE", 2)
        monkeypatch.setattr(commands, "write_steps", die_later)
        with pytest.raises(SystemExit):
            run_due_batches()
        assert WorkflowInstance.objects.filter(status="terminated").count() == 2
        assert WorkflowBatch.objects.get().changed == 2
        run_due_batches()  # under the lease nobody takes it
        assert WorkflowBatch.objects.get().changed == 2
        make_due(batch)
        assert finish(batch).changed == 5
        assert WorkflowVersion.objects.filter(cause="terminate").count() == 5

    def test_whoever_was_overtaken_writes_nothing(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        batch = make("terminate", *begin_many(scene, 2))

        def be_overtaken(steps: Sequence[Step]) -> list[str | None]:
            statuses = write_steps(steps)
            WorkflowBatch.objects.update(fence=F("fence") + 1)
            return statuses

        with monkeypatch.context() as patch:
            patch.setattr(commands, "write_steps", be_overtaken)
            run_due_batches()
        assert not WorkflowVersion.objects.filter(cause="terminate").exists()
        assert {status for status, _ in outcomes(batch).values()} == {"waiting"}
        make_due(batch)
        assert finish(batch).changed == 2

    def test_two_batches_over_the_same_instances_change_each_once(
        self,
        scene: Scene,
        in_threads: Callable[[Callable[[int], Any], int], list[Any]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(run, "SLICE", 3)
        heads = begin_many(scene, 10)
        batches = [make("terminate", *heads) for _ in range(2)]

        def work(number: int) -> None:
            finish(batches[number % 2])

        in_threads(work, 4)
        assert sorted(finish(batch).changed + finish(batch).refused for batch in batches) == [10, 10]
        assert sum(finish(batch).changed for batch in batches) == 10
        versions = WorkflowVersion.objects.filter(cause="terminate")
        assert sorted(versions.values_list("instance", flat=True)) == sorted(head.id for head in heads)
