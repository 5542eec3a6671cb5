import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils.html import strip_tags
from django.utils.translation import override

from config.dashboard import menu
from config.dashboard.menu import MENU, navigation
from notifications.services.alerts import acknowledge_alert
from tests.notifications.alerts import make_alert
from tests.processes.workflows.process_files import chain
from tests.processes.workflows.scene import Scene
from tests.staff import member_of, signed_in

GROUP_ORDER = ["Needs attention", "Sensors", "Notifications", "Messaging", "Processes", "System"]


def menu_of(person: User) -> dict[str, list[str]]:
    request = RequestFactory().get("/admin/")
    request.user = person
    return {group["title"]: [item["title"] for item in group["items"]] for group in navigation(request)}


def badges_of(person: User) -> dict[str, str]:
    request = RequestFactory().get("/admin/")
    request.user = person
    items = [item for group in navigation(request) for item in group["items"]]
    return {item["title"]: item["badge"] for item in items if item["badge"]}


@pytest.mark.embedded
@pytest.mark.django_db
class TestNavigation:
    def test_groups_stand_in_their_order(self) -> None:
        assert [str(title) for title, _ in MENU] == GROUP_ORDER

    def test_no_group_is_longer_than_one_reads(self) -> None:
        assert max(len(entries) for _title, entries in MENU) <= 7

    def test_says_how_many_wait_where(self) -> None:
        make_alert(subject="a")
        make_alert(subject="b")
        acknowledge_alert(make_alert(subject="c").pk, "staff:ivan")
        assert badges_of(member_of("viewer")) == {"Alerts": "2"}

    def test_counts_no_further_than_its_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(menu, "MOST_ON_A_BADGE", 2)
        for subject in "abc":
            make_alert(subject=subject)
        assert badges_of(member_of("viewer")) == {"Alerts": "1+"}

    def test_counts_by_one_statement(self, django_assert_num_queries: Any) -> None:
        person = User.objects.create_superuser("olga")
        with django_assert_num_queries(1):
            menu_of(person)

    def test_tasks_of_the_person_and_of_their_groups_are_counted_once_each(self) -> None:
        person = member_of("viewer")
        both = 'postern:candidateUsers="olga" postern:candidateGroups="viewer, operator"'
        for said in (
            both,
            'postern:candidateGroups="viewer"',
            'postern:assignee="olga"',
            'postern:assignee="otto"',
            "",
        ):
            Scene().begin(chain("p", ("t", f'<userTask id="t" {said}/>')))
        assert badges_of(person)["My tasks"] == "3"

    @pytest.mark.slow
    def test_every_entry_leads_to_a_page(self, client: Client) -> None:
        person = User.objects.create_superuser("olga")
        request = RequestFactory().get("/admin/")
        request.user = person
        client.force_login(person)
        links = [item["link"] for group in navigation(request) for item in group["items"]]
        assert {client.get(link).status_code for link in links} == {200}

    def test_an_administrator_sees_the_whole_system_group(self) -> None:
        menu = menu_of(member_of("administrator"))
        assert menu["System"] == ["Access keys", "Registry changes", "Log", "Schedule", "Users", "Groups"]

    def test_a_viewer_sees_neither_keys_nor_accounts(self) -> None:
        assert menu_of(member_of("viewer"))["System"] == ["Registry changes", "Log", "Schedule"]

    def test_who_may_nothing_sees_the_start_page_alone(self) -> None:
        assert menu_of(User.objects.create_user("olga", is_staff=True)) == {"": ["Start page"]}

    @pytest.mark.parametrize(
        ("path", "title"),
        [
            ("/admin/", "Start page"),
            ("/admin/notifications/delivery/", "Deliveries"),
            ("/admin/notifications/delivery/5/change/", "Deliveries"),
            ("/admin/notifications/delivery/dead/", "Undelivered messages"),
        ],
    )
    def test_marks_the_entry_of_the_page_alone(self, path: str, title: str) -> None:
        request = RequestFactory().get(path)
        request.user = User.objects.create_superuser("olga")
        items = [item for group in navigation(request) for item in group["items"]]
        assert [item["title"] for item in items if item["active"]] == [title]

    def test_speaks_russian(self) -> None:
        with override("ru"):
            assert "Система" in menu_of(member_of("administrator"))


@pytest.mark.embedded
@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_page_has_the_title_that_the_menu_has(language: str) -> None:
    client = signed_in("administrator")
    with override(language):
        titles = {reverse(entry.page): str(entry.title) for _group, entries in MENU for entry in entries}
    del titles["/admin/workflows/workitem/"]  # of all tasks the menu counts one's own
    shown = {}
    for address in titles:
        page = client.get(address, headers={"accept-language": language}).content.decode()
        heading = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
        shown[address] = "" if heading is None else " ".join(unescape(strip_tags(heading[1])).split())
    assert {address: shown[address] for address in titles if shown[address] != titles[address]} == {}
