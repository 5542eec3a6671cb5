"""From the list of instances to a dry run, its outcome, the run and the undo."""

from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from processes.workflows.models import WorkflowBatch, WorkflowInstance, WorkflowVersion
from processes.workflows.services.batches import create
from processes.workflows.services.batches.run import run_due_batches
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene
from tests.processes.workflows.services.batches.steps import do, make

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST, BATCHES = "/admin/workflows/workflowinstance/", "/admin/workflows/workflowbatch/"
ORDER = chain("order", user("check"), user("ship"))
LONGER = chain("order", user("check"), user("ship"), user("thank"))
RENAMED = chain("order", user("look"), user("ship"))
PAGE_QUERIES = 12


def begin(browser: Client, action: str, query: str = "", *ticked: Any, **answers: Any) -> Any:
    across = "0" if ticked else "1"
    sent = {"action": action, "_selected_action": [str(each) for each in ticked] or ["x"], "select_across": across}
    return browser.post(f"{LIST}{query}", {**sent, **answers}, follow=True)


def text_of(answer: Any) -> str:
    return unescape(answer.content.decode())


class TestBatch:
    def test_leads_from_the_filter_over_the_dry_run_to_the_outcome_and_back(
        self, scene: Scene, operator: Client
    ) -> None:
        scene.publish(ORDER)
        heads = [scene.start("order", record=str(number), city="Bern") for number in range(3)]
        scene.start("order", record="other", city="Rome")
        scene.command(heads[0], "suspend")
        page = begin(operator, "suspend_chosen", "?variable=city%3DBern")
        (address, _) = page.redirect_chain[0]
        assert '<progress max="3" value="0"' in text_of(page)
        assert "variable: city=Bern" in text_of(page)
        run_due_batches()
        page = operator.get(address)
        assert "2 instances would be changed. 1 would be refused." in text_of(page)
        assert "The instance is suspended." in text_of(page)
        assert f'{LIST}{heads[0].id}/change/"' in text_of(page)
        assert "Change 2 instances" in text_of(page)
        assert WorkflowInstance.objects.filter(status="suspended").count() == 1
        batch = WorkflowBatch.objects.get()
        assert operator.get(f"{BATCHES}{batch.pk}/run/").status_code == 405
        operator.post(f"{BATCHES}{batch.pk}/run/")
        run_due_batches()
        page = operator.get(address)
        assert "2 instances have been changed. 1 was refused." in text_of(page)
        assert {version.actor for version in WorkflowVersion.objects.filter(cause="suspend", number=2)} >= {
            "staff:olga"
        }
        assert "Change 2 instances" not in text_of(page)
        scene.command(heads[1], "resume")
        assert "Undo this batch?" in text_of(operator.get(f"{BATCHES}{batch.pk}/undo/"))
        operator.post(f"{BATCHES}{batch.pk}/undo/", {"reason": "too early"})
        run_due_batches()
        page = operator.get(address)
        assert "1 instance has been returned. 1 was left as it is." in text_of(page)
        assert "The instance has gone on since." in text_of(page)
        assert "undo/" not in text_of(page)
        assert "undone by olga" in text_of(page)
        listed = text_of(operator.get(BATCHES))
        assert "1 instance has been returned." in listed
        assert "staff:" not in text_of(page) + listed

    def test_of_ticked_instances_says_what_had_ended(self, scene: Scene, operator: Client) -> None:
        ended, other = scene.begin(ORDER), scene.start("order")
        scene.command(ended, "terminate")
        begin(operator, "terminate_chosen", "", ended.id, other.id)
        run_due_batches()
        page = text_of(operator.get(f"{BATCHES}{WorkflowBatch.objects.get().pk}/change/"))
        assert "What they have done outside cannot be undone." in page
        assert "Terminate 1 instance" in page
        assert "The instance is terminated." in page

    def test_all_without_a_status_are_those_that_have_not_ended(self, scene: Scene, operator: Client) -> None:
        ended, _ = scene.begin(ORDER), scene.start("order")
        scene.command(ended, "terminate")
        begin(operator, "terminate_chosen", "?definition=order")
        assert WorkflowBatch.objects.get().total == 1

    @pytest.mark.parametrize(
        ("action", "answers", "parameters"),
        [
            ("set_variables_chosen", {"variables": '{"amount": 5}'}, '{"variables":{"amount":5}}'),
            ("migrate_chosen", {"revision": "2"}, '{"revision":2}'),
        ],
    )
    def test_asks_for_what_it_needs(
        self, scene: Scene, operator: Client, action: str, answers: dict[str, str], parameters: str
    ) -> None:
        scene.begin(ORDER)
        scene.publish(LONGER)
        asked = text_of(begin(operator, action, "?status=active"))
        assert "Nothing is changed yet" in asked
        assert "1 instance:" in asked
        assert not WorkflowBatch.objects.exists()
        begin(operator, action, "?status=active", confirmed="yes", **dict.fromkeys(answers, ""))
        assert not WorkflowBatch.objects.exists()
        begin(operator, action, "?status=active", confirmed="yes", **answers)
        assert WorkflowBatch.objects.get().parameters == parameters

    def test_a_move_asks_where_instances_continue_whose_element_is_not_there(
        self, scene: Scene, operator: Client
    ) -> None:
        head = scene.begin(ORDER)
        scene.publish(RENAMED)
        sent = {"confirmed": "yes", "revision": "2"}
        asked = text_of(begin(operator, "migrate_chosen", "?status=active", **sent))
        assert "“Check” continues at" in asked
        assert "“Ship” continues at" not in asked
        assert '<option value="look">Look</option>' in asked
        assert 'name="asked" value="2"' in asked
        assert not WorkflowBatch.objects.exists()
        begin(operator, "migrate_chosen", "?status=active", **sent, asked="2", **{"to:check": "look"})
        batch = WorkflowBatch.objects.get()
        assert batch.parameters == '{"revision":2,"elements":{"check":"look"}}'
        run_due_batches()
        page = text_of(operator.get(f"{BATCHES}{batch.pk}/change/"))
        assert "<dt>“check” continues at</dt><dd>look</dd>" in page
        assert "1 instance would be changed." in page
        begin(operator, "migrate_chosen", "", head.id, **sent, asked="2")
        run_due_batches()
        assert "The revision has no counterpart for “Check”" in text_of(
            operator.get(f"{BATCHES}{WorkflowBatch.objects.order_by('-id')[0].pk}/change/")
        )

    def test_a_move_is_within_one_definition_that_has_another_revision(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER)
        page = text_of(begin(operator, "migrate_chosen", "?status=active"))
        assert "The definition has no other revision." in page
        scene.begin(chain("other", user("check")))
        page = text_of(begin(operator, "migrate_chosen", "?status=active"))
        assert "Choose instances of one definition" in page

    def test_is_stopped_continued_and_says_by_whom(self, scene: Scene, operator: Client) -> None:
        batch = make("terminate", scene.begin(ORDER), scene.start("order"))
        address = f"{BATCHES}{batch.pk}/"
        assert f'action="{address}stop/"' in text_of(operator.get(f"{address}change/"))
        page = text_of(operator.post(f"{address}stop/", follow=True))
        assert "0 instances have been changed. 2 were not begun." in page
        assert "stopped by olga" in page
        assert "Continue with 2 instances" in page
        assert "undo/" not in page
        operator.post(f"{address}run/")
        run_due_batches()
        assert "2 instances have been changed." in text_of(operator.get(f"{address}change/"))
        assert "Only a batch that is under way can be stopped." in text_of(
            operator.post(f"{address}stop/", follow=True)
        )

    def test_says_by_what_instances_were_chosen_as_people_say_it(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER)
        begin(operator, "suspend_chosen", "?definition=order&status=active&age=-hour")
        page = text_of(operator.get(f"{BATCHES}{WorkflowBatch.objects.get().pk}/change/"))
        assert "status: active · definition: order · age: started within an hour" in page

    def test_too_many_are_refused_with_words(
        self, scene: Scene, operator: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scene.begin(ORDER)
        monkeypatch.setattr(create, "MOST_INSTANCES", 0)
        page = begin(operator, "terminate_chosen", "?status=active")
        assert "These are more instances than one batch may have." in text_of(page)

    def test_a_viewer_looks_and_does_nothing(self, scene: Scene, viewer: Client) -> None:
        head = scene.begin(ORDER)
        batch = do("terminate", head, dry_run=True)
        assert "terminate_chosen" not in text_of(viewer.get(LIST))
        begin(viewer, "terminate_chosen", "", head.id)
        page = text_of(viewer.get(f"{BATCHES}{batch.pk}/change/"))
        assert "would be changed" in page
        assert "/run/" not in page
        assert viewer.post(f"{BATCHES}{batch.pk}/run/").status_code == 403
        assert viewer.get(f"{BATCHES}{batch.pk}/undo/").status_code == 403
        assert WorkflowBatch.objects.get().status == "checked"

    def test_of_another_state_is_refused_with_words(self, scene: Scene, operator: Client) -> None:
        batch = do("terminate", scene.begin(ORDER))
        page = operator.post(f"{BATCHES}{batch.pk}/run/", follow=True)
        assert "Only a dry run or a stopped batch can be carried out." in text_of(page)
        assert operator.get(f"{BATCHES}{uuid4()}/undo/").status_code == 404

    def test_costs_few_queries(self, scene: Scene, operator: Client, django_assert_max_num_queries: Any) -> None:
        scene.publish(ORDER)
        batch = do("terminate", *(scene.start("order") for _ in range(8)), dry_run=True)
        operator.get(f"{BATCHES}{batch.pk}/change/")
        with django_assert_max_num_queries(PAGE_QUERIES):
            operator.get(f"{BATCHES}{batch.pk}/change/")
