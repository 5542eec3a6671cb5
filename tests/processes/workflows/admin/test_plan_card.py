"""The pages of cases: the plan with what may be done to each item, the questions, the inbox, the definitions."""

from html import unescape
from typing import Any

import pytest
from django.test import Client

from processes.workflows.admin import plan_card
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkItem
from processes.workflows.presentation import present_instance
from processes.workflows.services.returns import return_instance
from tests.processes.workflows.admin.instances.test_instances import address
from tests.processes.workflows.admin.test_definitions import LIST as DEFINITIONS
from tests.processes.workflows.admin.test_definitions import upload
from tests.processes.workflows.case_files import (
    case,
    case_task,
    human,
    listener,
    milestone,
    process_task,
    stage,
)
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

INBOX = "/admin/workflows/workitem/"
PAGE_QUERIES = 14
ORDER = case(
    human("A", name="Ask  them", manual=True),
    stage("S", human("B", required=True, repeats="x > 1"), human("C", form="amount:number*"), name="Work"),
    milestone("M", entry="S complete"),
    listener("L", name="They cancel"),
    exit="L occur",
    key="order",
).encode()


def page(browser: Client, head: Head) -> Any:
    return browser.get(address(head)).context["page"]


def plan(browser: Client, head: Head) -> dict[str, list[str]]:
    """The labels that are offered, by element."""
    return {item.element: [offer.label for offer in item.offers] for item in page(browser, head).plan.items}


def item(head: Head, element: str) -> str:
    """The id of the newest item of that name, as addresses have it."""
    found = [each["id"] for each in present_instance(head)["items"] if each["element"] == element]
    return str(found[-1]).removeprefix(f"{head.id}.")


def press(browser: Client, head: Head, command: str, element: str, version: int | None = None) -> Any:
    """Send what a button of the page sends."""
    where = address(head, f"items/{item(head, element)}/{command}/")
    return browser.post(where, {"version": str(version or head.number)}, follow=True)


def words(answer: Any) -> str:
    return unescape(answer.content.decode())


def states(scene: Scene, head: Head) -> dict[str, str]:
    return {each["element"]: each["state"] for each in present_instance(scene.head(head))["items"]}


