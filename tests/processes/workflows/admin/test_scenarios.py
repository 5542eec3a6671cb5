import json
from pathlib import Path

import pytest
from django.test import Client

from processes.workflows.models import WorkflowScenarios
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

DRAWN = Path(__file__).parents[1] / "engine/bpmn/files/camunda_modeler_7.bpmn"


@pytest.fixture
def page(scene: Scene) -> str:
    key = scene.publish(DRAWN.read_bytes()).key
    return f"/admin/workflows/workflowdefinition/{key.replace('_', '_5F')}"


def write(*steps: dict[str, object]) -> dict[str, str]:
    return {"scenarios": json.dumps([{"name": "as usual", "steps": steps}])}


class TestScenarios:
    def test_are_saved_and_shown_with_what_came_of_them(self, page: str, operator: Client) -> None:
        assert "No scenarios yet." in operator.get(f"{page}/scenarios/").content.decode()
        assert f"{page}/scenarios/" in operator.get(f"{page}/change/").content.decode()

        good = operator.post(f"{page}/scenarios/", write({"expect": {"status": "active"}}), follow=True)
        assert "✓ passed" in good.content.decode()
        assert "elements." in good.content.decode()
        bad = operator.post(f"{page}/scenarios/", write({"expect": {"status": "completed"}}), follow=True)
        assert "✗ Step 1: the instance is active, not completed." in bad.content.decode()

    def test_the_drawing_shows_what_nobody_tries(self, page: str, operator: Client) -> None:
        operator.post(f"{page}/scenarios/", write())
        picture = f"{page}/revisions/1/diagram.svg"
        assert f"{picture}?coverage=1" in operator.get(f"{page}/scenarios/").content.decode()
        assert "no scenario comes here" in operator.get(f"{picture}?coverage=1").content.decode()
        assert "no scenario comes here" not in operator.get(picture).content.decode()

    def test_what_is_no_scenario_is_refused_with_the_reason(self, page: str, operator: Client) -> None:
        answer = operator.post(f"{page}/scenarios/", {"scenarios": '[{"name": "a", "steps": [{"dance": 1}]}]'})
        assert "dance" in answer.context["form"].errors["scenarios"][0]
        assert not WorkflowScenarios.objects.exists()

    def test_a_viewer_sees_them_and_no_form(self, page: str, viewer: Client) -> None:
        assert "<textarea" not in viewer.get(f"{page}/scenarios/").content.decode()
        assert viewer.post(f"{page}/scenarios/", write()).status_code == 403
        assert not WorkflowScenarios.objects.exists()
