"""A scenario of change sets from the Writer to a reader, run to its end whatever fault is injected."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connections
from django.utils import timezone

from notifications.models import Event
from processes.coordination.bus.memory import MemoryBus
from processes.coordination.models import AppEvent, WriterEvent
from processes.coordination.models.writer import DummyItem, DummyNode
from processes.coordination.protocol.messages import OutgoingMessage
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as reader
from tests.faults.fault_injection import FaultInjector, ProcessKilled
from tests.processes.coordination.in_memory_roles import InMemoryRoles, rows_of
from tests.sensors.api.callers import service

PATIENCE = 300
ONLY_THERE = 10**12
"""A row that the reader alone has, so that it must refuse."""
READER = "reader_main"


class Scenario:
    def __init__(self, injector: FaultInjector, *, is_embedded: bool) -> None:
        self._injector, self._is_embedded = injector, is_embedded
        self._caller = service("coordination")
        self._keys = itertools.count()
        self._bus = FaultyBus(injector)
        self._cast = InMemoryRoles(bus=self._bus)
        _forget_all()

    def run(self) -> None:
        """Twelve twins, a small tree, new names for the twins, an end for some; and one that the reader refuses."""
        twins = self._change([_insert("dummy-items", name="first") for _ in range(12)])
        top, below = self._change([_insert("dummy-nodes", name=name) for name in ("top", "below")])
        self._settle()
        self._change([_update("dummy-items", pk, name="second") for pk in twins])
        self._change([_update("dummy-nodes", below, parent=top)])
        self._settle()
        reader.TABLES["DummyNode"].objects.using(READER).create(
            id=ONLY_THERE, name="x", parent_id=below, correlation_id="00000000-0000-0000-0000-000000000001"
        )
        self._change([_delete("dummy-nodes", below)])
        self._change([*(_delete("dummy-items", pk) for pk in twins[:2]), _update("dummy-nodes", top, name="up")])
        self._settle()

    def check(self) -> None:
        """Five were committed, one was cancelled and taken back; each was told once, and both sides are equal."""
        statuses = [event.status for event in AppEvent.objects.order_by("pk")]
        committed, canceled = EventStatus.COMMITTED, EventStatus.CANCELED
        assert statuses == [committed, committed, committed, committed, canceled, committed]
        reader.TABLES["DummyNode"].objects.using(READER).filter(pk=ONLY_THERE).delete()
        for ours, name in ((DummyItem, "DummyItem"), (DummyNode, "DummyNode")):
            assert rows_of(ours, using="default") == rows_of(reader.TABLES[name], using=READER)
        assert (DummyItem.objects.count(), DummyNode.objects.count()) == (10, 2)
        told = sorted(Event.objects.filter(type__startswith="coordination.").values_list("type", flat=True))
        assert told == ["coordination.canceled", *["coordination.committed"] * 5]

    def _change(self, changes: list[dict[str, Any]]) -> list[int]:
        """Call under one key until there is an answer, as a careful caller does."""
        key = {"Idempotency-Key": f"key-{next(self._keys)}"}
        for _ in range(PATIENCE):
            answer = self._survive(
                lambda: self._caller("POST", "/coordination/writer/changes/", {"changes": changes}, **key)
            )
            if answer is not None and answer.status_code == 202:
                return list(answer.json()["id"])
            assert answer is None or answer.status_code >= 500, answer.content
        raise AssertionError("it was never accepted")

    def _settle(self) -> None:
        """Let all take turns until every event has ended; when nobody has anything to do, ten seconds pass."""
        for _ in range(PATIENCE):
            if not any([self._survive(role.run_once) for role in self._cast.all]):
                if not AppEvent.objects.filter(ended_at=None).exists():
                    return
                _let_time_pass()
        raise AssertionError("it never came to its end")

    def _survive(self, do: Callable[[], Any]) -> Any:
        """Who dies starts again, without its queues if those were its own; an engine that was away is asked again."""
        try:
            with self._injector.at_work():
                return do()
        except ProcessKilled:
            connections.close_all()
            if self._is_embedded:
                self._bus.lose_all()
            self._cast = InMemoryRoles(bus=self._bus)
        except (OperationalError, OSError):
            connections.close_all()
        return None


class FaultyBus(MemoryBus):
    """Every sending is a step that may go wrong."""

    def __init__(self, injector: FaultInjector) -> None:
        super().__init__()
        self._injector = injector

    def send(self, letters: list[OutgoingMessage]) -> None:
        self._injector.step("send", lambda: super(FaultyBus, self).send(letters))

    def lose_all(self) -> None:
        with self._lock:
            self._queues.clear()


class Watcher:
    """Reads the reader's tables all the while: twins that differ would be a part of an event."""

    def __init__(self) -> None:
        self.looks = 0
        self.torn: list[list[str]] = []
        self._end = threading.Event()

    @contextmanager
    def watching(self) -> Iterator["Watcher"]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield self
        finally:
            self._end.set()
            thread.join()

    def _run(self) -> None:
        try:
            while not self._end.wait(0.01):
                self._look()
        finally:
            connections.close_all()

    def _look(self) -> None:
        names = list(reader.TABLES["DummyItem"].objects.using(READER).values_list("name", flat=True))
        self.looks += 1
        if len(set(names)) > 1 or len(names) not in (0, 10, 12):
            self.torn.append(names)


def _insert(entity: str, **fields: Any) -> dict[str, Any]:
    return {"entity": entity, "op": "insert", "fields": fields}


def _update(entity: str, id: int, **fields: Any) -> dict[str, Any]:
    return {"entity": entity, "op": "update", "id": id, "fields": fields}


def _delete(entity: str, id: int) -> dict[str, Any]:
    return {"entity": entity, "op": "delete", "id": id}


def _let_time_pass() -> None:
    for rows in (AppEvent.objects, WriterEvent.objects):
        rows.filter(again_at__isnull=False).update(again_at=timezone.now())


def _forget_all() -> None:
    """Begin with empty tables; emptying the whole database would cost more than the drill."""
    Event.objects.filter(type__startswith="coordination.").delete()
    for rows in (AppEvent.objects, WriterEvent.objects, reader.AppEvent.objects.using(READER)):
        rows.all().delete()
    DummyNode.objects.update(parent=None)
    reader.TABLES["DummyNode"].objects.using(READER).update(parent=None)
    for name, table in (("DummyItem", DummyItem), ("DummyNode", DummyNode)):
        table.objects.all().delete()
        reader.TABLES[name].objects.using(READER).all().delete()
