from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from messaging.models import Enterprise
from processes.workflows.admin import definitions
from processes.workflows.models import VisitTotal, WorkflowDefinition, WorkflowInstance, WorkflowRevision
from processes.workflows.models.visits import ENTERED
from processes.workflows.services.definitions.library import get_compiled
from processes.workflows.visits.fold import fold_visits
from tests.processes.workflows.decision_files import decision, dmn, literal
from tests.processes.workflows.process_files import chain, named, started_by, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/workflows/workflowdefinition/"
QUERIES, PAGE_QUERIES = 9, 18
ORDER = chain("an_order", user("check"), user("ship"))
PAGE = f"{LIST}an_5Forder/change/"
DRAWN = Path(__file__).parents[1] / "engine/bpmn/files/camunda_modeler_7.bpmn"


def upload(browser: Client, source: bytes, **fields: str) -> Any:
    file = SimpleUploadedFile("a.bpmn", source)
    return browser.post(f"{LIST}upload/", {"file": file, **fields}, follow=True)


def start_form(**fields: str) -> dict[str, str]:
    return {"form_id": str(uuid4()), "record": "A-7", "variables": '{"amount": 5}', **fields}


class TestLinkedForms:
    def test_are_uploaded_with_the_file(self, scene: Scene, operator: Client) -> None:
        linked = '<userTask id="check" xmlns:c="http://camunda.org/schema/1.0/bpmn" c:formRef="f"/>'
        form = SimpleUploadedFile("f.form", b'{"id": "f", "components": [{"type": "textfield", "key": "why"}]}')
        file = SimpleUploadedFile("a.bpmn", chain("an_order", ("check", linked)))
        operator.post(f"{LIST}upload/", {"file": file, "linked_forms": [form]}, follow=True)
        assert [field.name for field in get_compiled("an_order", 1).nodes["check"].form] == ["why"]


class TestRequirementGraph:
    def test_is_drawn_on_the_page_of_a_decision(self, scene: Scene, operator: Client) -> None:
        scene.publish(dmn(decision("a", literal("1")), decision("b", literal("a + 1"), needs=["a"])))
        assert "/revisions/1/diagram.svg" in operator.get(f"{LIST}b/change/").content.decode()
        picture = operator.get(f"{LIST}b/revisions/1/diagram.svg")
        assert (picture.status_code, b"a~b" in picture.content) == (200, True)

    def test_of_a_decision_alone_there_is_none(self, scene: Scene, operator: Client) -> None:
        scene.publish(dmn(decision("a", literal("1"))))
        page = operator.get(f"{LIST}a/change/")
        assert (page.status_code, b"diagram.svg" in page.content) == (200, False)


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


class TestFileReport:
    def test_the_page_shows_what_becomes_of_the_file(self, scene: Scene, operator: Client) -> None:
        scene.publish(DRAWN.read_bytes())
        page = operator.get(f"{LIST}warranty_5Fclaim/change/").content.decode()
        assert "<code>${accepted == true}</code> → accepted == true" in page
        assert "Listeners are code of another engine: they are not called." in page
        picture = operator.get(f"{LIST}warranty_5Fclaim/revisions/1/diagram.svg").content.decode()
        assert "Translated" in picture

    def test_a_file_that_cannot_run_is_kept_on_request(self, operator: Client) -> None:
        broken = ORDER.replace(b'targetRef="ship"', b'targetRef="nowhere"')
        assert b"nowhere" in upload(operator, broken).content
        page = upload(operator, broken, drawing="on").content.decode()
        assert "It cannot be run." in page
        assert "“nowhere” is not an element of the process." in page
        refused = operator.post(f"{LIST}an_5Forder/start/", start_form()).content.decode()
        assert "This revision cannot be run: it is kept to look at." in refused

    def test_strict_refuses_what_has_no_effect(self, operator: Client) -> None:
        upload(operator, DRAWN.read_bytes(), strict="on")
        assert not WorkflowDefinition.objects.exists()


