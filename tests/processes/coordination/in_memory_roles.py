"""The three roles over queues in memory that a test can look into, repeat and shuffle."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from notifications.models import Alert
from processes.coordination.bus.memory import MemoryBus
from processes.coordination.coordinator.role import Coordinator
from processes.coordination.models import AppEvent, CoordinatorState, WriterEvent
from processes.coordination.protocol.messages import COORDINATOR, Message, OutgoingMessage
from processes.coordination.protocol.role import Role
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.steps import REPEAT_AFTER
from processes.coordination.reader.role import Reader
from processes.coordination.roles import send_heartbeats
from processes.coordination.schema.entities import BY_NAME, Op, Values
from processes.coordination.writer.change_sets import AppliedChangeSet, RequestedChange, apply_change_set
from processes.coordination.writer.role import Writer

DATABASES = ["default", "reader_main"]
PATIENCE = 5000
"""Turns that a drill of hundreds of events may take, one after the other."""


class InMemoryRoles:
    """A Writer, a Coordinator and readers that share a bus; each takes its turn when it is told to."""

    def __init__(self, *readers: str, bus: MemoryBus | None = None) -> None:
        self.bus = bus or MemoryBus()
        self.writer = Writer(self.bus)
        self.coordinator = Coordinator(self.bus)
        self.readers = {name: Reader(self.bus, name) for name in readers or ("main",)}
        self.all: list[Role] = [self.writer, self.coordinator, *self.readers.values()]

    @property
    def reader(self) -> Reader:
        return self.readers["main"]

    def live(self, *, of: Iterable[Role] | None = None) -> None:
        send_heartbeats(self.bus, list(self.all if of is None else of))

    def settle(self, until: Callable[[], bool] = lambda: not AppEvent.objects.filter(ended_at=None).exists()) -> None:
        """Let all take turns until it holds."""
        for _ in range(PATIENCE):
            for role in self.all:
                role.run_once()
                if until():
                    return
        raise AssertionError("it never came to that")

    def settle_by_repeats(self) -> None:
        """Let all take turns until every event has ended, while ten seconds pass again and again."""
        for _ in range(PATIENCE):
            self.rest()
            if not AppEvent.objects.filter(ended_at=None).exists():
                return
            for rows in (AppEvent.objects, WriterEvent.objects):
                rows.filter(again_at__isnull=False).update(again_at=timezone.now())
        raise AssertionError("it never came to that")

    def rest(self, *, of: Iterable[Role] | None = None) -> None:
        """Let them take turns until none of them has anything to do."""
        roles = list(self.all if of is None else of)
        for _ in range(PATIENCE):
            if not any([role.run_once() for role in roles]):
                return
        raise AssertionError("they never rest")

    def rest_without_reader(self) -> None:
        """Let nobody answer for the readers."""
        self.rest(of=[self.writer, self.coordinator])


def let_time_pass() -> None:
    """Let everything that has stayed in one status do so for long enough to be told again."""
    long_ago = timezone.now() - REPEAT_AFTER
    for model in (AppEvent, WriterEvent):
        model._default_manager.filter(again_at__isnull=False).update(again_at=long_ago)


def pass_deadline() -> None:
    """Let all roles have been alive for longer than events may take."""
    CoordinatorState.objects.update(clock=F("clock") + settings.COORDINATION_DEADLINE + 1)


class ShuffledBus(MemoryBus):
    """Delivers everything twice, in any order."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def send(self, letters: list[OutgoingMessage]) -> None:
        twice = [*letters, *letters]
        self._random.shuffle(twice)
        super().send(twice)
        with self._lock:
            for queue in self._queues.values():
                waiting = list(queue)
                self._random.shuffle(waiting)
                queue.clear()
                queue.extend(waiting)


def request_change(entity: str, op: str, id: int | None = None, **fields: object) -> RequestedChange:
    return RequestedChange(BY_NAME[entity], Op(op), id, fields)


def make_change_set(*changes: RequestedChange) -> AppliedChangeSet:
    return apply_change_set(changes, at=timezone.now())


def item(name: str) -> int:
    """Make one item by a change set of its own, and return its id."""
    return make_change_set(request_change("DummyItem", "insert", name=name)).ids[0]


def node(name: str, parent: int | None = None) -> int:
    return make_change_set(request_change("DummyNode", "insert", name=name, parent=parent)).ids[0]


def rows_of(model: type, *, using: str) -> dict[int, Values]:
    """Return the rows of an entity's table, without what is the Writer's own."""
    found = model._default_manager.using(using).values()  # type: ignore[attr-defined]
    return {row["id"]: {name: value for name, value in row.items() if name != "last_event_id"} for row in found}


def status_of(event: int) -> EventStatus:
    return AppEvent.objects.get(pk=event).status


def open_alert(kind: str) -> Alert | None:
    return Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=kind).first()


def queued(bus: MemoryBus, queue: str = COORDINATOR) -> list[Message]:
    return list(bus._queues[queue])


def by_queue(bus: MemoryBus) -> dict[str, list[Message]]:
    return defaultdict(list, {queue: list(messages) for queue, messages in bus._queues.items()})
