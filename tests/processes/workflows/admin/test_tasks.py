from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from processes.workflows.heads import Head
from processes.workflows.models import WorkItem
from processes.workflows.services.returns import return_instance
from tests.processes.workflows.process_files import chain, script, service, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/workflows/workitem/"
QUERIES = 8
ORDER = chain("order", user("check"), user("ship"))
FIELDS = "amount:number*, comment, is_urgent:boolean, until:date, size:choice(S|M)"
FORM = chain("form", ("fill", f'<userTask id="fill" name="Fill in" postern:form="{FIELDS}"/>'), user("after"))


def listed(browser: Client, **query: str) -> list[tuple[str, str]]:
    found = browser.get(LIST, query).context["cl"].result_list
    return [(item.element, item.instance.record) for item in found]


def page_of(element: str = "check") -> str:
    return f"{LIST}{WorkItem.objects.get(element=element).pk}/change/"


def variables(scene: Scene, head: Head) -> Any:
    return scene.head(head).state["scopes"]["0.1"]["variables"]


class TestInbox:
    def test_open_tasks_for_people_oldest_first(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER, record="A")
        scene.start("order", record="B")
        scene.begin(chain("other", ("hand", '<manualTask id="hand"/>')), record="C")
        scene.begin(chain("far", service("work", "external", "topic")), record="D")
        assert listed(operator) == [("check", "A"), ("check", "B"), ("hand", "C")]
        assert listed(operator, definition="other") == [("hand", "C")]
        assert listed(operator, q="B") == [("check", "B")]

    def test_says_what_it_is_about_and_how_long_it_waits(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER, record="A-7")
        WorkItem.objects.update(since=timezone.now() - timedelta(hours=3, minutes=1))
        page = operator.get(LIST).content.decode()
        assert '>Check<div class="pst-quiet">order · A-7</div>' in page
        assert "3\xa0hours" in page

    def test_costs_the_same_for_many(self, scene: Scene, operator: Client, django_assert_num_queries: Any) -> None:
        scene.begin(ORDER)
        operator.get(LIST)
        for wanted in (1, 9):
            for _ in range(wanted - 1):
                scene.start("order")
            with django_assert_num_queries(QUERIES):
                assert len(listed(operator)) == wanted


class TestForm:
    def test_asks_for_what_the_definition_names_and_writes_plain_values(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(FORM, comment="so far")
        form = operator.get(page_of("fill")).context["page"].form
        assert [field.name for field in form] == ["amount", "comment", "is_urgent", "until", "size"]
        assert form["comment"].value() == "so far"
        answers = {"amount": "5", "comment": "now", "is_urgent": "on", "until": "2030-01-31", "size": "M"}
        sent = {f"answer-{name}": value for name, value in answers.items()}
        assert operator.post(page_of("fill"), sent, follow=True).redirect_chain[-1][0] == LIST
        expected = {"comment": "now", "amount": 5, "is_urgent": True, "until": "2030-01-31", "size": "M"}
        assert variables(scene, head) == expected

    def test_what_is_left_empty_is_null_and_no_is_an_answer(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(FORM)
        operator.post(page_of("fill"), {"answer-amount": "1.5"})
        expected = {"amount": 1.5, "comment": "", "is_urgent": False, "until": None, "size": None}
        assert variables(scene, head) == expected

    @pytest.mark.parametrize(
        ("field", "typed"),
        [("amount", ""), ("amount", "many"), ("amount", "1e400"), ("until", "31.1.2030"), ("size", "XL")],
    )
    def test_what_is_wrong_is_told_at_its_field(self, scene: Scene, operator: Client, field: str, typed: str) -> None:
        head = scene.begin(FORM)
        page = operator.post(page_of("fill"), {"answer-amount": "5", f"answer-{field}": typed})
        assert list(page.context["page"].form.errors) == [field]
        assert scene.head(head).number == 1

    def test_one_without_fields_takes_variables(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, amount=1)
        page = operator.post(page_of(), {"answer-variables": '{"amount": 2}'}, follow=True)
        assert "Done: “Check”." in page.content.decode()
        assert variables(scene, head) == {"amount": 2}
        assert scene.items(head) == [("check", "done"), ("ship", "open")]

    def test_no_variables_are_none(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, amount=1)
        operator.post(page_of(), {})
        assert (scene.head(head).number, variables(scene, head)) == (2, {"amount": 1})

    def test_one_that_does_not_go_through_leads_to_its_incident(self, scene: Scene, operator: Client) -> None:
        scene.begin(chain("sums", user("check"), script("divide", "share", "10 / parts")), parts=0)
        page = operator.post(page_of(), {}, follow=True)
        assert "the task stays open" in page.content.decode()
        assert "Try again" in page.content.decode()
        assert page_of() in page.content.decode()
        assert "An attempt to complete it has failed." in operator.get(page_of()).content.decode()


class TestMeanwhile:
    def test_one_that_another_has_done_says_who(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER))
        page = operator.post(page_of(), {"answer-variables": '{"mine": 1}'}, follow=True).content.decode()
        assert "This task has been done, by tester, as version 2 of its instance." in page
        assert scene.head(head).number == 2
        assert operator.get(page_of()).context["page"].form is None

    def test_one_that_is_not_needed_any_more(self, scene: Scene, operator: Client) -> None:
        scene.command(scene.begin(ORDER), "terminate")
        assert "This task is not needed any more" in operator.get(page_of()).content.decode()

    def test_one_that_a_return_has_left(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER))
        where = page_of("ship")
        return_instance(head.id, version=1, reason="x", actor="y", at=head.at)
        page = operator.post(where, {}, follow=True).content.decode()
        assert "has been returned to an earlier version since" in page
        assert scene.head(head).number == 3

    def test_of_a_suspended_instance_what_was_typed_is_kept(self, scene: Scene, operator: Client) -> None:
        head = scene.command(scene.begin(ORDER), "suspend")
        page = operator.post(page_of(), {"answer-variables": '{"a": 1}'})
        assert "That is not possible now: The instance is suspended." in page.content.decode()
        assert page.context["page"].form["variables"].value() == '{"a": 1}'
        assert scene.head(head).number == 2

    def test_one_for_workers_is_not_for_people(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("far", service("work", "external", "topic")))
        assert operator.get(page_of("work")).context["page"].form is None
        page = operator.post(page_of("work"), {}, follow=True).content.decode()
        assert "This task is completed by a worker" in page
        assert scene.head(head).number == 1

    def test_a_viewer_sees_it_and_may_not_complete_it(self, scene: Scene, viewer: Client) -> None:
        head = scene.begin(ORDER)
        assert viewer.get(page_of()).context["page"].form is None
        assert viewer.post(page_of(), {}).status_code == 403
        assert scene.head(head).number == 1
