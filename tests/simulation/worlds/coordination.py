"""Callers change twins on the Writer, three roles carry that to a reader: whole, both sides equal, each told once."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from math import inf
from unittest.mock import patch

from django.db import Error, connections
from django.test import override_settings

from config.common.background.daemon import Daemon
from config.common.errors import Invalid
from notifications.models import Event
from notifications.services import poison
from processes.coordination.bus import open_bus
from processes.coordination.coordinator.liveness import HEARTBEAT_EVERY
from processes.coordination.models import AppEvent
from processes.coordination.models.writer import DummyItem
from processes.coordination.protocol.role import Pace
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader.models import TABLES
from processes.coordination.roles import open_roles, role_names, send_heartbeats
from processes.coordination.subjects import subject_of
from processes.coordination.writer.change_sets import RequestedChange
from tests.database_cleanup import empty
from tests.processes.coordination.in_memory_roles import make_change_set, request_change, rows_of
from tests.simulation.broker import SimulatedBroker
from tests.simulation.daemons import run_daemons, simulated_ring
from tests.simulation.scheduler import Scheduler
from tests.simulation.threads import OfProcess
from tests.simulation.world import World

READER = "reader_main"
ITEM = "DummyItem"
LISTENS_SECONDS = 2.0
STRAY = 4
"""A row that the reader alone has in some runs: it must refuse the change set that inserts another of that id."""
COMPENSATION_FAILED = "coordination.compensation_failed"
"""Told while a newer change set stands in the way, which is cancelled later on."""
OUTCOMES = {
    EventStatus.COMMITTED: "coordination.committed",
    EventStatus.CANCELED: "coordination.canceled",
}


class CoordinationWorld(World):
    name = "coordination"
    seconds = 60.0
    seeds = range(1, 3)
    patience = 900.0

    def __init__(self, scheduler: Scheduler, size: int) -> None:
        super().__init__(scheduler, size)
        self.broker = SimulatedBroker(scheduler, {}, loss=0.02)
        self.twins: list[tuple[int, int]] = []
        """Rows that are always changed together."""
        self.accepted: list[int] = []
        self.torn: list[str] = []
        self.has_stray = scheduler.chance("stray") < 0.5

    @contextmanager
    def in_place(self) -> Iterator[None]:
        defaults = getattr(Pace.__init__, "__kwdefaults__")  # noqa: B009
        with ExitStack() as stack:
            stack.callback(connections[READER].close)
            connections[READER].close()  # opened anew by the clock of the simulation
            stack.enter_context(simulated_ring(self.scheduler))
            stack.enter_context(self.broker.in_place())
            stack.enter_context(override_settings(AMQP_URL="amqp://simulated/"))
            stack.enter_context(patch.dict(defaults, {"clock": lambda: time.monotonic()}))
            stack.enter_context(patch.object(poison, "_in_a_row", OfProcess(self.scheduler, Counter)))
            yield

    def begin(self) -> None:
        empty(READER)
        if self.has_stray:
            TABLES[ITEM].objects.using(READER).create(
                id=STRAY, name="stray", correlation_id="00000000-0000-0000-0000-000000000001"
            )
        for name in role_names():
            self.scheduler.start(name, lambda name=name: self._play(name))  # type: ignore[misc]
        for number in (1, 2):
            self.scheduler.start(f"caller-{number}", lambda number=number: self._call(number))  # type: ignore[misc]
        self.scheduler.start("onlooker", self._look)

    def _play(self, name: str) -> None:
        (role,) = open_roles([name])
        alive = partial(send_heartbeats, open_bus(), [role])
        run_daemons(
            self.scheduler,
            Daemon(partial(role.run_once, LISTENS_SECONDS), 0.0, role.queue),
            Daemon(alive, HEARTBEAT_EVERY.total_seconds(), "alive"),
        )

    def _call(self, number: int) -> None:
        """Make twins, give them names, delete them, one's own or another's."""
        chance = self.scheduler.chance
        for count in range(self.size):
            name = f"{number}-{self.scheduler.process().lives}-{count}"
            if not self.twins or chance("what") < 0.4:
                ids = self._change([request_change(ITEM, "insert", name=name) for _ in range(2)])
                if ids:
                    self.twins.append((ids[0], ids[1]))
            else:
                chosen = self.twins[int(chance("which") * len(self.twins))]
                if chance("deletes") < 0.15:
                    self._change([request_change(ITEM, "delete", id) for id in chosen])
                else:
                    self._change([request_change(ITEM, "update", id, name=name) for id in chosen])
            time.sleep(chance("pause") ** 2 * 12)

    def _change(self, changes: list[RequestedChange]) -> list[int]:
        try:
            applied = make_change_set(*changes)
        except (Error, Invalid):
            return []  # the database has failed, or the rows are not there any more
        self.accepted.append(applied.event)
        return applied.ids

    def _look(self) -> None:
        """Read the reader's table all the while: twins that differ are half a change set."""
        while True:
            try:
                rows = dict(TABLES[ITEM].objects.using(READER).values_list("id", "name"))
            except Error:
                rows = {}
            for one, other in self.twins:
                if rows.get(one) != rows.get(other) and not (self.has_stray and STRAY in (one, other)):
                    self.torn.append(f"the reader showed {one} as {rows.get(one)}, and its twin as {rows.get(other)}")
            time.sleep(0.5 + self.scheduler.chance("look") * 3)

    def is_quiet(self) -> bool:
        return not AppEvent.objects.filter(ended_at=None).exists()

    def check(self) -> Iterator[str]:
        yield from self.torn[:3]
        events = {event.pk: event for event in AppEvent.objects.all()}
        yield from (f"change set {pk} was accepted and is lost" for pk in self.accepted if pk not in events)
        for event in events.values():
            yield from self._check_outcome(event)
        ours, theirs = rows_of(DummyItem, using="default"), rows_of(TABLES[ITEM], using=READER)
        if self.has_stray:
            theirs.pop(STRAY, None)
        if ours != theirs:
            yield f"the Writer has {_names(ours)}, the reader {_names(theirs)}"

    def _check_outcome(self, event: AppEvent) -> Iterator[str]:
        """Each change set has one end, told once; none is cancelled but for a reason."""
        told = Event.objects.filter(subject=subject_of(event.pk)).exclude(type=COMPENSATION_FAILED)
        types = list(told.values_list("type", flat=True))
        if types != [OUTCOMES.get(event.status)]:
            yield f"change set {event.pk} is {event.status.name}, and was told as {types}"
        if event.status == EventStatus.CANCELED and not self.has_stray and not self.was_disturbed(0.0, inf):
            yield f"change set {event.pk} was cancelled, and nothing was wrong: {event.reason}"


def _names(rows: dict[int, dict[str, object]]) -> dict[int, object]:
    return {id: row["name"] for id, row in sorted(rows.items())}
