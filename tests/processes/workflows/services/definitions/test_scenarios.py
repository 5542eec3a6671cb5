import json
from datetime import UTC, datetime
from typing import Any

import pytest

from config.common.errors import Invalid
from config.records.models import ChangeRecord
from processes.workflows.engine.parser import parse_definition
from processes.workflows.errors import ScenariosFailed
from processes.workflows.models import WorkflowDefinition, WorkflowRevision
from processes.workflows.services.definitions import scenarios
from processes.workflows.services.definitions.scenarios import parse_scenarios, rehearse, save_scenarios
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ORDER = chain("order", user("check"), user("ship"))
CHECKED = {"name": "checked", "steps": [{"complete": "check"}, {"expect": {"tasks": ["ship"]}}]}


def call(key: str) -> tuple[str, str]:
    return "inside", f'<callActivity id="inside" calledElement="{key}"/>'


def expect(scene: Scene, *written: dict[str, Any]) -> WorkflowDefinition:
    scene.publish(ORDER)
    definition = WorkflowDefinition.objects.get(pk="order")
    save_scenarios(definition, json.dumps(written), actor="ann", at=NOW)
    return definition


class TestPublish:
    def test_a_file_that_does_otherwise_is_refused(self, scene: Scene) -> None:
        expect(scene, CHECKED)

        with pytest.raises(ScenariosFailed) as refused:
            scene.publish(chain("order", user("check"), user("pack")))

        assert refused.value.data == {
            "failures": [{"scenario": "checked", "failure": "Step 2: the open tasks are pack."}]
        }
        assert WorkflowRevision.objects.count() == 1

    def test_one_that_does_as_expected_is_published(self, scene: Scene) -> None:
        expect(scene, CHECKED)

        assert scene.publish(chain("order", user("check"), user("ship"), user("bill"))).revision == 2

    def test_what_was_published_before_is_not_asked_again(self, scene: Scene) -> None:
        expect(scene, {"name": "never", "steps": [{"complete": "none"}]})

        assert scene.publish(ORDER).revision == 1

    def test_other_definitions_are_not_asked(self, scene: Scene) -> None:
        expect(scene, {"name": "never", "steps": [{"complete": "none"}]})

        assert scene.publish(chain("other", user("a"))).is_new


class TestRehearse:
    def test_calls_reach_the_definitions_that_are_there(self, scene: Scene) -> None:
        scene.publish(chain("inner", user("ask")))
        expect(scene, {"name": "a", "steps": [{"complete": "ask"}, {"expect": {"status": "completed"}}]})
        outer = parse_definition(chain("order", call("inner")))

        assert rehearse(outer, None).failures == []
        away = parse_definition(chain("order", call("nowhere")))
        assert rehearse(away, None).failures[0]["scenario"] == "a"

    def test_names_what_nobody_tries(self, scene: Scene) -> None:
        expect(scene, CHECKED)

        found = rehearse(parse_definition(chain("order", user("check"), user("ship"), user("bill"))), None)

        assert "bill" in found.uncovered
        assert "ship" not in found.uncovered

    def test_ends_when_its_time_is_over(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        expect(scene, CHECKED, {**CHECKED, "name": "again"})
        monkeypatch.setattr(scenarios, "LONGEST_SECONDS", -1.0)

        found = rehearse(parse_definition(ORDER), None)

        assert [each["failure"] for each in found.failures] == ["There was no time left for it."] * 2


class TestSaveScenarios:
    def test_the_change_log_names_them(self, scene: Scene) -> None:
        definition = expect(scene, CHECKED)
        save_scenarios(definition, "[]", actor="bob", at=NOW)

        first, second = ChangeRecord.objects.filter(kind=scenarios.KIND).order_by("pk")
        assert (first.before, first.after) == (None, {"scenarios": ["checked"]})
        assert (second.before, second.after) == ({"scenarios": ["checked"]}, {"scenarios": []})

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "{}",
            '[{"name": "a"}]',
            '[{"name": "a", "steps": [{"dance": 1}]}]',
            '[{"name": "a", "steps": [{"expect": {"path": 7}}]}]',
            '[{"name": "", "steps": []}]',
            '[{"name": "a", "steps": []}, {"name": "a", "steps": []}]',
        ],
    )
    def test_what_is_no_scenario_is_refused(self, text: str) -> None:
        with pytest.raises(Invalid):
            parse_scenarios(text)

    @pytest.mark.parametrize(
        ("bound", "most"), [("LARGEST", 10), ("MOST_SCENARIOS", 1), ("MOST_STEPS", 1)], ids=["bytes", "number", "steps"]
    )
    def test_is_bounded(self, monkeypatch: pytest.MonkeyPatch, bound: str, most: int) -> None:
        text = json.dumps([CHECKED, {**CHECKED, "name": "again"}])
        assert len(parse_scenarios(text)) == 2
        monkeypatch.setattr(scenarios, bound, most)

        with pytest.raises(Invalid) as refused:
            parse_scenarios(text)

        assert "At most" in str(refused.value.data)
