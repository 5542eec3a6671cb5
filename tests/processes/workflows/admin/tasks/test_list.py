from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from config.records.models import UserSettings
from processes.workflows.models import TaskCandidate, WorkItem
from processes.workflows.services.task_assignment import claim_task
from processes.workflows.task_rights import person_of
from tests.processes.workflows.process_files import chain, service, user
from tests.processes.workflows.scene import Scene
from tests.staff import member_of

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/workflows/workitem/"
QUERIES = 13
ORDER = chain("order", user("check"), user("ship"))
OFFERED = chain(
    "offered",
    (
        "look",
        '<userTask id="look" postern:candidateGroups="Sales, operator" postern:candidateUsers="olga"'
        ' postern:dueDate="=due" postern:priority="=priority"/>',
    ),
)


def listed(browser: Client, **query: str) -> list[tuple[str, str]]:
    found = browser.get(LIST, query).context["cl"].result_list
    return [(item.element, item.instance.record) for item in found]


def tabs(browser: Client) -> dict[str, tuple[str, bool]]:
    return {tab.name: (tab.count, tab.is_chosen) for tab in browser.get(LIST).context["tabs"]}


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


class TestTabs:
    def test_mine_my_groups_and_all(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER, record="A")
        assert tabs(operator) == {"mine": ("", False), "groups": ("", False), "all": ("1", True)}
        scene.begin(OFFERED, record="B", due=None, priority=None)
        assert tabs(operator) == {"mine": ("", False), "groups": ("1", True), "all": ("2", False)}
        claim_task(WorkItem.objects.get(element="look").pk, person_of(User.objects.get()), actor="x")
        assert tabs(operator) == {"mine": ("1", True), "groups": ("", False), "all": ("2", False)}
        assert listed(operator) == [("look", "B")]
        assert listed(operator, whose="groups") == []
        assert listed(operator, whose="all") == [("check", "A"), ("look", "B")]

    def test_by_deadline_then_priority(self, scene: Scene, operator: Client) -> None:
        scene.publish(OFFERED)
        for record, due, priority in (
            ("late", None, None),
            ("soon", "2030-01-01", None),
            ("soon and high", "2030-01-01", 90),
            ("sooner", "2029-01-01", 1),
            ("high", None, 90),
        ):
            scene.start("offered", record=record, due=due, priority=priority)
        for tab in ("groups", "all"):
            found = [record for _, record in listed(operator, whose=tab)]
            assert found == ["sooner", "soon and high", "soon", "high", "late"]

    def test_pages_of_what_is_offered_under_several_names_have_each_task_once(
        self, scene: Scene, operator: Client
    ) -> None:
        User.objects.get().groups.add(Group.objects.create(name="Sales"))
        scene.publish(OFFERED)
        for number in range(53):
            scene.start("offered", record=f"{number:02}", due=None, priority=None)
        first, second = (listed(operator, whose="groups", p=page) for page in ("1", "2"))
        assert [record for _, record in first + second] == [f"{number:02}" for number in range(53)]
        assert operator.get(LIST, {"whose": "groups"}).context["cl"].result_count == 53
        assert TaskCandidate.objects.count() == 3 * 53

    def test_search_by_name_record_definition_and_variable(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER, record="A-7", customer="Acme")
        scene.begin(OFFERED, record="B-8", due=None, priority=None, customer="Bolt")
        for text, found in (
            ("chec", ["A-7"]),
            ("b-8", ["B-8"]),
            ("offered", ["B-8"]),
            ("customer=acme", ["A-7"]),
            ("look bolt", ["B-8"]),
            ("look acme", []),
        ):
            assert [record for _, record in listed(operator, whose="all", q=text)] == found, text
        assert [record for _, record in listed(operator, whose="groups", q="bolt")] == ["B-8"]

    def test_a_name_that_nobody_has_is_shown_as_such(self, scene: Scene, operator: Client) -> None:
        scene.begin(chain("p", ("t", '<userTask id="t" postern:assignee="ghost"/>')))
        page = operator.get(LIST, {"whose": "all"}).content.decode()
        assert "ghost" in page
        assert "no such name" in page


class TestLimits:
    def test_so_many_words_count(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER)
        assert len(listed(operator, whose="all", q="c h e c k nothing")) == 1
        assert len(listed(operator, whose="all", q="c h e c nothing k")) == 0

    def test_so_many_groups_count(self, db: None) -> None:
        person = member_of("viewer", "gina")
        person.groups.add(*(Group.objects.create(name=f"g{number:03}") for number in range(100)))
        assert len(person_of(person).groups) == 100
        assert "viewer" not in person_of(person).groups

    def test_so_many_people_are_offered(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER)
        User.objects.bulk_create(User(username=f"p{number:03}", is_staff=True) for number in range(501))
        form = operator.get(f"{LIST}{WorkItem.objects.get().pk}/assign/").context["form"]
        assert len(form.fields["assignee"].choices) == 500


class TestStartPage:
    CARD = f"{LIST}card/"

    def test_the_card_has_the_viewers_tasks_and_those_of_their_groups(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER, record="of nobody")
        assert operator.get(self.CARD).content.strip() == b""
        scene.begin(OFFERED, record="later", due="2031-01-01", priority=50)
        scene.begin(chain("p", ("t", '<userTask id="t" postern:assignee="olga"/>')), record="mine")
        scene.begin(chain("q", ("t", '<userTask id="t" postern:assignee="otto"/>')), record="another's")
        assert [item.instance.record for item in operator.get(self.CARD).context["tasks"]] == ["later", "mine"]
        assert self.CARD in operator.get("/admin/").content.decode()

    def test_mails_are_chosen_by_each(self, operator: Client) -> None:
        assert "no e-mail address" in operator.get(f"{LIST}mails/").content.decode()
        operator.post(f"{LIST}mails/", {"mails_overdue": "on"})
        kept = UserSettings.objects.get()
        assert (kept.mails_assigned, kept.mails_overdue, kept.time_zone) == (False, True, "UTC")
        form = operator.get(f"{LIST}mails/").context["form"]
        assert form.initial == {"mails_assigned": False, "mails_overdue": True}
