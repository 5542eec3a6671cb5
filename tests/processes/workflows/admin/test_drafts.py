import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from processes.workflows.admin import drafts
from processes.workflows.models import WorkflowDefinition, WorkflowDraft
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/workflows/workflowdraft/"
GOOD = chain("an_order", user("check")).decode()


@pytest.fixture(autouse=True)
def _modeler(settings: Any, tmp_path: Path) -> None:
    """The pages are those of an installation that has the modeler; its files are looked at by a browser."""
    settings.MODELER_ASSETS = tmp_path
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


def save(browser: Client, **drawn: Any) -> Any:
    body = {"draft": str(uuid4()), "version": 0, "source": GOOD, **drawn}
    return browser.post(f"{LIST}save/", json.dumps(body), content_type="application/json")


def page_of(draft: UUID) -> str:
    return f"{LIST}{draft}/change/"


class TestSave:
    def test_saves_and_names_what_keeps_it_from_running(self, operator: Client) -> None:
        draft = uuid4()
        answer = save(operator, draft=str(draft), source="<broken").json()
        assert answer["version"] == 1
        assert answer["page"] == page_of(draft)
        assert answer["problems"][0].keys() == {"element", "message"}
        answer = save(operator, draft=str(draft), version=1).json()
        assert (answer["version"], answer["name"], answer["problems"]) == (2, "an_order", [])

    def test_a_second_window_is_told(self, operator: Client) -> None:
        draft = str(uuid4())
        save(operator, draft=draft)
        answer = save(operator, draft=draft, source="<other/>")
        assert answer.status_code == 409
        assert "another window" in answer.json()["error"]

    def test_too_much_is_refused(self, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(drafts, "LARGEST_CALL", 100)
        assert save(operator).status_code == 413
        assert not WorkflowDraft.objects.exists()

    @pytest.mark.parametrize("body", ["", "[]", '{"draft": 7}', "{"])
    def test_what_no_page_of_ours_sends_is_refused(self, operator: Client, body: str) -> None:
        answer = operator.post(f"{LIST}save/", body, content_type="application/json")
        assert answer.status_code == 400

    def test_whoever_may_only_look_saves_nothing(self, viewer: Client) -> None:
        assert save(viewer).status_code == 403
        assert viewer.get(f"{LIST}new/").status_code == 403
        assert not WorkflowDraft.objects.exists()


class TestPage:
    def test_begins_with_nothing_kept(self, operator: Client) -> None:
        page = operator.get(f"{LIST}new/").content.decode()
        assert "bpmn:startEvent" in page.replace("\\u003C", "<")
        assert 'data-version="0"' in page
        assert not WorkflowDraft.objects.exists()

    def test_begins_with_the_latest_revision(self, scene: Scene, operator: Client) -> None:
        scene.publish(GOOD.encode())
        page = operator.get(f"{LIST}new/?definition=an_order").content.decode()
        assert 'data-definition="an_order" data-revision="1"' in page
        assert operator.get(f"{LIST}new/?definition=none").status_code == 404

    def test_goes_on_where_it_was_left(self, scene: Scene, operator: Client) -> None:
        scene.publish(GOOD.encode())
        save(operator, draft=str(draft := uuid4()), definition="an_order", revision=1)
        way = "/admin/workflows/workflowdefinition/an_5Forder/draw/"
        assert operator.get(way).headers["Location"] == page_of(draft)
        assert 'data-version="1"' in operator.get(page_of(draft)).content.decode()

    def test_a_viewer_sees_it_and_no_button(self, operator: Client, viewer: Client) -> None:
        save(operator, draft=str(draft := uuid4()))
        page = viewer.get(page_of(draft)).content.decode()
        assert 'data-may-draw="0"' in page
        assert f"{draft}/publish/" not in page
        assert f"{draft}/discard/" not in page
        assert viewer.post(f"{LIST}{draft}/publish/").status_code == 403
        assert viewer.post(f"{LIST}{draft}/discard/").status_code == 403
        assert WorkflowDraft.objects.count() == 1

    def test_says_what_to_do_without_the_modeler(self, operator: Client, settings: Any, tmp_path: Path) -> None:
        settings.MODELER_ASSETS = tmp_path / "none"
        assert "make assets" in operator.get(f"{LIST}new/").content.decode()

    def test_the_list_reads_no_drawing(
        self, operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        for _ in range(3):
            save(operator)
        with django_assert_max_num_queries(10) as captured:
            page = operator.get(LIST).content.decode()
        assert page.count(">an_order<") == 3
        assert not any('"workflows_draft"."source"' in query["sql"] for query in captured.captured_queries)


class TestDecide:
    def test_a_published_draft_leads_to_its_revision(self, operator: Client) -> None:
        save(operator, draft=str(draft := uuid4()))
        answer = operator.post(f"{LIST}{draft}/publish/", {"version": "1"}, follow=True)
        assert "Published: “an_order”, revision 1." in answer.content.decode()
        assert WorkflowDefinition.objects.get().newest == 1
        assert not WorkflowDraft.objects.exists()
        assert operator.get(f"{LIST}{draft}/publish/").status_code == 404

    def test_what_cannot_run_is_shown_with_its_problems(self, operator: Client) -> None:
        save(operator, draft=str(draft := uuid4()), source="<broken")
        page = operator.post(f"{LIST}{draft}/publish/", {"version": "1"}).content.decode()
        assert "This file cannot be executed" in page
        assert WorkflowDraft.objects.count() == 1

    def test_a_draft_is_discarded_after_a_question(self, operator: Client) -> None:
        save(operator, draft=str(draft := uuid4()))
        assert "Published revisions stay." in operator.get(f"{LIST}{draft}/discard/").content.decode()
        assert WorkflowDraft.objects.count() == 1
        operator.post(f"{LIST}{draft}/discard/")
        assert not WorkflowDraft.objects.exists()
