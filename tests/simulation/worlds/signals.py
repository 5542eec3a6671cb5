"""Doors send signals by a broker, consumers apply them, two nodes sweep: none lost, no false loss, no missed one."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any
from unittest.mock import patch

import msgspec
from django.db import Error
from django.test import override_settings

from config.common.background.daemon import Daemon
from config.common.times import format_time, from_milliseconds, to_milliseconds
from config.engines.circuit_breaker import CircuitBreaker
from notifications.models import Event
from notifications.services import poison
from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN, STATE_CHANGED
from sensors.heartbeat import ingest_liveness
from sensors.heartbeat.clock import clock
from sensors.heartbeat.ingest_liveness import LivenessCheck, check_queue_once
from sensors.heartbeat.sweep import sweep_once
from sensors.history.consumer import HistoryConsumer
from sensors.history.queue import QUEUE as HISTORY
from sensors.ingest import accept, signal_queue
from sensors.ingest.signal_queue import EXCHANGE, QUEUE
from sensors.ingest.signals import Origin
from sensors.management.commands.run_ingest import IngestDaemon
from sensors.models import SensorState, StoredSignal, WayIn
from tests.sensors.registry import make_sensor
from tests.simulation.broker import SimulatedBroker
from tests.simulation.daemons import run_daemons, simulated_ring
from tests.simulation.scheduler import Scheduler
from tests.simulation.threads import EPOCH, OfProcess, wall_clock
from tests.simulation.world import World

DOORS = 2
TIMEOUT = 20.0
SLACK = 1.0
"""A loss names a time that is cut to milliseconds; and what is accepted just then may be on its way."""
TRIES = 4


@dataclass
class Sent:
    """A signal that was accepted, and between which times."""

    sensor: str
    id: str
    began: float
    ended: float


class SignalsWorld(World):
    name = "signals"
    seconds = 80.0
    seeds = range(6)
    patience = 1800.0

    def __init__(self, scheduler: Scheduler, size: int) -> None:
        super().__init__(scheduler, size)
        self.broker = SimulatedBroker(scheduler, {EXCHANGE: QUEUE})
        self.tried: dict[tuple[str, str], int] = {}
        """What every signal says, by sensor and id."""
        self.accepted: list[Sent] = []

    @contextmanager
    def in_place(self) -> Iterator[None]:
        scheduler = self.scheduler
        declared = threading.Event()
        declared.set()
        own: tuple[tuple[Any, str, Any], ...] = (
            (accept, "_broker", OfProcess(scheduler, lambda: CircuitBreaker(calls=4, clock=time.monotonic))),
            (poison, "_in_a_row", OfProcess(scheduler, Counter)),
            (ingest_liveness, "_queue", OfProcess(scheduler, lambda: LivenessCheck(WayIn.QUEUE))),
            (signal_queue, "_declared", declared),
        )
        settings = {"AMQP_URL": "amqp://simulated/", "INGEST_SECONDS": 0.5, "HISTORY_SECONDS": 1.0}
        with ExitStack() as stack:
            stack.enter_context(simulated_ring(scheduler))
            stack.enter_context(self.broker.in_place())
            stack.enter_context(override_settings(**settings))
            for module, name, instead in own:
                stack.enter_context(patch.object(module, name, instead))
            yield

    def begin(self) -> None:
        for number in range(DOORS):
            make_sensor(f"0x{number}", heartbeat_timeout=int(TIMEOUT))
            self.scheduler.start(f"door-{number}", lambda number=number: self._send(f"0x{number}"))  # type: ignore[misc]
        for number in (1, 2):
            self.scheduler.start(f"consumer-{number}", lambda: run_daemons(self.scheduler, IngestDaemon()))
        self.scheduler.start("history", lambda: run_daemons(self.scheduler, _history()))
        for number in (1, 2):
            self.scheduler.start(f"node-{number}", self._watch)

    def _watch(self) -> None:
        run_daemons(self.scheduler, Daemon(check_queue_once, 1.5, "probe"), Daemon(sweep_once, 4.0, "sweep"))

    def _send(self, sensor: str) -> None:
        """Report the door again and again, each signal until it is accepted; now and then be silent for long."""
        chance = self.scheduler.chance
        life = self.scheduler.process().lives
        for count in range(self.size * 2):
            if self.scheduler.is_calm:
                break
            id, data = f"{life}-{count}", int(chance("value") * 2)
            self.tried[sensor, id] = data
            sent_at = int(wall_clock(self.scheduler) * 1000)
            began = self.scheduler.now
            for _ in range(TRIES):
                if self._report(sensor, id, data, sent_at):
                    self.accepted.append(Sent(sensor, id, began, self.scheduler.now))
                    break
                time.sleep(1.0)
            pause = chance("pause")
            time.sleep(pause * 10 if pause < 0.9 else TIMEOUT * 2)

    def _report(self, sensor: str, id: str, data: int, at: int) -> bool:
        signal = {"sensor_id": sensor, "data": data, "at": format_time(from_milliseconds(at)), "id": id}
        by_queue = self.scheduler.chance("way in") < 0.8
        try:
            origin = Origin(received_at=clock.time_in_milliseconds(), over_rest=True)
            answer = accept.accept_signals(msgspec.json.encode(signal), origin, by_queue=by_queue)
        except Error:
            return False
        return answer["accepted"] == 1

    def is_quiet(self) -> bool:
        """Whether every sensor that was heard has been found silent, and all is in history."""
        if not self.broker.is_empty():
            return False
        return not SensorState.objects.filter(seen_at__isnull=False, lost_at=None).exists()

    def check(self) -> Iterator[str]:
        stored = defaultdict[str, list[tuple[int, str, int]]](list)
        for row in StoredSignal.objects.all():
            stored[row.sensor_id].append((to_milliseconds(row.at), row.signal_id, row.data))
        kept = {(sensor, id) for sensor, signals in stored.items() for _, id, _ in signals}
        for sent in self.accepted:
            if (sent.sensor, sent.id) not in kept:
                yield f"signal {sent.id} of {sent.sensor} was accepted and is not in history"
        for sensor, signals in stored.items():
            for _, id, data in signals:
                if self.tried.get((sensor, id)) != data:
                    yield f"history has a signal {id} = {data} of {sensor}, which was never sent"
        for state in SensorState.objects.all():
            yield from self._check_state(state, stored[state.sensor_id])
            yield from self._check_losses(state.sensor_id)

    def _check_state(self, state: SensorState, signals: list[tuple[int, str, int]]) -> Iterator[str]:
        """The state is that of the newest signal; the changes that were told lead there, one by one."""
        newest = max(signals, default=None)
        if state.value != (None if newest is None else newest[2]):
            yield f"{state.sensor_id} is {state.value}, and its newest signal says {newest}"
        rows = Event.objects.filter(type=STATE_CHANGED, subject=f"sensor/{state.sensor_id}").order_by("pk")
        told = [row.payload["data"] for row in rows]
        expected = [] if state.value is None else [state.value]
        if any(one == other for one, other in pairwise(told)) or told[-1:] != expected:
            yield f"{state.sensor_id} is {state.value}, and its changes were told as {told}"

    def _check_losses(self, sensor: str) -> Iterator[str]:
        """No loss while the sensor was heard; each ends before the next, and the last one is still there."""
        types = (CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN)
        rows = list(Event.objects.filter(type__in=types, subject=f"sensor/{sensor}").order_by("pk"))
        story = [row.type == CONNECTION_LOST for row in rows]
        if story != [place % 2 == 0 for place in range(len(story))]:
            yield f"losses and their ends do not take turns: {[row.type for row in rows]}"
        if self.was_disturbed(0.0, inf, kinds=("step",)):
            return  # its times are those of a clock that was set
        for row in rows:
            at = row.at.timestamp() - EPOCH
            if row.type != CONNECTION_LOST:
                continue
            for sent in self.accepted:
                if sent.sensor == sensor and at - TIMEOUT + SLACK < sent.began and sent.ended < at - SLACK:
                    yield f"{sensor} was declared lost at {at:.3f}, and accepted was {sent.id} at {sent.ended:.3f}"


def _history() -> Daemon:
    return Daemon(HistoryConsumer(HISTORY).run_once, 3.0, "history")
