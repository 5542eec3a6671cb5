from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from processes.workflows import errors
from processes.workflows.heads import Head, clear_head_cache
from processes.workflows.ids import public_id
from processes.workflows.models import WorkflowIncident, WorkItem
from processes.workflows.presentation import present_fetched
from processes.workflows.services import work_items
from processes.workflows.services.work_items import (
    FetchedTask,
    complete_external_task,
    extend_lock,
    fail_external_task,
    fetch_external_tasks,
)
from tests.processes.workflows.process_files import chain, service, user
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

STOCK = chain("p", service("s", "external", "stock", amount="x * 2"), user("a"))
MINUTE = timedelta(minutes=1)


def fetch(worker: str = "w", limit: int = 10) -> list[FetchedTask]:
    return fetch_external_tasks(topic="stock", worker=worker, limit=limit, lock=MINUTE)


def complete(task: FetchedTask, worker: str = "w", **variables: object) -> Head:
    public_id = task.item.public_id
    return complete_external_task(task=public_id, worker=worker, variables=variables, actor=ACTOR, at=timezone.now())


def fail(task: FetchedTask, retries: int, delay: int = 0) -> None:
    wait = timedelta(seconds=delay)
    fail_external_task(
        task=task.item.public_id, worker="w", error="out of stock", retries=retries, delay=wait, at=timezone.now()
    )


class TestFetchExternalTasks:
    def test_gives_the_inputs_of_the_task(self, scene: Scene) -> None:
        head = scene.begin(STOCK, record="r1", x=4)
        shown = present_fetched(fetch()[0])
        assert (shown["variables"], shown["instance"], shown["record"]) == ({"amount": 8}, str(head.id), "r1")
        assert (shown["id"], shown["worker"]) == (scene.task(head), "w")

    def test_a_task_without_inputs_is_given_the_variables_as_they_are_now(self, scene: Scene) -> None:
        head = scene.begin(chain("p", service("s", "external", "stock")), x=4)
        scene.command(head, "set_variables", variables={"x": 5})
        assert fetch()[0].inputs == {"x": 5}

    def test_many_are_read_together(self, scene: Scene, django_assert_max_num_queries: Any) -> None:
        scene.publish(chain("p", service("s", "external", "stock")))
        for number in range(8):
            scene.start("p", x=number)
        with django_assert_max_num_queries(4):
            assert sorted(each.inputs["x"] for each in fetch()) == list(range(8))

    def test_what_is_locked_is_given_to_nobody_else(self, scene: Scene) -> None:
        scene.begin(STOCK, x=1)
        assert (len(fetch("one")), len(fetch("two"))) == (1, 0)

    def test_after_the_lock_it_is_given_again(self, scene: Scene) -> None:
        scene.begin(STOCK, x=1)
        fetch("one")
        WorkItem.objects.update(due_at=timezone.now() - MINUTE)
        assert len(fetch("two")) == 1

    def test_gives_no_more_than_asked_for_and_only_of_the_topic(self, scene: Scene) -> None:
        scene.begin(STOCK, x=1)
        scene.start("p", x=2)
        scene.begin(chain("q", service("s", "external", "other")))
        assert (len(fetch(limit=1)), len(fetch()), len(fetch())) == (1, 1, 0)


class TestCompleteExternalTask:
    def test_completes_the_task_with_its_result(self, scene: Scene) -> None:
        head = scene.begin(STOCK, x=1)
        assert complete(fetch()[0], found=3).state_status == "active"
        assert (scene.waits_at(head), scene.chain(head)[-1][2]) == (["a"], "complete_job s")

    def test_another_worker_may_not(self, scene: Scene) -> None:
        scene.begin(STOCK, x=1)
        with pytest.raises(errors.NotLocked):
            complete(fetch("one")[0], "two")

    def test_twice_is_once(self, scene: Scene) -> None:
        scene.begin(STOCK, x=1)
        (task,) = fetch()
        complete(task)
        with pytest.raises(errors.NotPossible):
            complete(task)

    def test_whoever_was_overtaken_has_no_effect(self, scene: Scene) -> None:
        head = scene.begin(STOCK, x=1)
        (late,) = fetch("late")
        WorkItem.objects.update(due_at=timezone.now() - MINUTE)
        fetch("next")
        with pytest.raises(errors.NotLocked):
            complete(late, "late")
        assert scene.head(head).number == 1

    @pytest.mark.parametrize("task", ["", "x", "9f0e8c1e-0000-7000-8000-000000000000.0.3"])
    def test_an_unknown_one_is_not_found(self, scene: Scene, task: str) -> None:
        with pytest.raises(errors.TaskNotFound):
            complete_external_task(task=task, worker="w", variables={}, actor=ACTOR, at=timezone.now())


