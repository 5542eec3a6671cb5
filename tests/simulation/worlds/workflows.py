"""Callers, clerks and two nodes move workflow instances on: one chain each, nothing lost, every effect once."""

import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar
from unittest.mock import patch
from uuid import UUID, uuid5

from django.db import DatabaseError, OperationalError
from django.utils import timezone

from config.common.background.daemon import Daemon
from notifications.followers import work_name
from notifications.models import Alert, Delivery, Event
from notifications.services.events import SEQUENCER
from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once
from processes.workflows import heads
from processes.workflows.errors import Abandoned, NotPossible, VersionConflict
from processes.workflows.heads import Head, get_head, get_revision_facts
from processes.workflows.ids import public_task_id
from processes.workflows.models import WorkflowEffect, WorkflowInstance, WorkflowTimer, WorkflowVersion
from processes.workflows.services import jobs
from processes.workflows.services.commands import command_instance
from processes.workflows.services.definitions.library import COMPILED, get_compiled
from processes.workflows.services.definitions.publish import publish_definition
from processes.workflows.services.effects.dispatch import dispatch_due_effects
from processes.workflows.services.events.follower import FOLLOWING
from processes.workflows.services.events.receive import receive_event
from processes.workflows.services.start import StartRequest, start_from_form
from processes.workflows.services.timers import fire_due_timers
from processes.workflows.services.work_names import EFFECTS, JOBS, TIMERS
from processes.workflows.state_storage import section
from processes.workflows.subjects import subject_of
from tests.processes.workflows.process_files import flow, message, named, process, script, service, timer, user
from tests.sensors.registry import make_client
from tests.simulation.daemons import run_daemons, simulated_ring
from tests.simulation.scheduler import Scheduler
from tests.simulation.threads import OfProcess
from tests.simulation.world import World

KEY, HANDLER = "order", "simulated"
TRIES = 4
REFUSALS = (NotPossible, Abandoned, VersionConflict)
FORMS = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class Answer:
    """A command that was answered, and the version that it has made, as its caller was told."""

    instance: UUID
    actor: str
    version: int
    variable: str


@dataclass
class Job:
    """A run of the handler."""

    at: float
    process: str
    id: str
    instance: UUID
    has_worked: bool = False


