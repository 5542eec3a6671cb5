from html import unescape
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from processes.workflows.models import ShadowDifference, WorkflowDefinition, WorkflowShadow
from tests.processes.workflows.process_files import chain, script, user
from tests.processes.workflows.scene import Scene
from tests.processes.workflows.services.shadow.trial import follow, try_out

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

DEFINITION = "/admin/workflows/workflowdefinition/order"
PAGE = f"{DEFINITION}/shadow/"
ORDER = chain("order", user("check"))
NEXT = chain("order", script("sum", "total", "1"), user("check"))


@pytest.fixture
def _trial(scene: Scene) -> None:
    scene.publish(ORDER)
    try_out(NEXT)
    scene.complete(scene.start("order"))
    follow()


class TestUpload:
    def test_begins_a_trial_and_leads_to_it(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        file = SimpleUploadedFile("order.bpmn", NEXT)
        answer = operator.post(f"{DEFINITION}/upload/", {"file": file, "shadow": "on"}, follow=True)
        assert answer.redirect_chain[-1][0] == PAGE
        text = answer.content.decode()
        assert "On trial beside the current revision: “order”, revision 2." in text
        assert "Nothing has been compared yet" in text
        page = operator.get(f"{DEFINITION}/change/").content.decode()
        assert ("Revision 2 on trial" in page, PAGE in page) == (True, True)


@pytest.mark.usefixtures("_trial")
class TestPage:
    def test_shows_how_it_stands_and_where_it_differs(self, operator: Client) -> None:
        WorkflowShadow.objects.update(actor="staff:olga")
        text = operator.get(PAGE).content.decode()
        assert "Revision 2 beside revision 1" in text
        assert ("staff:" in text, "· olga" in text) == (False, True)
        assert ("other path" in text, "other variables" in text, "total" in text) == (True, True, True)
        row = ShadowDifference.objects.get(kind="variables")
        shown = operator.get(PAGE, {"difference": row.pk}).content.decode()
        assert ("Revision 1, as it was" in shown, "first difference" in shown) == (True, False)
        example = WorkflowShadow.objects.get().differences.get(pk=row.pk).examples.get()
        assert f"/{example.instance}/" in shown
        assert f">order · {str(example.instance)[-12:]}</a> Version 1" in shown

    def test_says_the_times_of_what_differs_as_its_reader_has_them(self, operator: Client) -> None:
        row = ShadowDifference.objects.get(kind="variables")
        text = '{"due": "2026-01-31T12:00:00.25+00:00", "order": "2026-13-45T99:00:00Z"}'
        row.examples.update(live=text)
        shown = unescape(operator.get(PAGE, {"difference": row.pk}).content.decode())
        assert '{"due": "31 Jan 2026, 12:00:00 UTC", "order": "2026-13-45T99:00:00Z"}' in shown

    @pytest.mark.parametrize("chosen", ["0", "x", "9" * 30, "-1", "99"])
    def test_what_is_no_difference_shows_none(self, operator: Client, chosen: str) -> None:
        assert 'id="examples"' not in operator.get(PAGE, {"difference": chosen}).content.decode()

    def test_is_promoted_after_a_question(self, operator: Client) -> None:
        assert "New instances start with it" in operator.get(f"{PAGE}promote/").content.decode()
        operator.post(f"{PAGE}promote/", {"revision": 2})
        assert (WorkflowDefinition.objects.get().newest, WorkflowShadow.objects.count()) == (2, 0)

    def test_is_discarded_after_a_question(self, operator: Client) -> None:
        assert "What was compared is deleted." in operator.get(f"{PAGE}discard/").content.decode()
        operator.post(f"{PAGE}discard/", {"revision": 2})
        assert (WorkflowDefinition.objects.get().newest, WorkflowShadow.objects.count()) == (1, 0)
        assert operator.get(PAGE).status_code == 404

    def test_another_one_than_was_seen_is_not_promoted(self, operator: Client) -> None:
        answer = operator.post(f"{PAGE}promote/", {"revision": 7})
        assert "Another revision of this definition is on trial" in answer.content.decode()
        assert WorkflowDefinition.objects.get().newest == 1

    def test_one_that_was_overtaken_says_so_and_offers_no_promotion(self, scene: Scene, operator: Client) -> None:
        scene.publish(chain("order", user("urgent")))
        text = operator.get(PAGE).content.decode()
        assert "Revision 3 has been published since" in text
        assert ("shadow/promote/" in text, "shadow/discard/" in text) == (False, True)

    def test_a_viewer_sees_it_and_no_button(self, viewer: Client) -> None:
        text = viewer.get(PAGE).content.decode()
        assert "other path" in text
        assert ("shadow/promote/" in text, "shadow/discard/" in text) == (False, False)
        for action in ("promote", "discard"):
            assert viewer.post(f"{PAGE}{action}/", {"revision": 2}).status_code == 403
        assert WorkflowShadow.objects.exists()


class TestDrawing:
    def test_marks_where_instances_differ(self, scene: Scene, operator: Client) -> None:
        drawn = (Path(__file__).parents[2] / "engine/bpmn/files/camunda_modeler_7.bpmn").read_bytes()
        key = scene.publish(drawn).key
        try_out(drawn)
        shadow = WorkflowShadow.objects.get()
        values = {"count": 3, "first_at": shadow.since, "last_at": shadow.since}
        ShadowDifference.objects.create(shadow=shadow, kind="path", place="Activity_check", **values)
        page = f"/admin/workflows/workflowdefinition/{key.replace('_', '_5F')}"
        picture = f"{page}/revisions/2/diagram.svg"
        assert f"{picture}?differences=1" in operator.get(f"{page}/shadow/").content.decode()
        assert "other path: 3 instances differ" in operator.get(f"{picture}?differences=1").content.decode()
        assert "instances differ" not in operator.get(picture).content.decode()