class TestFailExternalTask:
    def test_is_given_again_after_the_delay(self, scene: Scene) -> None:
        scene.begin(STOCK, x=1)
        fail(fetch()[0], retries=2, delay=60)
        assert fetch() == []
        WorkItem.objects.update(due_at=timezone.now() - MINUTE)
        (again,) = fetch()
        assert (again.item.retries, again.item.last_error) == (2, "out of stock")

    def test_the_file_says_how_often_where_the_worker_does_not(self, scene: Scene) -> None:
        name, task = service("s", "external", "stock")
        often = task.replace("<serviceTask", '<serviceTask postern:retry="PT1M,PT1H"')
        head = scene.begin(chain("p", (name, often)))
        pauses = []
        for _ in range(3):
            (fetched,) = fetch()
            fail_external_task(
                task=fetched.item.public_id, worker="w", error="no", retries=None, delay=None, at=timezone.now()
            )
            item = WorkItem.objects.get()
            pauses.append(item.due_at and round((item.due_at - timezone.now()) / MINUTE))
            if item.due_at is not None:
                WorkItem.objects.update(due_at=timezone.now() - MINUTE)
        assert (pauses, scene.head(head).status) == ([1, 60, None], "incident")

    def test_what_the_worker_says_comes_first(self, scene: Scene) -> None:
        name, task = service("s", "external", "stock")
        scene.begin(chain("p", (name, task.replace("<serviceTask", '<serviceTask postern:retry="R5/PT1H"'))))
        fail(fetch()[0], retries=1, delay=0)
        (again,) = fetch()
        assert again.item.retries == 1

    def test_with_no_tries_left_it_is_an_incident(self, scene: Scene) -> None:
        head = scene.begin(STOCK, x=1)
        fail(fetch()[0], retries=0)
        assert (scene.head(head).status, WorkflowIncident.objects.get().reason) == ("incident", "out of stock")
        assert fetch() == []

    def test_a_retry_gives_it_one_more_try(self, scene: Scene) -> None:
        head = scene.begin(STOCK, x=1)
        fail(fetch()[0], retries=0)
        assert scene.command(head, "retry_incident", note="filled up").status == "active"
        (again,) = fetch()
        assert again.item.retries == 1
        assert complete(again).status == "active"

    def test_one_who_is_overtaken_meanwhile_is_told_so(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.begin(STOCK, x=1)
        task = fetch()[0]
        overtake_after_the_look(monkeypatch)
        with pytest.raises(errors.NotLocked):
            fail(task, retries=2, delay=60)
        item = WorkItem.objects.get(element="s")
        assert (item.worker, item.last_error) == ("next", "")

    @pytest.mark.parametrize("command", ["suspend", "terminate"])
    def test_one_whose_task_is_withheld_or_closed_meanwhile_is_told_so(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, command: str
    ) -> None:
        head = scene.begin(STOCK, x=1)
        task = fetch()[0]
        look = work_items._get_locked_task

        def commanded_after(*args: Any) -> WorkItem:
            item = look(*args)
            scene.command(head, command)
            return item

        monkeypatch.setattr(work_items, "_get_locked_task", commanded_after)
        with pytest.raises(errors.NotLocked):
            fail(task, retries=2)
        assert WorkItem.objects.get(element="s").due_at is None, "nobody is offered it again"


class TestExtendLock:
    def test_one_who_is_overtaken_meanwhile_is_told_so(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.begin(STOCK, x=1)
        task = fetch()[0]
        overtake_after_the_look(monkeypatch)
        with pytest.raises(errors.NotLocked):
            extend_lock(task=task.item.public_id, worker="w", lock=60 * MINUTE)
        assert WorkItem.objects.get(element="s").due_at < timezone.now() + 2 * MINUTE


def overtake_after_the_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another worker take the work between the look whose it is, and the write."""
    look = work_items._get_locked_task

    def overtaken_after(*args: Any) -> WorkItem:
        item = look(*args)
        WorkItem.objects.update(due_at=timezone.now() - MINUTE)
        fetch("next")
        return item

    monkeypatch.setattr(work_items, "_get_locked_task", overtaken_after)


class TestRestoredDatabase:
    """What happened after the backup happens again, otherwise: the same numbers are given to other tasks."""

    def test_an_id_from_before_completes_nothing_that_has_its_number_now(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a"), service("s", "external", "stock", amount="x")))
        backup = transaction.savepoint()
        scene.complete(head, x=1)
        (before,) = fetch()
        transaction.savepoint_rollback(backup)
        clear_head_cache()
        scene.complete(head, x=2)
        (now,) = fetch()
        assert now.item.local == before.item.local
        with pytest.raises(errors.Abandoned):
            complete(before)
        with pytest.raises(errors.Abandoned):
            fail(before, retries=1)
        assert complete(now).status == "completed"

    @pytest.mark.parametrize("is_remembered", [True, False])
    def test_nor_a_task_of_a_person(self, scene: Scene, is_remembered: bool) -> None:
        head = scene.begin(chain("p", user("a"), user("b")))
        backup = transaction.savepoint()
        scene.complete(head)
        before = scene.task(head)
        transaction.savepoint_rollback(backup)
        clear_head_cache()
        scene.complete(head)
        if not is_remembered:
            clear_head_cache()
        with pytest.raises(errors.Abandoned):
            scene.command(head, "complete_task", task=before)
        assert scene.complete(head).status == "completed"

    def test_an_id_without_a_time_was_given_by_an_earlier_release(self, scene: Scene) -> None:
        scene.begin(STOCK, x=1)
        (task,) = fetch()
        old = public_id(task.item.instance_id, task.item.local)
        assert complete_external_task(task=old, worker="w", variables={}, actor=ACTOR, at=timezone.now())
