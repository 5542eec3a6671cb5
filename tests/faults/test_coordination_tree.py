"""A tree that two writers create, move and delete at random, in change sets, while everything is delivered twice and in
any order and many events are under way at once: both sides have the same tree in the end."""

import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from config.common.errors import Invalid
from processes.coordination.maintenance.rebuild import rebuild_reader
from processes.coordination.models import AppEvent
from processes.coordination.models.writer import DummyNode
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as reader
from processes.coordination.writer.change_sets import RequestedChange
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    ShuffledBus,
    make_change_set,
    request_change,
    rows_of,
)

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
NODES = max(30, int(1000 * SCALE))
WRITERS = 2
PAUSE = 0.1 + SCALE
"""Between two times that a reader is rebuilt: what is under way then begins anew, and many events need time."""
pytestmark = [pytest.mark.django_db(transaction=True, databases=DATABASES), pytest.mark.timeout(1800)]


class TreeWriter:
    """Makes change sets until its share of the nodes has been created, with moves and deletions between."""

    def __init__(self, seed: int, nodes: int) -> None:
        self._random, self._nodes = random.Random(seed), nodes
        self.made = self.refused = 0

    def run(self) -> None:
        try:
            while self.made < self._nodes:
                self._change()
        finally:
            connections.close_all()

    def _change(self) -> None:
        known = list(DummyNode.objects.values_list("pk", flat=True))
        changes = [self._wanted(known) for _ in range(self._random.randint(1, 6))]
        try:
            make_change_set(*changes)
        except Invalid:  # a circle, a parent with children, a row that the other one has deleted
            self.refused += 1
        else:
            self.made += sum(change.op == "insert" for change in changes)

    def _wanted(self, known: list[int]) -> RequestedChange:
        kind = self._random.choice(["insert", "insert", "move", "move", "delete"]) if len(known) > 10 else "insert"
        parent = self._random.choice([None, *known])
        if kind == "insert":
            return request_change("DummyNode", "insert", name=f"n{self._random.randrange(1000)}", parent=parent)
        if kind == "move":
            return request_change("DummyNode", "update", self._random.choice(known), parent=parent)
        return request_change("DummyNode", "delete", self._random.choice(known))


@pytest.mark.embedded
def test_both_sides_have_the_same_tree(settings: Any) -> None:
    settings.COORDINATION_PARALLEL = 8
    roles = InMemoryRoles(bus=ShuffledBus(seed=9))
    writers = write_all(roles, NODES)
    roles.settle_by_repeats()
    print(f"{AppEvent.objects.count()} events, {sum(writer.made for writer in writers)} nodes made")
    check_sides()


def test_a_reader_is_rebuilt_while_they_write(settings: Any) -> None:
    settings.COORDINATION_PARALLEL = 8
    roles = InMemoryRoles()
    rebuilt: list[int] = []
    over = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        rebuilding = threads.submit(rebuild_until, over, rebuilt)
        try:
            write_all(roles, NODES // 2)
            roles.settle_by_repeats()
        finally:
            over.set()
        rebuilding.result()
    print(f"rebuilt {len(rebuilt)} times, with up to {max(rebuilt)} rows")
    check_sides()
    assert len(rebuilt) > 1
    assert max(rebuilt) > 0


def write_all(roles: InMemoryRoles, nodes: int) -> list[TreeWriter]:
    """Let the writers write, and the roles take turns all the while."""
    writers = [TreeWriter(seed, nodes // WRITERS) for seed in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as threads:
        running = [threads.submit(writer.run) for writer in writers]
        while not all(each.done() for each in running):
            for role in roles.all:
                role.run_once()
        for each in running:
            each.result()
    return writers


def rebuild_until(over: threading.Event, rebuilt: list[int]) -> None:
    try:
        while not over.wait(PAUSE):
            rebuilt.append(rebuild_reader("main")["DummyNode"])
    finally:
        connections.close_all()


def check_sides() -> None:
    assert {event.status for event in AppEvent.objects.all()} == {EventStatus.COMMITTED}
    ours, theirs = rows_of(DummyNode, using="default"), rows_of(reader.TABLES["DummyNode"], using="reader_main")
    assert ours == theirs
    assert is_tree({pk: row["parent_id"] for pk, row in theirs.items()})


def is_tree(parents: dict[int, int | None]) -> bool:
    """Say whether every line upwards ends."""
    for start in parents:
        seen, current = set(), parents[start]
        while current is not None and current not in seen:
            seen.add(current)
            current = parents[current]
        if current is not None:
            return False
    return True
