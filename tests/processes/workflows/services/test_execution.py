from typing import Any

import pytest

from processes.workflows import errors
from processes.workflows.services import execution
from processes.workflows.services.write_step import write_step
from tests.processes.workflows.process_files import (
    chain,
    user,
)
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

TWO_TASKS = chain("p", user("a"), user("b"))


class TestExecuteCommand:
    def test_whoever_is_overtaken_tries_again(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        head = scene.begin(TWO_TASKS)
        _overtake_once(scene, head.id, monkeypatch)
        after = scene.command(head, "set_variables", variables={"mine": 1})
        assert (after.number, [number for number, _, _ in scene.chain(head)]) == (3, [1, 2, 3])

    def test_unless_it_names_the_version(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        head = scene.begin(TWO_TASKS)
        _overtake_once(scene, head.id, monkeypatch)
        with pytest.raises(errors.VersionConflict):
            scene.command(head, "set_variables", variables={"mine": 1}, expected_version=1)


def _overtake_once(scene: Scene, instance_id: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody else move the head between the reading and the writing of the next command."""

    def overtaken(step: Any) -> Any:
        monkeypatch.setattr(execution, "write_step", write_step)
        scene.command(instance_id, "set_variables", variables={"other": 1})
        return write_step(step)

    monkeypatch.setattr(execution, "write_step", overtaken)
