"""Producers record events, two nodes stamp and relay them: each follower gets every one, in order, none twice."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple
from unittest.mock import patch

from django.db import connection, transaction
from django.utils import timezone

from config.common.background import work
from config.common.background.daemon import Daemon
from config.common.database.leases import LeaseLost, held_until, lease_clock
from notifications import followers
from notifications.errors import FollowerWaits
from notifications.followers import Following, follow, work_name
from notifications.models import Alert, Event, EventHour, Follower, Incident, Sequencer
from notifications.services.events import SEQUENCER, NewEvent, record_events
from notifications.services.relay import INCIDENT, follower_subject, relay_once
from notifications.services.sequencer import stamp_once
from tests.simulation.daemons import run_daemons, simulated_ring
from tests.simulation.ledger import Ledger
from tests.simulation.scheduler import Scheduler
from tests.simulation.world import World

INSIDE, OUTSIDE = "inside", "outside"
EFFECTS = "simulated_effect"
"""A table of this world: what the follower inside of the database has done, in its order."""


class Given(NamedTuple):
    """An event that has arrived outside, and with which call."""

    call: int
    position: int


class Withdrawn(Exception):
    """The producer changes its mind: nothing of its transaction is true."""


@dataclass
class Archive:
    """The follower whose effects are outside: slow at times, or away; it takes nothing from whoever lost the lease."""

    scheduler: Scheduler

    def __post_init__(self) -> None:
        self.taken: list[Given] = []
        self._calls = self.refusals = 0

    def take(self, events: Sequence[Event]) -> None:
        self._calls += 1
        call = self._calls
        for event in events:
            self.scheduler.point("gives to the archive", str(event.position), weight=4)
            if not self.scheduler.is_calm:
                way = self.scheduler.chance("archive")
                time.sleep(way**8 * 50)
                if way < 0.04:
                    self.refusals += 1
                    raise FollowerWaits("the archive is away")
            if lease_clock() >= held_until():
                self.refusals += 1
                raise LeaseLost("it is another's turn")
            assert event.position is not None
            self.scheduler.tell("ARCHIVE TAKES", str(event.position))
            self.taken.append(Given(call, event.position))


class RelayWorld(World):
    name = "relay"
    seconds = 120.0
    patience = 2 * 3600.0

    def __init__(self, scheduler: Scheduler, size: int) -> None:
        super().__init__(scheduler, size)
        self.ledger = Ledger()
        self.archive = Archive(scheduler)
        self.poison = set[int]()
        """Numbers of events that the follower inside never takes."""
        self._effects: list[int] = []

    @contextmanager
    def in_place(self) -> Iterator[None]:
        with (
            simulated_ring(self.scheduler),
            patch.dict(followers._followings, clear=True),
            patch.dict(work._registered),
        ):
            self.followings = (
                Following(INSIDE, self._take_inside, batch=4),
                Following(OUTSIDE, self.archive.take, outside=True, batch=4),
            )
            for following in self.followings:
                follow(following)
            yield

    def begin(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {EFFECTS} (id INTEGER PRIMARY KEY, event BIGINT NOT NULL)")
        if self.scheduler.chance("poison") < 0.3:
            self.poison.add(2)
        for number in (1, 2):
            self.scheduler.start(f"producer-{number}", lambda number=number: self._produce(number))  # type: ignore[misc]
        for number in (1, 2):
            self.scheduler.start(f"node-{number}", self._relay)

    def _relay(self) -> None:
        relays = [Daemon(partial(relay_once, each), 5.0, work_name(each.name), gather=0.1) for each in self.followings]
        run_daemons(self.scheduler, Daemon(stamp_once, 5.0, SEQUENCER), *relays)

    def _produce(self, producer: int) -> None:
        """Record one to three events at a time, some of which are never true."""
        while (count := self.ledger.next_number(str(producer))) <= self.size * 2:
            numbers = [10 * count + place for place in range(1 + int(self.scheduler.chance("events") * 3))]
            keys = tuple((producer, number) for number in numbers)
            new = [NewEvent("thing.changed", f"thing/{producer}", timezone.now(), {"key": list(key)}) for key in keys]
            try:
                with self.ledger.attempt(keys), transaction.atomic():
                    record_events(new)
                    if self.scheduler.chance("withdraws") < 0.15:
                        raise Withdrawn
            except Withdrawn:
                self.ledger.tried.remove(keys)
            time.sleep(self.scheduler.chance("pause") ** 2 * 12)

    def _take_inside(self, events: Sequence[Event]) -> None:
        for event in events:
            if self._is_poison(event):
                raise ValueError("an event that nobody can take")
            with connection.cursor() as cursor:
                cursor.execute(f"INSERT INTO {EFFECTS} (event) VALUES (%s)", [event.position])

    def _is_poison(self, event: Event) -> bool:
        return event.payload.get("key", [0, 0])[1] // 10 in self.poison

    def is_quiet(self) -> bool:
        last = Event.objects.count()
        is_stamped = not Event.objects.filter(position=None).exists()
        return is_stamped and Follower.objects.filter(position__gte=last).count() == (2 if last else 0)

    def end(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT event FROM {EFFECTS} ORDER BY id")
            self._effects = [event for (event,) in cursor.fetchall()]
            cursor.execute(f"DROP TABLE {EFFECTS}")

    def check(self) -> Iterator[str]:
        events = list(Event.objects.order_by("position"))
        yield from self._check_recorded([event for event in events if event.type == "thing.changed"])
        positions = [event.position or 0 for event in events]
        if positions != list(range(1, len(positions) + 1)):
            yield f"positions have gaps, or are there twice: {positions}"
        stamped = Sequencer.objects.values_list("position", flat=True).first() or 0
        counted = sum(EventHour.objects.values_list("count", flat=True))
        if not len(positions) == stamped == counted:
            yield f"{len(positions)} events, {stamped} stamped, {counted} counted"
        yield from self._check_inside(events)
        yield from self._check_outside(positions)

    def _check_recorded(self, events: list[Event]) -> Iterator[str]:
        """What was accepted is there, whole; what was withdrawn is not."""
        found = Counter(tuple(event.payload["key"]) for event in events)
        accepted, tried = ({key for keys in kept for key in keys} for kept in (self.ledger.accepted, self.ledger.tried))  # type: ignore[attr-defined]
        yield from (f"event {key} was accepted and is lost" for key in sorted(accepted - found.keys()))
        yield from (f"event {key} was never meant" for key in sorted(found.keys() - tried))
        yield from (f"event {key} is there {times} times" for key, times in found.items() if times > 1)

    def _check_inside(self, events: list[Event]) -> Iterator[str]:
        """Each event has its effect once, in order; one that nobody can take is set aside, once, and staff are told."""
        poison = [event.position for event in events if self._is_poison(event)]
        expected = [event.position for event in events if event.position not in poison]
        if self._effects != expected:
            yield f"the follower inside has done {self._effects}, not {expected}"
        aside = sorted(Incident.objects.values_list("position", flat=True))
        if aside != poison:
            yield f"set aside are {aside}, not {poison}"
        if aside and not Alert.objects.filter(kind=INCIDENT, subject=follower_subject(INSIDE)).exists():
            yield "an event was set aside, and nobody was told"

    def _check_outside(self, positions: list[int]) -> Iterator[str]:
        """The archive has every event; they came in order, and again only after a failure."""
        taken = self.archive.taken
        yield from (
            f"{position} never came to the archive" for position in sorted({*positions} - {p for _, p in taken})
        )
        first = list(dict.fromkeys(position for _, position in taken))
        if first != sorted(first):
            yield f"events came to the archive in the order {first}"
        if len(first) < len(taken) and not self.archive.refusals and not self.was_disturbed(0.0, inf):
            yield f"events came to the archive again, and nothing had failed: {[p for _, p in taken]}"
        calls = [given.call for given in taken]
        if calls != sorted(calls) and not self.was_disturbed(0.0, inf, kinds=("step",)):
            yield f"whoever had lost the lease gave to the archive: {taken}"