class TestUpload:
    def test_publishes_the_file(self, operator: Client) -> None:
        page = upload(operator, ORDER).content.decode()
        assert "Published: “an_order”, revision 1." in page
        revision = WorkflowRevision.objects.get()
        assert (bytes(revision.source), revision.actor) == (ORDER, "staff:olga")

    def test_the_same_file_again_is_said_to_be_there(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        assert "This file has already been published" in upload(operator, ORDER).content.decode()
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
        assert "Nothing has been saved." in words
        assert not WorkflowDefinition.objects.exists()

    def test_what_is_no_xml_is_told(self, operator: Client) -> None:
        assert "This file cannot be executed" in upload(operator, b"<<<").content.decode()
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
        assert "The file has no diagram: these are its elements." in page
        assert "Check" in page
        assert "user task · check" in page
        assert operator.get(f"{LIST}an_5Forder/revisions/1/diagram.svg").status_code == 404

    def test_shows_older_revisions_and_gives_their_sources(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        scene.publish(chain("an_order", user("check"), user("weigh")))
        assert "weigh" not in operator.get(PAGE, {"revision": "1"}).content.decode()
        assert "This is revision 1. The latest is 2." in operator.get(PAGE, {"revision": "1"}).content.decode()
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
        assert "This form has already been sent" in page.content.decode()
        assert not WorkflowInstance.objects.exists()

    @pytest.mark.parametrize(
        ("typed", "told"),
        [
            ("[1]", "Must be a JSON object"),
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
        assert "Not possible now" in page.content.decode()

    def test_a_viewer_may_not(self, scene: Scene, viewer: Client) -> None:
        scene.publish(ORDER)
        assert viewer.post(f"{LIST}an_5Forder/start/", start_form()).status_code == 403
        assert not WorkflowInstance.objects.exists()


class TestCompare:
    def test_lists_and_marks_what_changed(self, scene: Scene, operator: Client) -> None:
        drawn = DRAWN.read_bytes()
        key = scene.publish(drawn).key
        scene.publish(drawn.replace(b'name="', b'name="New: '))
        way = f"{LIST}{quote(key)}/revisions"
        assert f"{way}/2/compare/1/" in operator.get(f"{LIST}{quote(key)}/change/").content.decode()
        for order in ("2/compare/1", "1/compare/2"):
            page = operator.get(f"{way}/{order}/").content.decode()
            assert "Revisions 1 and 2" in page
            assert "~ changed" in page
            assert f"{way}/1/diagram.svg?against=2" in page
        assert "changed" in operator.get(f"{way}/1/diagram.svg?against=2").content.decode()
        assert "changed" not in operator.get(f"{way}/1/diagram.svg").content.decode()

    def test_says_that_nothing_did(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        scene.publish(ORDER + b"<!-- read again -->")
        assert "They say the same" in operator.get(f"{LIST}an_5Forder/revisions/2/compare/1/").content.decode()

    def test_a_revision_that_is_not_there_is_not_found(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        assert operator.get(f"{LIST}an_5Forder/revisions/1/compare/7/").status_code == 404
        assert operator.get(f"{LIST}an_5Forder/revisions/1/diagram.svg?against=7").status_code == 404


class TestHeatMap:
    def show(self, browser: Client, query: str = "") -> str:
        return browser.get(f"{PAGE}{query}").content.decode()

    def test_the_drawing_is_shown_as_it_is_until_somebody_asks(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        page = self.show(operator)
        assert 'href="?heat=often&amp;period=7d#drawing"' in page
        assert "pst-heat-legend" not in page

    def test_says_so_where_nothing_was_counted(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        assert "No instance of this revision has been counted yet." in self.show(operator, "?heat=often")

    def test_shows_the_figures_of_the_period_with_a_legend(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        scene.complete(head, "check")
        fold_visits()
        card = operator.get(f"{PAGE}?heat=often&period=24h").context["page"].heat
        assert [(row.element, row.figures.entered, row.figures.standing) for row in card.rows] == [
            ("begin", 1, 0),
            ("check", 1, 0),
            ("ship", 1, 1),
        ]
        assert [entry.text for entry in card.legend] == ["1"]
        assert [each.is_chosen for each in card.periods] == [True, False, False, False]

    def test_is_drawn_on_the_picture(self, scene: Scene, operator: Client) -> None:
        key = scene.publish(DRAWN.read_bytes()).key
        element = next(each.id for each in get_compiled(key, 1).nodes.values() if each.kind == "user_task")
        revision = WorkflowRevision.objects.get()
        WorkflowRevision.objects.update(counted_from=revision.created_at)
        now = timezone.now()
        VisitTotal.objects.create(
            revision=revision, span="hour", at=now, element=element, band=ENTERED, count=7, seconds=0
        )
        picture = operator.get(f"{LIST}{quote(key)}/revisions/1/diagram.svg?heat=often&period=24h").content.decode()
        assert "entered 7 times" in picture
        assert ">7×</text>" in picture
        plain = operator.get(f"{LIST}{quote(key)}/revisions/1/diagram.svg").content.decode()
        assert "7×" not in plain

    @pytest.mark.parametrize("query", ["?heat=often", "?heat=long&period=all"])
    def test_costs_one_query_more(
        self, scene: Scene, operator: Client, query: str, django_assert_max_num_queries: Any
    ) -> None:
        scene.begin(ORDER)
        fold_visits()
        operator.get(PAGE)
        with django_assert_max_num_queries(PAGE_QUERIES + 1):
            operator.get(f"{PAGE}{query}")
