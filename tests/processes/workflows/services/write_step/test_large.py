"""An instance that waits at thousands of places: ended and returned by a few statements, in proportionate time."""

import sqlite3
import time
from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from processes.workflows.heads import Head
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkflowSubscription, WorkflowTimer, WorkItem
from processes.workflows.services.returns import return_instance
from tests.processes.workflows.process_files import flow, message, named, process, timer
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

ROUNDS = 6
KINDS = {"timer": timer("wait", "PT1H"), "message": message("wait")}


def side_by_side(kind: str, count: int) -> bytes:
    """A process that waits at so many places of a kind at once."""
    rounds = f"<loopCardinality>{count}</loopCardinality>"
    rounds = f"<multiInstanceLoopCharacteristics>{rounds}</multiInstanceLoopCharacteristics>"
    if kind == "task":
        each = f'<userTask id="each">{rounds}</userTask>'
    else:
        inner = f'<startEvent id="in"/>{KINDS[kind][1]}<endEvent id="out"/>{flow("in", "wait")}{flow("wait", "out")}'
        each = f'<subProcess id="each">{inner}{rounds}</subProcess>'
    ends = '<startEvent id="begin"/><endEvent id="end"/>'
    flows = (flow("begin", "each"), flow("each", "end"))
    return process(f"many-{kind}-{count}", ends, each, *flows, before=named("parcel"))


def go_back(head: Head) -> None:
    return_instance(head.id, version=1, reason="once more", actor="tester", at=timezone.now())


def waiting(head: Head) -> int:
    places = [WorkItem.objects.filter(status="open"), WorkflowTimer.objects.all(), WorkflowSubscription.objects.all()]
    return sum(rows.filter(instance=head.id).count() for rows in places)


def count_statements(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as statements:
        act()
    return len(statements)


def measure(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


class TestManyAtOnce:
    @pytest.mark.parametrize("kind", ["task", *KINDS])
    def test_take_no_more_statements_than_few(self, scene: Scene, kind: str) -> None:
        counts: dict[int, list[int]] = {}
        for size in (30, 300):
            head = scene.begin(side_by_side(kind, size))
            counts[size] = [
                count_statements(partial(scene.command, head, "set_variables", variables={"a": 1})),
                count_statements(partial(go_back, head)),
                count_statements(partial(scene.command, head, "terminate")),
                count_statements(partial(go_back, head)),
            ]
            assert waiting(head) == size
        assert counts[300] == counts[30]

    def test_end_and_come_back_as_their_rows_say(self, scene: Scene) -> None:
        head = scene.begin(side_by_side("task", 50))
        scene.command(head, "terminate")
        assert waiting(head) == 0
        go_back(head)
        statuses = [status for _, status in scene.items(head)]
        assert statuses == ["cancelled"] * 50 + ["open"] * 50
        go_back(head)
        assert [status for _, status in scene.items(head)][50:] == ["abandoned"] * 50 + ["open"] * 50

    @pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no such limit on what is bound")
    def test_end_with_an_incident_by_no_more_parameters_than_few(self, scene: Scene) -> None:
        head = scene.begin(side_by_side("task", 300))
        WorkflowIncident.objects.create(instance_id=head.id, about="x", command={}, opened_at=timezone.now())
        WorkflowInstance.objects.update(open_incidents=1, status="incident")
        connection.ensure_connection()
        before = connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 100)
        try:
            assert scene.command(head, "terminate").status == "terminated"
        finally:
            connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, before)
        assert WorkflowIncident.objects.get().status == "resolved"

    @pytest.mark.slow
    def test_take_time_in_proportion(self, scene: Scene) -> None:
        """Ten times as many took 44 times as long while the text of all was read again for each."""
        heads = {size: scene.begin(side_by_side("task", size)) for size in (400, 4000)}
        shortest = dict.fromkeys(heads, float("inf"))
        for _ in range(ROUNDS):
            for size, head in heads.items():
                shortest[size] = min(shortest[size], measure(partial(scene.command, head, "terminate")))
                go_back(head)
            # On a busy machine a round says little; in proportion once is in proportion.
            if shortest[4000] < 25 * shortest[400] + 0.5:
                return
        pytest.fail(f"seconds by size: {shortest}")
