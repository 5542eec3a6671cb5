"""A scenario of one workflow instance from start to end: a caller, an external worker, the scheduler, and faults."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now

from notifications.models import Alert, Event, Follower
from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once
from processes.workflows.models import WorkflowEffect, WorkflowInstance, WorkflowTimer, WorkflowVersion, WorkItem
from processes.workflows.services import commands, returns, start
from processes.workflows.services.effects.dispatch import dispatch_due_effects
from processes.workflows.services.events.follower import FOLLOWING
from processes.workflows.services.timers import fire_due_timers
from processes.workflows.services.write_step import write_step
from tests.faults.fault_injection import FaultInjector, ProcessKilled
from tests.processes.workflows.process_files import chain, message, named, timer, user
from tests.processes.workflows.process_files import service as service_task
from tests.sensors.api.callers import service

PATIENCE = 60
VERSIONS = 7
"""Start, task, event, timer, work outside, return to the start, and the task once more."""


class Scenario:
    def __init__(self, name: str, injector: FaultInjector) -> None:
        self._name, self._injector = name, injector
        self._caller = service("workflows:read", "workflows:write")
        self._keys = itertools.count()
        self._caller("POST", "/workflows/definitions/", {"source": _file(name).decode()})

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Make every write of a version, and every commit, a step that may go wrong."""

        def watched(step: Any) -> Any:
            return self._injector.step("version", lambda: write_step(step))

        with ExitStack() as stack:
            stack.enter_context(self._injector.in_place())
            for module in (commands, start, returns):
                stack.enter_context(patch.object(module, "write_step", watched))
            yield

    def run(self) -> None:
        begun = self._call("/workflows/instances/", {"definition": self._name, "record": self._name})
        path = f"/workflows/instances/{begun['id']}"
        self._complete(path, begun)
        self._call("/workflows/events/", {"type": "custom.go", "record": self._name, "payload": {}, "id": self._name})
        self._until(lambda: self._waits_at(path, "pause"))
        WorkflowTimer.objects.filter(instance=begun["id"]).update(due_at=Now())
        self._until(lambda: self._waits_at(path, "outside"))
        self._work_outside()
        self._until(lambda: self._get(path)["status"] == "completed" and self._has_all_left())
        self._complete(path, self._call(f"{path}/return/", {"version": 1, "reason": "once more"}))
        self._until(self._has_all_left)

    def check(self) -> None:
        """The process told and warned on its way, and on its way after the return: twice, and not once more."""
        instance = WorkflowInstance.objects.get(definition=self._name)
        versions = list(
            WorkflowVersion.objects.filter(instance=instance).order_by("number").values_list("number", "parent")
        )
        assert versions == [(1, None), (2, 1), (3, 2), (4, 3), (5, 4), (6, 1), (7, 6)]
        assert (instance.head, instance.status) == (VERSIONS, "active")
        assert Event.objects.filter(type=f"custom.told-{self._name}").count() == 2
        assert Alert.objects.get(subject=f"workflow/{instance.pk}/warn").count == 2
        effects = WorkflowEffect.objects.filter(instance=instance).order_by("pk").values_list("kind", "status")
        assert list(effects) == [("event", "left"), ("alert", "left")] * 2
        items = WorkItem.objects.filter(instance=instance).order_by("pk").values_list("element", "status")
        assert list(items) == [("look", "done"), ("outside", "done"), ("look", "done")]

    def _complete(self, path: str, instance: Any) -> None:
        (task,) = instance["tasks"]
        self._call(f"{path}/commands/", {"command": "complete_task", "task": task["id"], "variables": {"seen": True}})

    def _work_outside(self) -> None:
        wanted = {"topic": self._name, "worker": "w", "max": 1, "lock_seconds": 60}
        (task,) = self._call("/workflows/external-tasks/fetch/", wanted)["results"]
        self._call(f"/workflows/external-tasks/{task['id']}/complete/", {"worker": "w", "variables": {"done": True}})

    def _call(self, path: str, body: Any) -> Any:
        """Call under one key until there is an answer, as a careful caller does."""
        key = f"{self._name}-{next(self._keys)}"
        for _ in range(PATIENCE):
            answer = self._survive(lambda: self._call_with_faults(path, body, key))
            if answer is not None and answer.status_code < 300:
                return answer.json()
            assert answer is None or answer.status_code >= 500, answer.content
        raise AssertionError(f"{path} never answered")

    def _call_with_faults(self, path: str, body: Any, key: str) -> Any:
        with self._injector.at_work():
            answer = self._caller("POST", path, body, **{"Idempotency-Key": key})
            self._injector.step("answer")
            return answer

    def _until(self, holds: Callable[[], bool]) -> None:
        """Let the scheduler take turns until it holds; the leases of the dead run out meanwhile."""
        for _ in range(PATIENCE):
            self._survive(self._turn)
            if holds():
                return
            _let_leases_end()
        raise AssertionError("it never came to that")

    def _turn(self) -> None:
        with self._injector.at_work():
            stamp_once()
            relay_once(FOLLOWING)
            fire_due_timers()
            dispatch_due_effects()

    def _survive(self, do: Callable[[], Any]) -> Any:
        """What dies starts again; an engine that was away is asked again."""
        try:
            return do()
        except (ProcessKilled, OperationalError):
            connection.close()
            return None

    def _get(self, path: str) -> Any:
        return self._caller("GET", f"{path}/").json()

    def _waits_at(self, path: str, element: str) -> bool:
        return element in [each["element"] for each in self._get(path)["active"]]

    def _has_all_left(self) -> bool:
        return not WorkflowEffect.objects.filter(instance__definition=self._name, status="waiting").exists()


def _let_leases_end() -> None:
    with transaction.atomic():
        Follower.objects.update(due_at=Now())
        WorkflowEffect.objects.filter(status="waiting").update(due_at=Now())
        WorkflowTimer.objects.filter(due_at__isnull=False, fence__gt=0).update(due_at=Now())


def _file(name: str) -> bytes:
    return chain(
        name,
        user("look"),
        service_task("tell", "event", type=f"'told-{name}'"),
        service_task("warn", "alert", title="'look'"),
        message("go"),
        timer("pause", "PT1H"),
        service_task("outside", "external", name),
        before=named("custom.go"),
    )
