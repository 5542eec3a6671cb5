from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from messaging.models import Enterprise
from processes.workflows.admin import definitions
from processes.workflows.models import WorkflowDefinition, WorkflowInstance, WorkflowRevision
from tests.processes.workflows.process_files import chain, named, started_by, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/workflows/workflowdefinition/"
QUERIES, PAGE_QUERIES = 7, 15
ORDER = chain("an_order", user("check"), user("ship"))
PAGE = f"{LIST}an_5Forder/change/"
DRAWN = Path(__file__).parents[1] / "engine/bpmn/files/camunda_modeler_7.bpmn"


def upload(browser: Client, source: bytes, **fields: str) -> Any:
    file = SimpleUploadedFile("a.bpmn", source)
    return browser.post(f"{LIST}upload/", {"file": file, **fields}, follow=True)


def start_form(**fields: str) -> dict[str, str]:
    return {"form_id": str(uuid4()), "record": "A-7", "variables": '{"amount": 5}', **fields}


class TestList:
    def test_says_what_there_is_and_leads_to_its_instances(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        scene.publish(chain("an_order", user("check")))
        page = operator.get(LIST).content.decode()
        assert '>an_order<div class="pst-quiet">an_order</div>' in page
        assert ">2<" in page.replace(" ", "").replace("\n", "")
        assert "/admin/workflows/workflowinstance/?definition=an_order" in page

    def test_costs_the_same_for_many(self, scene: Scene, operator: Client, django_assert_num_queries: Any) -> None:
        for number in range(12):
            scene.publish(chain(f"p{number}", user("check")))
        operator.get(LIST)
        with django_assert_num_queries(QUERIES):
            assert len(operator.get(LIST).context["cl"].result_list) == 12

    def test_whoever_may_not_read_workflows_sees_none(self, scene: Scene) -> None:
        scene.publish(ORDER)
        browser = Client()
        browser.force_login(User.objects.create_user("nemo", is_staff=True))
        for page in (LIST, PAGE, f"{LIST}an_5Forder/revisions/1/source/", f"{LIST}an_5Forder/revisions/1/diagram.svg"):
            assert browser.get(page).status_code == 403
        assert "Workflow definitions" not in browser.get("/admin/").content.decode()


class TestUpload:
    def test_publishes_the_file(self, operator: Client) -> None:
        page = upload(operator, ORDER).content.decode()
        assert "Published: “an_order”, revision 1." in page
        revision = WorkflowRevision.objects.get()
        assert (bytes(revision.source), revision.actor) == (ORDER, "staff:olga")

    def test_the_same_file_again_is_said_to_be_there(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        assert "This file has been published before" in upload(operator, ORDER).content.decode()
        assert WorkflowRevision.objects.count() == 1

    def test_belongs_to_an_enterprise(self, operator: Client) -> None:
        Enterprise.objects.create(id="acme", name="Acme")
        upload(operator, ORDER, enterprise="acme")
        assert WorkflowDefinition.objects.get().enterprise_id == "acme"
        assert "belongs to another enterprise" in upload(operator, chain("an_order", user("ship"))).content.decode()

    def test_what_cannot_run_is_told_by_element_and_line_and_not_stored(self, operator: Client) -> None:
        source = b"\n" + ORDER.replace(b'targetRef="ship"', b'targetRef="<nowhere"'.replace(b"<", b"&lt;"))
        page = upload(operator, source)
        [problem, *_] = page.context["problems"]
        assert problem["line"] == 2
        words = page.content.decode()
        assert f"<code>{problem['element']}</code>" in words
        assert "Nothing of it has been stored." in words
        assert not WorkflowDefinition.objects.exists()

    def test_what_is_no_xml_is_told(self, operator: Client) -> None:
        assert "This file cannot be run" in upload(operator, b"<<<").content.decode()
        assert "required" in operator.post(f"{LIST}upload/", {}).content.decode()

    def test_a_viewer_may_not(self, scene: Scene, viewer: Client) -> None:
        scene.publish(ORDER)
        assert upload(viewer, chain("an_order", user("ship"))).status_code == 403
        assert WorkflowRevision.objects.count() == 1
        assert f"{LIST}upload/" not in viewer.get(LIST).content.decode()


class TestPage:
    def test_shows_the_diagram_as_an_image(self, scene: Scene, operator: Client) -> None:
        scene.publish(DRAWN.read_bytes())
        address = f"{LIST}warranty_5Fclaim/revisions/1/diagram.svg"
        assert f'<img src="{address}"' in operator.get(f"{LIST}warranty_5Fclaim/change/").content.decode()
        picture = operator.get(address)
        assert (picture.status_code, picture["Content-Type"]) == (200, "image/svg+xml")
        assert picture["Content-Security-Policy"] == "sandbox; default-src 'none'"

    def test_lists_the_elements_of_a_file_without_one(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        page = operator.get(PAGE).content.decode()
        assert "The file holds no diagram: these are its elements." in page
        assert "Check" in page
        assert "user task · check" in page
        assert operator.get(f"{LIST}an_5Forder/revisions/1/diagram.svg").status_code == 404

    def test_shows_older_revisions_and_gives_their_sources(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        scene.publish(chain("an_order", user("check"), user("weigh")))
        assert "weigh" not in operator.get(PAGE, {"revision": "1"}).content.decode()
        assert "This is revision 1. The newest is 2." in operator.get(PAGE, {"revision": "1"}).content.decode()
        answer = operator.get(f"{LIST}an_5Forder/revisions/1/source/")
        assert answer.content == ORDER
        assert answer["Content-Disposition"] == 'attachment; filename="an_order-1.bpmn"'
        assert operator.get(f"{LIST}an_5Forder/revisions/3/source/").status_code == 404

    def test_hostile_names_are_text(self, scene: Scene, operator: Client) -> None:
        source = ORDER.replace(b'name="Check"', b'name="&lt;script&gt;x"').replace(
            b'process id="an_order" name="an_order"', b'process id="an_order" name="&lt;b&gt;bold"'
        )
        scene.publish(source)
        page = operator.get(PAGE).content.decode()
        assert "<script>x" not in page
        assert "<b>bold" not in page
        assert "&lt;script&gt;x" in page

    def test_revisions_are_paged_and_cost_the_same(
        self, scene: Scene, operator: Client, monkeypatch: Any, django_assert_max_num_queries: Any
    ) -> None:
        monkeypatch.setattr(definitions, "REVISIONS_SHOWN", 3)
        for number in range(7):
            scene.publish(chain("an_order", user(f"step{number}")))
        with django_assert_max_num_queries(PAGE_QUERIES):
            page = operator.get(PAGE)
        assert [each.number for each in page.context["page"].revisions] == [7, 6, 5]
        older = operator.get(PAGE, {"before": str(page.context["page"].older)})
        assert [each.number for each in older.context["page"].revisions] == [4, 3, 2]

    def test_there_is_none_of_what_is_unknown(self, operator: Client) -> None:
        assert operator.get(f"{LIST}nothing/change/").status_code == 302


class TestStart:
    def test_starts_an_instance_and_shows_it(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        page = operator.post(f"{LIST}an_5Forder/start/", start_form(), follow=True)
        instance = WorkflowInstance.objects.get()
        assert page.redirect_chain[-1][0] == f"/admin/workflows/workflowinstance/{instance.pk}/change/"
        assert (instance.record, instance.definition_id) == ("A-7", "an_order")
        assert "The instance has been started." in page.content.decode()

    def test_a_form_that_is_sent_twice_starts_one_and_shows_it_both_times(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        form = start_form()
        pages = [operator.post(f"{LIST}an_5Forder/start/", form) for _ in range(2)]
        assert WorkflowInstance.objects.count() == 1
        assert pages[0]["Location"] == pages[1]["Location"]

    def test_one_whose_instance_is_gone_starts_no_other(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        form = start_form()
        operator.post(f"{LIST}an_5Forder/start/", form)
        WorkflowInstance.objects.all().delete()
        page = operator.post(f"{LIST}an_5Forder/start/", form)
        assert "This form has been sent before" in page.content.decode()
        assert not WorkflowInstance.objects.exists()

    @pytest.mark.parametrize(
        ("typed", "told"),
        [
            ("[1]", "Must be a map of names to values"),
            ('{"a": 1,\n b}', "Line 2, column 2"),
            ('{"not a name": 1}', "cannot be the name of a variable"),
        ],
    )
    def test_wrong_variables_are_told_and_kept(self, scene: Scene, operator: Client, typed: str, told: str) -> None:
        scene.publish(ORDER)
        page = operator.post(f"{LIST}an_5Forder/start/", start_form(variables=typed))
        assert told in page.content.decode()
        assert page.context["form"]["variables"].value() == typed
        assert not WorkflowInstance.objects.exists()

    def test_one_that_only_events_begin_says_so(self, scene: Scene, operator: Client) -> None:
        scene.publish(chain("an_order", user("check"), before=named("custom.paid"), start=started_by()))
        page = operator.post(f"{LIST}an_5Forder/start/", start_form())
        assert "That is not possible now" in page.content.decode()

    def test_a_viewer_may_not(self, scene: Scene, viewer: Client) -> None:
        scene.publish(ORDER)
        assert viewer.post(f"{LIST}an_5Forder/start/", start_form()).status_code == 403
        assert not WorkflowInstance.objects.exists()
