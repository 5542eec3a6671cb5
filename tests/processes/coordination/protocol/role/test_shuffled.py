"""Every message delivered twice, in any order, over change sets of all kinds: the Writer and the reader end equal."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from config.common.errors import Invalid
from notifications.models import Alert
from processes.coordination.models import AppEvent, DummyItem, DummyNode
from processes.coordination.models import writer as of_writer
from processes.coordination.protocol.messages import queue_of_reader
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as of_reader
from processes.coordination.writer.change_sets import RequestedChange
from sensors.models import Client, Sensor, SensorClient
from sensors.services.clients import create_client, update_client
from sensors.services.sensors import create_sensor, update_sensor
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    ShuffledBus,
    make_change_set,
    request_change,
    rows_of,
)

pytestmark = pytest.mark.django_db(databases=DATABASES)
READER = "reader_main"


class Author:
    """Makes change sets of all kinds by chance."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0
        self._kinds: list[Callable[[], None]] = [self._items, self._nodes, self._nodes, self._registry]

    def write(self) -> None:
        self._random.choice(self._kinds)()

    def _items(self) -> None:
        known = list(DummyItem.objects.order_by("pk").values_list("pk", flat=True))
        changed = self._random.sample(known, min(len(known), 3))
        updates = [request_change("DummyItem", "update", pk, name=self._name()) for pk in changed]
        deletes = [request_change("DummyItem", "delete", pk) for pk in changed[:1]]
        inserts = [
            request_change("DummyItem", "insert", name=self._name()) for _ in range(self._random.randrange(1, 14))
        ]
        self._try(*inserts, *updates, *deletes)

    def _nodes(self) -> None:
        known = list(DummyNode.objects.order_by("pk").values_list("pk", flat=True))
        moved = self._random.sample(known, min(len(known), 2))
        moves = [request_change("DummyNode", "update", pk, parent=self._random.choice([*known, None])) for pk in moved]
        parent = self._random.choice([*known, None])
        self._try(*moves, request_change("DummyNode", "insert", name=self._name(), parent=parent))
        if known:
            self._try(request_change("DummyNode", "delete", self._random.choice(known)))

    def _registry(self) -> None:
        clients = list(Client.objects.order_by("pk").values_list("pk", flat=True))
        sensors = list(Sensor.objects.order_by("pk").values_list("pk", flat=True))
        if not clients or self._random.random() < 0.2:
            create_client(actor="test", name=self._name(), url="https://x.example/hook")
            return
        some = self._random.sample(clients, self._random.randrange(len(clients) + 1))
        if not sensors or self._random.random() < 0.3:
            create_sensor(sensor_id=f"0x{len(sensors) + 16:X}", actor="test", address=self._name(), clients=some)
            return
        update_sensor(sensor_id=self._random.choice(sensors), actor="test", notes=self._name(), clients=some)
        update_client(client_id=self._random.choice(clients), actor="test", name=self._name())

    def _try(self, *changes: RequestedChange) -> None:
        """Ask for changes by chance; what would break the tree is refused, and asked for one by one."""
        try:
            make_change_set(*changes)
        except Invalid:
            if len(changes) > 1:
                for change in changes:
                    self._try(change)

    def _name(self) -> str:
        self._number += 1
        return f"n{self._number}"


def of_registry() -> list[Any]:
    """Return what the Writer says of the registry, in the reader's form."""
    sensors = {pk: notes for pk, notes in Sensor.objects.values_list("pk", "notes")}
    links = {f"{sensor}:{client}" for sensor, client in SensorClient.objects.values_list("sensor_id", "client_id")}
    return [sensors, dict(Client.objects.values_list("pk", "name")), links]


def of_registry_at_reader() -> list[Any]:
    def read(name: str) -> Any:
        return of_reader.TABLES[name].objects.using(READER)

    links = set(read("SensorLink").values_list("pk", flat=True))
    return [dict(read("Sensor").values_list("pk", "notes")), dict(read("Client").values_list("pk", "name")), links]


def is_equal(name: str) -> bool:
    return rows_of(of_writer.TABLES[name], using="default") == rows_of(of_reader.TABLES[name], using=READER)


class TestShuffled:
    @pytest.mark.parametrize(("seed", "parallel"), [(0, 1), (1, 8), (2, 8)])
    def test_all_is_committed_and_equal(self, seed: int, parallel: int, settings: Any) -> None:
        settings.COORDINATION_PARALLEL = parallel
        roles, author = InMemoryRoles(bus=ShuffledBus(seed)), Author(seed)
        for _ in range(5):
            author.write()
            for role in roles.all:
                role.run_once()
        roles.settle()
        assert set(AppEvent.objects.values_list("app_event_status_id", flat=True)) == {EventStatus.COMMITTED}
        assert is_equal("DummyItem")
        assert is_equal("DummyNode")
        assert of_registry_at_reader() == of_registry()
        assert not Alert.objects.exists()

    @pytest.mark.parametrize("seed", range(2))
    def test_what_is_refused_is_taken_back_on_both_sides(self, seed: int, settings: Any) -> None:
        settings.COORDINATION_PARALLEL = 8
        roles = InMemoryRoles(bus=ShuffledBus(seed))
        good = make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(12)))
        bad = make_change_set(*(request_change("DummyItem", "insert", name=f"m{n}") for n in range(12)))
        row = {"name": "foreign", "correlation_id": DummyItem.objects.get(pk=bad.ids[0]).correlation_id}
        of_reader.TABLES["DummyItem"].objects.using(READER).create(id=bad.ids[0], **row)
        roles.settle()
        roles.rest()
        assert sorted(rows_of(DummyItem, using="default")) == good.ids
        assert sorted(rows_of(of_reader.TABLES["DummyItem"], using=READER)) == [*good.ids, bad.ids[0]]
        ended = of_reader.AppEvent.objects.using(READER).values_list("pk", "app_event_status_id")
        assert dict(ended) == {good.event: EventStatus.COMMITTED, bad.event: EventStatus.CANCELED}


class TestShuffledBus:
    def test_delivers_everything_twice_and_not_in_order(self) -> None:
        """Else the tests above would show nothing."""
        roles = InMemoryRoles(bus=ShuffledBus(0))
        make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(35)))
        roles.settle(lambda: bool(roles.bus._queues[queue_of_reader("main")]))
        roles.settle(lambda: len(roles.bus._queues[queue_of_reader("main")]) >= 8)
        pages = [min(each.id for each in message.payloads) for message in roles.bus._queues[queue_of_reader("main")]]
        assert sorted(pages) == sorted([*set(pages), *set(pages)])
        assert pages != sorted(pages)
