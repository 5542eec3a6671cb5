from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from processes.workflows.heads import Head
from processes.workflows.models import WorkItem
from processes.workflows.services.returns import return_instance
from processes.workflows.task_rights import TaskRights
from tests.processes.workflows.process_files import chain, script, service, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/workflows/workitem/"
ORDER = chain("order", user("check"), user("ship"))
FIELDS = "amount:number*, comment, is_urgent:boolean, until:date, size:choice(S|M)"
FORM = chain("form", ("fill", f'<userTask id="fill" name="Fill in" postern:form="{FIELDS}"/>'), user("after"))


def page_of(element: str = "check") -> str:
    return f"{LIST}{WorkItem.objects.get(element=element).pk}/change/"


def variables(scene: Scene, head: Head) -> Any:
    return scene.head(head).state["scopes"]["0.1"]["variables"]


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
        assert "An attempt to complete it failed." in operator.get(page_of()).content.decode()


class TestMeanwhile:
    def test_one_that_another_has_done_says_who(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER))
        page = operator.post(page_of(), {"answer-variables": '{"mine": 1}'}, follow=True).content.decode()
        assert "tester has already completed this task, in version 2 of the instance." in page
        assert scene.head(head).number == 2
        assert operator.get(page_of()).context["page"].form is None

    def test_one_that_is_not_needed_any_more(self, scene: Scene, operator: Client) -> None:
        scene.command(scene.begin(ORDER), "terminate")
        assert "This task is no longer needed" in operator.get(page_of()).content.decode()

    def test_one_that_a_return_has_left(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER))
        where = page_of("ship")
        return_instance(head.id, version=1, reason="x", actor="y", at=head.at)
        page = operator.post(where, {}, follow=True).content.decode()
        assert "has been returned to an earlier version" in page
        assert scene.head(head).number == 3

    def test_of_a_suspended_instance_what_was_typed_is_kept(self, scene: Scene, operator: Client) -> None:
        head = scene.command(scene.begin(ORDER), "suspend")
        page = operator.post(page_of(), {"answer-variables": '{"a": 1}'})
        assert "Not possible now: The instance is suspended." in page.content.decode()
        assert page.context["page"].form["variables"].value() == '{"a": 1}'
        assert scene.head(head).number == 2

    def test_one_for_workers_is_not_for_people(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("far", service("work", "external", "topic")))
        assert operator.get(page_of("work")).context["page"].form is None
        page = operator.post(page_of("work"), {}, follow=True).content.decode()
        assert "This task is completed by an external worker" in page
        assert scene.head(head).number == 1

    def test_a_viewer_sees_it_and_may_not_complete_it(self, scene: Scene, viewer: Client) -> None:
        head = scene.begin(ORDER)
        assert viewer.get(page_of()).context["page"].form is None
        assert viewer.post(page_of(), {}).status_code == 403
        assert scene.head(head).number == 1


OFFERED = chain(
    "offered",
    (
        "check",
        '<userTask id="check" name="Check" postern:candidateGroups="Sales, Nobody" postern:dueDate="2020-01-01"/>',
    ),
)


class TestPeople:
    def test_a_candidate_without_the_permission_claims_and_completes(self, scene: Scene, viewer: Client) -> None:
        head = scene.begin(OFFERED)
        User.objects.get(username="vera").groups.add(Group.objects.create(name="Sales"))
        page = viewer.get(page_of()).content.decode()
        assert f'action="{page_of().replace("change", "claim")}"' in page
        assert "no such name" in page  # nobody has made the group
        assert "overdue" in page
        said = viewer.post(page_of().replace("change", "claim"), follow=True).content.decode()
        assert "The task is yours." in said
        assert "vera, <time" in said
        viewer.post(page_of(), {})
        assert scene.items(head) == [("check", "done")]
        assert scene.chain(head)[-1][2].startswith("complete_task")

    def test_somebody_who_is_no_candidate_sees_no_button_and_is_refused(self, scene: Scene, viewer: Client) -> None:
        scene.begin(OFFERED)
        card = viewer.get(page_of()).context["page"].people
        assert card.rights == TaskRights()
        for name in ("claim", "release"):
            assert viewer.post(page_of().replace("change", name)).status_code in (302, 403)
        assert viewer.post(page_of().replace("change", "claim")).status_code == 403
        for name in ("assign", "schedule"):
            assert viewer.get(page_of().replace("change", name)).status_code == 403
        assert WorkItem.objects.get().assignee == ""

    def test_one_that_is_closed_is_shown_in_place_of_a_dialog(self, scene: Scene, operator: Client) -> None:
        scene.begin(OFFERED)
        operator.post(page_of(), {})
        for name in ("assign", "schedule"):
            assert operator.get(page_of().replace("change", name))["Location"] == page_of()

    def test_one_that_somebody_has_is_not_completed_by_another(
        self, scene: Scene, operator: Client, viewer: Client
    ) -> None:
        head = scene.begin(OFFERED)
        operator.post(page_of().replace("change", "claim"))
        User.objects.get(username="vera").groups.add(Group.objects.create(name="Sales"))
        assert viewer.get(page_of()).context["page"].form is None
        assert "olga already has this task." in viewer.post(page_of(), {}, follow=True).content.decode()
        said = viewer.post(page_of().replace("change", "claim"), follow=True).content.decode()
        assert "olga already has this task." in said
        assert scene.head(head).number == 1

    def test_delegated_and_given_back_it_is_its_owners_again(
        self, scene: Scene, operator: Client, viewer: Client
    ) -> None:
        scene.begin(OFFERED)
        operator.post(page_of().replace("change", "claim"))
        where = page_of().replace("change", "assign")
        assert "Delegate the task" in operator.get(where).content.decode()
        operator.post(where, {"assignee": "vera"})
        assert "delegated by olga" in viewer.get(page_of()).content.decode()
        viewer.post(page_of().replace("change", "release"))
        item = WorkItem.objects.get()
        assert (item.assignee, item.owner) == ("olga", "")

    def test_due_date_and_priority_are_set_on_a_page(self, scene: Scene, operator: Client) -> None:
        scene.begin(OFFERED)
        where = page_of().replace("change", "schedule")
        assert "2020" in operator.get(where).content.decode()
        sent = {"due_at_0": "2031-05-01", "due_at_1": "10:00", "follow_up_at_0": "", "follow_up_at_1": ""}
        operator.post(where, {**sent, "priority": "70"})
        item = WorkItem.objects.get()
        assert (item.deadline, item.priority) == (datetime(2031, 5, 1, 10, tzinfo=UTC), 70)
        assert operator.post(where, {**sent, "priority": "99999"}).status_code == 200

    def test_what_could_not_be_evaluated_is_said_in_the_readers_language(self, scene: Scene, operator: Client) -> None:
        said = 'camunda:assignee="${bean.boss()}" postern:priority="=level"'
        source = chain("p", ("check", f'<userTask id="check" {said}/>'))
        space = b'<definitions xmlns:camunda="http://camunda.org/schema/1.0/bpmn"'
        scene.begin(source.replace(b"<definitions", space, 1), level="high")
        page = operator.get(page_of(), headers={"Accept-Language": "ru"}).content.decode()
        assert "assignee: ${bean.boss()} здесь вычислить нельзя" in page
        assert "priority: high — не целое число" in page
