"""Nothing is left of a step that could not be written; what it costs does not grow."""

from typing import Any

import pytest
from django.db import OperationalError, connection

from notifications.models import Event
from processes.workflows.models import WorkflowBody, WorkflowEffect, WorkflowInstance, WorkflowVersion, WorkItem
from processes.workflows.services import start, write_step
from tests.processes.workflows.process_files import chain, service, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

TELLS = chain("p", user("a"), service("say", "event"), service("tell", "alert"), user("b"))


def rows() -> list[int]:
    tables = (WorkflowInstance, WorkflowVersion, WorkItem, WorkflowEffect, WorkflowBody, Event)
    return [table._default_manager.count() for table in tables]


def fail(*_: Any) -> None:
    raise OperationalError("gone")


class TestFailureOfAStep:
    def test_a_start_that_is_cut_off_leaves_nothing(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.publish(TELLS)
        before = rows()
        monkeypatch.setattr(start, "write_step", fail)
        with pytest.raises(OperationalError):
            scene.start("p")
        assert rows() == before

    @pytest.mark.parametrize("part", ["_write_version", "_write_open_work", "_write_effects"])
    def test_a_command_that_is_cut_off_leaves_nothing(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, part: str
    ) -> None:
        if connection.vendor == "postgresql":
            pytest.skip("there it is one statement")
        head = scene.begin(TELLS)
        before = rows()
        monkeypatch.setattr(write_step, part, fail)
        with pytest.raises(OperationalError):
            scene.complete(head)
        assert rows() == before
        assert scene.head(head).number == 1


class TestGrowth:
    def test_a_version_is_as_large_as_its_state_whatever_came_before(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a")), x=0)
        for turn in range(30):
            scene.command(head, "set_variables", variables={"x": turn % 10})
        sizes = {len(version.skeleton) for version in WorkflowVersion.objects.filter(instance=head.id, number__gt=1)}
        assert len(sizes) == 1

    def test_the_head_is_found_by_its_number(self, scene: Scene) -> None:
        """Among a hundred thousand finished instances, too: every table of the statement is read by an index."""
        if connection.vendor != "postgresql":
            pytest.skip("the plan is PostgreSQL's")
        from config.common.database.sql import load_engine_sql

        head = scene.begin(chain("p", user("a")))
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {load_engine_sql('processes.workflows', 'read_head')}", {"instance": head.id})
            plan = "\n".join(row[0] for row in cursor.fetchall())
        assert "Seq Scan" not in plan
        assert "(number = instance.head)" in plan, "and not all versions of the instance"
