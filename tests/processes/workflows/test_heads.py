"""A command on a head that this process has just written: one round trip less, and nothing else."""

from typing import Any

import pytest
from django.db import transaction

from processes.workflows import heads
from processes.workflows.errors import NotPossible
from processes.workflows.heads import Head, clear_head_cache, get_head, take_cached_head
from processes.workflows.models import WorkflowInstance
from processes.workflows.services import commands
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.embedded]

TWO = chain("p", user("a"), user("b"))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Note each reading of a head."""
    noted: list[Any] = []

    def note(instance_id: Any, *, lock: bool = False) -> Head:
        noted.append(lock)
        return get_head(instance_id, lock=lock)

    monkeypatch.setattr(commands, "get_head", note)
    return noted


def by_another(scene: Scene, head: Head, command: str, **fields: Any) -> None:
    """Give a command as another process would: what this one remembers stays."""
    kept = dict(heads._cache)
    clear_head_cache()
    scene.command(head, command, **fields)
    heads._cache.clear()
    heads._cache.update(kept)


class TestTakeCachedHead:
    def test_needs_no_reading(self, scene: Scene, reads: list[Any]) -> None:
        head = scene.begin(TWO)
        assert scene.complete(scene.complete(head)).status == "completed"
        assert reads == []
        assert [number for number, *_ in scene.chain(head)] == [1, 2, 3]

    def test_somebody_who_was_faster_is_not_overwritten(self, scene: Scene) -> None:
        head = scene.begin(TWO, x=1)
        by_another(scene, head, "set_variables", variables={"y": 2})
        after = scene.command(head, "set_variables", variables={"z": 3})
        assert after.number == 3
        assert after.state is not None
        assert next(iter(after.state["scopes"].values()))["variables"] == {"x": 1, "y": 2, "z": 3}

    def test_nobody_is_refused_for_what_is_out_of_date(self, scene: Scene) -> None:
        head = scene.command(scene.begin(TWO), "suspend")
        task = scene.task(head)
        by_another(scene, head, "resume")
        assert scene.command(head, "complete_task", task=task).number == 4

    def test_nobody_is_let_through_for_it(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        task = scene.task(head)
        by_another(scene, head, "complete_task", task=task)
        with pytest.raises(NotPossible):
            scene.command(head, "complete_task", task=task)
        assert scene.head(head).number == 2

    def test_an_incident_that_was_opened_meanwhile_counts(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        WorkflowInstance.objects.filter(pk=head.id).update(open_incidents=1, status="incident")
        assert scene.command(head, "set_variables", variables={"x": 1}).status == "incident"


class TestCacheHead:
    def test_what_was_rolled_back_never_was(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        clear_head_cache()
        with transaction.atomic():
            scene.command(head, "set_variables", variables={"x": 1})
            transaction.set_rollback(True)
        assert take_cached_head(head.id) is None

    def test_for_a_moment_only(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        head = scene.begin(TWO)
        monkeypatch.setattr(heads, "CACHE_SECONDS", 0.0)
        assert take_cached_head(head.id) is None

    def test_few_and_small_ones(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(heads, "CACHE_HEADS", 1)
        first, second = scene.begin(TWO), scene.start("p")
        assert (take_cached_head(first.id), take_cached_head(second.id)) == (None, second)
        large = scene.start("p", text="x" * 20_000)
        assert take_cached_head(large.id) is None