class WorkflowsWorld(World):
    name = "workflows"
    seconds = 90.0
    seeds = range(1, 4)

    def __init__(self, scheduler: Scheduler, size: int) -> None:
        super().__init__(scheduler, size)
        self.started: dict[str, UUID] = {}
        """What callers have started, by the record that they gave it."""
        self.answers: list[Answer] = []
        self.sent = defaultdict[UUID, set[str]](set)
        self.received = defaultdict[UUID, set[str]](set)
        """The events that callers have sent to an instance, and those that were accepted."""
        self.jobs: list[Job] = []
        self.surprises: list[str] = []

    @contextmanager
    def in_place(self) -> Iterator[None]:
        with (
            simulated_ring(self.scheduler),
            patch.dict(jobs._handlers, {HANDLER: self._work}),
            patch.object(heads, "_cache", OfProcess(self.scheduler, OrderedDict)),
        ):
            yield

    def begin(self) -> None:
        client = make_client().pk
        published = publish_definition(source=_definition(client), enterprise=None, actor="test", at=timezone.now())
        # Kept for as long as Python lives: the first run must not differ from the second.
        COMPILED.clear()
        get_compiled(KEY, published.revision)
        get_revision_facts.cache_clear()
        for number in (1, 2):
            self.scheduler.start(f"caller-{number}", lambda number=number: self._call(number))  # type: ignore[misc]
            self.scheduler.start(f"clerk-{number}", self._attend)
        for number in (1, 2):
            self.scheduler.start(f"node-{number}", self._move)

    def _move(self) -> None:
        run_daemons(
            self.scheduler,
            Daemon(stamp_once, 5.0, SEQUENCER),
            Daemon(partial(relay_once, FOLLOWING), 5.0, work_name(FOLLOWING.name), gather=0.1),
            Daemon(fire_due_timers, 5.0, TIMERS),
            Daemon(jobs.run_due_jobs, 5.0, JOBS),
            Daemon(dispatch_due_effects, 5.0, EFFECTS),
        )

    def _work(self, job: jobs.Job) -> dict[str, Any]:
        scheduler = self.scheduler
        run = Job(scheduler.now, scheduler.process().name, job.id, job.instance)
        self.jobs.append(run)
        scheduler.tell("HANDLER WORKS", job.id[-12:])
        time.sleep(scheduler.chance("work") ** 2 * 5)
        if scheduler.chance("fails") < 0.15 and not scheduler.is_calm:
            raise RuntimeError("the handler fails")
        run.has_worked = True
        return {"worked": True}

    def _call(self, number: int) -> None:
        """Start instances, write variables into them and send them events, one's own and another's."""
        chance = self.scheduler.chance
        for count in range(self.size):
            record = f"{number}-{self.scheduler.process().lives}-{count}"
            self._start(record)
            for step in range(3):
                time.sleep(chance("pause") ** 6 * 12)
                known = list(self.started.values())
                if known:
                    # Most often the newest: the other caller is at work there too.
                    self._write(known[-1 - int(chance("which") ** 4 * len(known))], f"{record}-{step}")
            time.sleep(chance("pause") * 4)

    def _start(self, record: str) -> None:
        """Start an instance by a form, which is sent again until it is answered."""
        request = StartRequest(KEY, record=record, variables={"more": 0})
        for _ in range(TRIES):
            found = self._try(
                lambda: start_from_form(request, form_id=uuid5(FORMS, record), actor=record, at=timezone.now())
            )
            if found is not None:
                self.started[record] = found
                return
            time.sleep(2.0)

    def _write(self, instance: UUID, key: str) -> None:
        if self.scheduler.chance("kind") < 0.5:
            variable = f"v_{key.replace('-', '_')}"
            head = self._command(instance, key, {"command": "set_variables", "variables": {variable: True}})
            if head is not None:
                self.answers.append(Answer(instance, key, head.number, variable))
            return
        self.sent[instance].add(key)
        for _ in range(TRIES):
            if self._send("custom.more", instance, key) is not None:
                self.received[instance].add(key)
                return
            time.sleep(2.0)

    def _attend(self) -> None:
        """Do what instances wait for, once it is time; another clerk may do the same."""
        while True:
            self._try(self._look_around)
            time.sleep(3.0 + self.scheduler.chance("pause") * 5)

    def _look_around(self) -> None:
        for instance in WorkflowInstance.objects.filter(ended_at=None).order_by("pk").values_list("pk", flat=True):
            head = get_head(instance)
            state: Any = head.state or {}
            if head.open_incidents:
                self._command(instance, "clerk", {"command": "retry_incident"})
            elements = {token["element"] for token in section(state, "tokens").values()}
            if "look" in elements and self._may_complete(instance, state):
                self._complete(head, state)
            if "go" in elements:
                self._send("custom.go", instance, f"{instance}-go")

    def _may_complete(self, instance: UUID, state: Any) -> bool:
        """Whether every event that was accepted has been counted, and it has waited for long enough."""
        (root,) = state["scopes"].values()
        is_time = self.scheduler.is_calm or self.scheduler.chance("decides") < 0.1
        return is_time and root["variables"]["more"] >= len(self.received[instance])

    def _complete(self, head: Head, state: Any) -> None:
        ((local, task),) = section(state, "tasks").items()
        since = datetime.fromisoformat(task["since"])
        self._command(head.id, "clerk", {"command": "complete_task", "task": public_task_id(head.id, local, since)})

    def _command(self, instance: UUID, actor: str, body: dict[str, Any]) -> Head | None:
        return self._try(lambda: command_instance(instance, body, actor=actor, at=timezone.now()))

    def _send(self, type: str, instance: UUID, id: str) -> str | None:
        return self._try(
            lambda: receive_event(
                source="simulated", type=type, id=id, record=self._record(instance), payload={}, at=timezone.now()
            )
        )

    def _record(self, instance: UUID) -> str:
        return WorkflowInstance.objects.values_list("record", flat=True).get(pk=instance)

    def _try(self, do: Callable[[], AnswerT]) -> AnswerT | None:
        """Return the answer of a call; None where it was refused, or the database has failed."""
        try:
            return do()
        except (OperationalError, *REFUSALS):
            return None
        except DatabaseError as error:
            self.surprises.append(f"a caller was answered {error!r}")
            return None

    def is_quiet(self) -> bool:
        return not (
            WorkflowInstance.objects.filter(ended_at=None).exists()
            or WorkflowEffect.objects.filter(status=WorkflowEffect.Status.WAITING).exists()
            or Event.objects.filter(position=None).exists()
        )

    def check(self) -> Iterator[str]:
        yield from self.surprises
        instances = {row.pk: row for row in WorkflowInstance.objects.all()}
        yield from (f"{record} was started and is lost" for record, pk in self.started.items() if pk not in instances)
        for record, times in Counter(row.record for row in instances.values()).items():
            if times > 1:
                yield f"{record} was started {times} times"
        for instance in instances.values():
            yield from self._check_chain(instance)
            yield from self._check_effects(instance)
        yield from self._check_jobs()
        if WorkflowTimer.objects.exists():
            yield "a timer is left of an instance that has ended"

    def _check_chain(self, instance: WorkflowInstance) -> Iterator[str]:
        """One chain without a fork; every answered command has the version that its caller was told."""
        versions = {each.number: each for each in WorkflowVersion.objects.filter(instance=instance)}
        if sorted(versions) != list(range(1, instance.head + 1)):
            yield f"{instance.record}: head {instance.head}, versions {sorted(versions)}"
            return
        parents = [(number, version.parent) for number, version in sorted(versions.items())]
        if parents != [(number, number - 1 or None) for number in range(1, instance.head + 1)]:
            yield f"{instance.record}: the chain is {parents}"
        (root,) = (get_head(instance.pk).state or {})["scopes"].values()
        actors = Counter(version.actor for version in versions.values())
        for answer in (each for each in self.answers if each.instance == instance.pk):
            if versions[answer.version].actor != answer.actor or actors[answer.actor] != 1:
                yield f"{instance.record}: {answer.actor} was told version {answer.version}, and has {actors}"
            if answer.variable not in root["variables"]:
                yield f"{instance.record}: {answer.variable} was written and is lost"
        taken = sum(version.cause == "event custom.more" for version in versions.values())
        counted, sent = root["variables"]["more"], len(self.sent[instance.pk])
        if not counted == taken <= sent:
            yield f"{instance.record} counts {counted} events of {sent}, by {taken} versions"

    def _check_effects(self, instance: WorkflowInstance) -> Iterator[str]:
        """On its way each instance tells, warns and owes a message, once."""
        subject = subject_of(instance.pk)
        told = Event.objects.filter(type="custom.told", payload__instance=str(instance.pk)).count()
        warned = sum(Alert.objects.filter(subject=f"{subject}/warn").values_list("count", flat=True))
        owed = Delivery.objects.filter(subject=subject).count()
        if (told, warned, owed) != (1, 1, 1):
            yield f"{instance.record} has told {told} times, warned {warned} times, owes {owed} messages"

    def _check_jobs(self) -> Iterator[str]:
        """The handler of each instance has worked; the same job again only where something had failed."""
        worked = {job.instance for job in self.jobs if job.has_worked}
        for instance in WorkflowInstance.objects.exclude(pk__in=worked):
            yield f"{instance.record} has ended, and its handler has never worked"
        by_id = defaultdict[str, list[Job]](list)
        for job in self.jobs:
            by_id[job.id].append(job)
        for id, runs in by_id.items():
            for earlier, later in pairwise(runs):
                if earlier.has_worked and not self.was_disturbed(earlier.at, later.at):
                    yield f"job {id} was done at {earlier.at:.3f}, and again at {later.at:.3f}"


def _definition(client: int) -> bytes:
    """A task that counts events while it waits; then effects of each kind, an event, a timer and a handler."""
    reminds = (
        '<boundaryEvent id="more" attachedToRef="look" cancelActivity="false">'
        '<messageEventDefinition messageRef="m1"/></boundaryEvent>'
    )
    steps = (
        user("look"),
        service("tell", "event", type="'told'"),
        service("warn", "alert", title="'look'"),
        service("owe", "webhook", client=str(client), payload="'order'"),
        message("go", ref="m2"),
        timer("pause", "PT15S"),
        service("work", HANDLER),
    )
    ids = ["begin", *(name for name, _ in steps), "end"]
    return process(
        KEY,
        '<startEvent id="begin"/><endEvent id="end"/><endEvent id="counted"/>',
        *(element for _, element in (*steps, script("count", "more", "more + 1"))),
        reminds,
        *(flow(*pair) for pair in (*pairwise(ids), ("more", "count"), ("count", "counted"))),
        before=named("custom.more") + named("custom.go", ref="m2"),
    )
