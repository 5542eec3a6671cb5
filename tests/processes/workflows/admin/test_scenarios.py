import json
import re
from base64 import b64decode
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
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
        operator.cookies["django_language"] = "ru"
        russian = operator.get(f"{page}/scenarios/").content.decode()
        assert "✗ Шаг 1: статус экземпляра — «выполняется», а не «завершён»." in russian

    def test_that_refuse_a_file_are_named_with_what_they_miss(self, page: str, operator: Client) -> None:
        operator.post(f"{page}/scenarios/", write({"expect": {"status": "completed"}}))
        file = SimpleUploadedFile("order.bpmn", DRAWN.read_bytes() + b"<!-- another -->")
        answer = operator.post("/admin/workflows/workflowdefinition/upload/", {"file": file})
        assert "“as usual”: Step 1: the instance is active, not completed." in answer.content.decode()

    def test_the_drawing_shows_what_nobody_tries(self, page: str, operator: Client) -> None:
        operator.post(f"{page}/scenarios/", write())
        picture = f"{page}/revisions/1/diagram.svg"
        shown = operator.get(f"{page}/scenarios/").content.decode()
        assert f'href="{picture}?coverage=1"' in shown
        # The picture comes with the page: for another call of it all scenarios would be played once more.
        [drawn] = re.findall('src="data:image/svg\\+xml;base64,([^"]+)"', shown)
        assert "no scenario comes here" in b64decode(drawn).decode()
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