class TestPlan:
    def test_lists_every_item_below_its_stage(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, x=1)
        items = page(operator, head).plan.items
        assert [(each.element, each.depth) for each in items] == [
            ("plan", 0),
            ("A", 1),
            ("S", 1),
            ("B", 2),
            ("C", 2),
            ("M", 1),
            ("L", 1),
        ]
        assert [(each.name, each.kind, each.state_label) for each in items[1:3]] == [
            ("Ask them", "human task", "enabled"),
            ("Work", "stage", "active"),
        ]
        assert [each.element for each in items if each.is_required] == ["B"]
        assert [each.element for each in items if each.repeats] == ["B"]
        assert {each.since for each in items} == {head.at}

    def test_stands_for_the_list_of_a_case_without_a_diagram(self, scene: Scene, operator: Client) -> None:
        scene.publish(case(human("In"), key="inner").encode())
        head = scene.begin(chain("p", ("call", '<callActivity id="call" calledElement="inner"/>')))
        assert [each.title for each in page(operator, head).drawings] == ["p"]

    def test_offers_what_fits_the_moment(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, x=1)
        ends = ["Suspend", "Terminate"]
        assert plan(operator, head) == {
            "plan": [],
            "A": ["Start", "Disable"],
            "S": ends,
            "B": ["Complete", *ends],
            "C": ["Complete", *ends],
            "M": ends,
            "L": ["Mark as occurred", *ends],
        }
        head = scene.command(head, "suspend_item", item=item(head, "S"))
        head = scene.command(head, "disable", item=item(head, "A"))
        offered = plan(operator, head)
        assert (offered["S"], offered["B"], offered["A"]) == (["Resume"], [], ["Enable again"])

    def test_a_case_that_can_be_completed_says_so(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(case(human("A", manual=True)).encode())
        assert plan(operator, head)["plan"] == ["Complete"]
        press(operator, head, "complete_item", "plan")
        assert WorkflowInstance.objects.get().status == "completed"

    def test_offers_nothing_while_the_instance_is_suspended_or_has_ended(self, scene: Scene, operator: Client) -> None:
        head = scene.command(scene.begin(ORDER), "suspend")
        assert not any(plan(operator, head).values())
        head = scene.command(head, "terminate")
        assert not any(plan(operator, head).values())

    def test_a_viewer_sees_it_and_may_do_nothing(self, scene: Scene, viewer: Client) -> None:
        head = scene.begin(ORDER)
        assert "Ask them" in words(viewer.get(address(head)))
        assert not any(plan(viewer, head).values())
        assert press(viewer, head, "start", "A").status_code == 403
        assert states(scene, head)["A"] == "enabled"

    def test_of_a_process_that_holds_a_case_and_of_cases_in_cases(self, scene: Scene, operator: Client) -> None:
        scene.publish(case(human("In"), key="inner").encode())
        scene.publish(chain("between", ("call", '<callActivity id="call" calledElement="inner"/>')))
        scene.publish(case(process_task("P", "between"), case_task("K", "inner"), key="outer").encode())
        head = scene.begin(chain("p", ("call", '<callActivity id="call" calledElement="outer"/>')))
        items = page(operator, head).plan.items
        assert [(each.element, each.depth) for each in items] == [
            ("plan", 0),
            ("P", 1),
            ("plan", 2),
            ("In", 3),
            ("K", 1),
            ("plan", 2),
            ("In", 3),
        ]
        assert [offer.label for offer in items[0].offers] == ["Suspend", "Terminate"]

    def test_a_process_has_none(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("order", user("check")))
        assert page(operator, head).plan is None
        assert 'id="plan"' not in words(operator.get(address(head)))

    def test_is_limited_and_costs_the_same(
        self, scene: Scene, operator: Client, monkeypatch: Any, django_assert_max_num_queries: Any
    ) -> None:
        monkeypatch.setattr(plan_card, "MOST_ITEMS", 5)
        head = scene.begin(case(*(human(f"H{n}", form="amount:number") for n in range(20))).encode())
        operator.get(address(head))
        with django_assert_max_num_queries(PAGE_QUERIES):
            shown = page(operator, head).plan
        assert (len(shown.items), shown.more) == (5, 16)

    def test_hostile_names_are_text(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(case(human("A", name="<script>x</script>", manual=True)).encode())
        for where in ("change/", f"items/{item(head, 'A')}/start/"):
            answer = operator.get(address(head, where)).content.decode()
            assert "<script>x" not in answer
            assert "&lt;script&gt;x" in answer


class TestItemCommands:
    def test_a_button_does_it_at_once(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, x=1)
        where = address(head, f"items/{item(head, 'A')}/start/")
        form = words(operator.get(address(head)))
        assert f'formaction="{where}"' in form
        assert f'name="version" value="{head.number}"' in form
        answer = press(operator, head, "start", "A")
        assert "Started: “Ask them”." in words(answer)
        assert answer.redirect_chain == [(address(head), 302)]
        assert states(scene, head)["A"] == "active"
        assert "item started: Ask them" in words(answer)

    @pytest.mark.parametrize(
        ("before", "command", "after"),
        [
            ([], "disable", "disabled"),
            (["disable"], "reenable", "enabled"),
            (["start"], "suspend_item", "suspended"),
            (["start", "suspend_item"], "resume_item", "active"),
            (["start"], "complete_item", "completed"),
            (["start"], "terminate_item", "terminated"),
        ],
    )
    def test_each_leads_where_it_says(
        self, scene: Scene, operator: Client, before: list[str], command: str, after: str
    ) -> None:
        head = scene.begin(ORDER, x=1)
        for each in before:
            head = scene.command(head, each, item=item(head, "A"))
        press(operator, head, command, "A")
        assert states(scene, head)["A"] == after

    def test_a_case_is_reactivated_where_something_could_go_on(self, scene: Scene, operator: Client) -> None:
        head = scene.command(scene.begin(ORDER), "terminate")
        assert "/reactivate" in operator.get(address(head)).content.decode()
        operator.post(address(head, "reactivate/"), {"version": head.number}, follow=True)
        assert WorkflowInstance.objects.get().status == "active"

    def test_a_user_event_ends_what_it_is_the_exit_of(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        answer = press(operator, head, "occur", "L")
        assert "Occurred: “They cancel”." in words(answer)
        assert WorkflowInstance.objects.get().status == "terminated"

    def test_an_end_is_asked_for_first(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        where = address(head, f"items/{item(head, 'S')}/terminate_item/")
        assert f'<a href="{where}"' in words(operator.get(address(head)))
        answer = operator.get(where)
        assert "Terminate “Work”?" in words(answer)
        assert states(scene, head)["S"] == "active"
        operator.post(where, {"version": answer.context["form"]["version"].value()})
        assert states(scene, head)["S"] == "terminated"

    def test_a_page_that_is_out_of_date_is_told_and_may_send_it_again(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        scene.command(head, "set_variables", variables={"x": 2})
        answer = press(operator, head, "start", "A")
        assert "has changed since you opened this page: it is now at version 2" in words(answer)
        assert "Start “Ask them”?" in words(answer)
        assert states(scene, head)["A"] == "enabled"
        press(operator, head, "start", "A", version=answer.context["form"]["version"].value())
        assert states(scene, head)["A"] == "active"

    def test_sent_twice_it_happens_once(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(case(human("A", repeats=True), human("Keep")).encode())
        where = address(head, f"items/{item(head, 'A')}/complete_item/")
        for _ in range(2):
            answer = operator.post(where, {"version": "1"}, follow=True)
        assert "This item no longer exists" in words(answer)
        assert scene.head(head).number == 2

    def test_what_does_not_fit_is_told_kindly(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        answer = press(operator, head, "start", "B")
        assert "Not possible now: An item that is active cannot be started." in words(answer)

    def test_of_an_item_that_a_return_has_left(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        where = address(head, f"items/{item(head, 'A')}/start/")
        scene.command(head, "set_variables", variables={"x": 2})
        return_instance(head.id, version=1, reason="x", actor="y", at=head.at)
        assert "This item no longer exists" in words(operator.post(where, {"version": "3"}, follow=True))
        assert scene.head(head).number == 3

    def test_one_that_does_not_go_through_leads_to_its_incident(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(case(process_task("P", "nowhere", manual=True)).encode())
        answer = press(operator, head, "start", "P")
        assert "It failed. The incident says why." in words(answer)
        assert WorkflowIncident.objects.get().reason in words(answer)

    def test_there_is_none_of_what_is_unknown(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        assert operator.get(address(head, f"items/{item(head, 'A')}/nonsense/")).status_code == 404
        assert operator.get(address(head, "items/0.99/start/")).status_code == 302


class TestClose:
    def test_one_that_has_ended_or_is_suspended(self, scene: Scene, operator: Client) -> None:
        for command in ("suspend", "terminate"):
            head = scene.begin(ORDER)
            assert "close/" not in words(operator.get(address(head)))
            head = scene.command(head, command)
            assert "close/" in words(operator.get(address(head)))
            form = operator.get(address(head, "close/")).context["form"]
            answer = operator.post(address(head, "close/"), {"version": form["version"].value()}, follow=True)
            assert "The case has been closed." in words(answer)
            assert WorkflowInstance.objects.get(pk=head.id).status == "closed"
            assert "close/" not in words(answer)

    def test_is_for_what_the_person_has_seen(self, scene: Scene, operator: Client) -> None:
        head = scene.command(scene.begin(ORDER), "suspend")
        assert "has changed since" in words(operator.post(address(head, "close/"), {"version": "1"}))
        assert WorkflowInstance.objects.get().status == "suspended"

    def test_one_whose_start_failed(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(case(human("A", required="1 / parts > 0")).encode(), parts=0)
        scene.command(head, "terminate")
        for _ in range(2):
            answer = operator.post(address(head, "close/"), {"version": str(scene.head(head).number)})
        assert "A case that is closed cannot be closed." in words(answer)
        assert WorkflowInstance.objects.get().status == "closed"

    def test_a_process_is_not_closed(self, scene: Scene, operator: Client) -> None:
        head = scene.command(scene.begin(chain("order", user("check"))), "terminate")
        assert "close/" not in words(operator.get(address(head)))


class TestTasks:
    def test_the_inbox_lists_those_of_cases(self, scene: Scene, operator: Client) -> None:
        scene.begin(case(human("C", name="Count", form="amount:number*"), key="order").encode(), record="A-7")
        inbox = operator.get(INBOX)
        assert [(each.name, each.element) for each in inbox.context["cl"].result_list] == [("Count", "C")]
        assert '>Count<div class="pst-quiet">order · A-7</div>' in words(inbox)

    def test_their_forms_are_asked_for_and_complete_them(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, x=1)
        where = f"{INBOX}{WorkItem.objects.get(element='C').pk}/change/"
        assert f'<a href="{where}" data-frequent' in words(operator.get(address(head)))
        form = operator.get(where)
        assert "<small>user · C</small>" in words(form)
        assert [field.name for field in form.context["page"].form] == ["amount"]
        assert "This field is required" in words(operator.post(where, {"answer-amount": ""}))
        operator.post(where, {"answer-amount": "5"})
        assert states(scene, head)["C"] == "completed"
        assert present_instance(scene.head(head))["variables"] == {"x": 1, "amount": 5}

    def test_one_in_a_suspended_stage_says_so(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, x=1)
        scene.command(head, "suspend_item", item=item(head, "S"))
        where = f"{INBOX}{WorkItem.objects.get(element='C').pk}/change/"
        assert "The plan item that contains it is suspended" in words(operator.get(where))
        answer = operator.post(where, {"answer-amount": "5"})
        assert "Not possible now: The task is in a suspended item of the case." in words(answer)


class TestDefinitions:
    def test_the_list_tells_cases_from_processes(self, scene: Scene, operator: Client) -> None:
        scene.publish(ORDER)
        scene.publish(chain("process", user("check")))
        listed = words(operator.get(DEFINITIONS))
        assert "CMMN" in listed
        assert "BPMN" in listed

    def test_a_file_is_uploaded_and_shown(self, operator: Client) -> None:
        assert ".cmmn" in words(operator.get(f"{DEFINITIONS}upload/"))
        answer = words(upload(operator, ORDER))
        assert "Published: “order”, revision 1." in answer
        assert "user event listener · L" in answer
        source = operator.get(f"{DEFINITIONS}order/revisions/1/source/")
        assert source["Content-Disposition"] == 'attachment; filename="order-1.cmmn"'


class TestReturn:
    def test_says_which_items_begin_again(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, x=1)
        scene.command(head, "start", item=item(head, "A"))
        answer = operator.get(address(head, "versions/1/return/"))
        rows = [(row.what, row.element, row.name) for row in answer.context["restarted"]["rows"]]
        assert ("plan item", "Ask them", "enabled") in rows
