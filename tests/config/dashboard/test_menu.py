import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils.translation import override

from config.dashboard.menu import MENU, navigation
from tests.staff import member_of

GROUP_ORDER = ["Sensors", "Notifications", "Messaging", "Processes", "System"]


def menu_of(person: User) -> dict[str, list[str]]:
    request = RequestFactory().get("/admin/")
    request.user = person
    return {group["title"]: [item["title"] for item in group["items"]] for group in navigation(request)}


@pytest.mark.embedded
@pytest.mark.django_db
class TestNavigation:
    def test_groups_stand_in_their_order(self) -> None:
        assert [str(title) for title, _ in MENU] == GROUP_ORDER

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
            ("/admin/notifications/delivery/dead/", "Dead letters"),
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
