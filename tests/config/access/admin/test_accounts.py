import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from config.records.models import ChangeRecord, LogEntry


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    return client


@pytest.mark.embedded
class TestGroups:
    def test_the_products_own_groups_are_not_edited(self, staff: Client) -> None:
        viewer = Group.objects.get(name="viewer")
        assert staff.post(f"/admin/auth/group/{viewer.pk}/change/", {"name": "x"}).status_code == 403
        assert staff.post(f"/admin/auth/group/{viewer.pk}/delete/", {"post": "yes"}).status_code == 403

    def test_an_organisation_makes_groups_of_its_own(self, staff: Client) -> None:
        held = Permission.objects.get(codename="view_event")
        staff.post("/admin/auth/group/add/", {"name": "night shift", "permissions": [held.pk]})
        assert list(Group.objects.get(name="night shift").permissions.all()) == [held]

    @pytest.mark.parametrize(("language", "words"), [("en", "event: view"), ("ru", "событие: просматривать")])
    def test_permissions_are_named_in_the_language_of_the_reader(
        self, staff: Client, language: str, words: str
    ) -> None:
        page = staff.get("/admin/auth/group/add/", headers={"accept-language": language}).content.decode()
        assert words in page


@pytest.mark.embedded
class TestUsers:
    def test_a_new_user_gets_groups_and_may_sign_in(self, staff: Client) -> None:
        viewer = Group.objects.get(name="viewer")
        secret = "a long passphrase"
        values = {"username": "vera", "password1": secret, "password2": secret, "is_staff": "on", "groups": [viewer.pk]}
        staff.post("/admin/auth/user/add/", {**values, "usable_password": "true"})
        person = User.objects.get(username="vera")
        assert (person.is_staff, list(person.groups.all())) == (True, [viewer])

    def test_accounts_are_not_deleted(self, staff: Client) -> None:
        person = User.objects.create_user("vera")
        assert staff.post(f"/admin/auth/user/{person.pk}/delete/", {"post": "yes"}).status_code == 403

    def test_the_list_tells_who_belongs_where(self, staff: Client) -> None:
        User.objects.create_user("vera").groups.add(Group.objects.get(name="operator"))
        page = staff.get("/admin/auth/user/").content.decode()
        assert "operator" in page
        assert "superuser" in page


def change_of(kind: str) -> ChangeRecord:
    return ChangeRecord.objects.filter(kind=kind).latest("pk")


def change_password(name: str) -> User:
    person = User.objects.create_user(name)
    person.set_password("a long passphrase")
    person.save()
    return person


def account_form(**values: object) -> dict[str, object]:
    form = {"username": "vera", "is_active": "on", "is_staff": "on", "first_name": "", "last_name": "", "email": ""}
    return {**form, **values}


@pytest.mark.embedded
class TestChangeLog:
    def test_says_who_gave_which_rights_to_whom(self, staff: Client) -> None:
        viewer, person = Group.objects.get(name="viewer"), User.objects.create_user("vera", is_staff=True)
        staff.post(f"/admin/auth/user/{person.pk}/change/", account_form(groups=[viewer.pk], is_superuser="on"))
        change = change_of("account")
        assert (change.actor, change.action, change.object_id) == ("staff:olga", "changed", str(person.pk))
        touched = {name for name, value in change.after.items() if change.before[name] != value}
        assert touched == {"groups", "is_superuser"}

    def test_a_form_that_changes_nothing_leaves_no_line(self, staff: Client) -> None:
        person = User.objects.create_user("vera", is_staff=True)
        staff.post(f"/admin/auth/user/{person.pk}/change/", account_form())
        assert not ChangeRecord.objects.exists()

    def test_tells_of_a_new_account_without_its_password(self, staff: Client) -> None:
        secret = "a long passphrase"
        values = {"username": "vera", "password1": secret, "password2": secret, "usable_password": "true"}
        staff.post("/admin/auth/user/add/", values)
        change = change_of("account")
        assert (change.action, change.after["username"]) == ("created", "vera")
        assert "password" not in change.after

    def test_tells_of_the_rights_of_a_group_and_of_its_end(self, staff: Client) -> None:
        held = Permission.objects.get(codename="view_event")
        staff.post("/admin/auth/group/add/", {"name": "night shift", "permissions": [held.pk]})
        assert change_of("group").after == {"name": "night shift", "permissions": ["notifications.view_event"]}
        group = Group.objects.get(name="night shift")
        staff.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"})
        assert (change_of("group").action, change_of("group").object_id) == ("deleted", str(group.pk))

    def test_is_read_by_those_alone_who_may_see_accounts(self, staff: Client) -> None:
        change_password("vera")
        viewer, page = User.objects.create_user("ivan", is_staff=True), "/admin/records/logentry/"
        group = Group.objects.get(name="viewer")
        viewer.groups.add(group)
        client = Client()
        client.force_login(viewer)
        assert "The password of vera was changed" in staff.get(page).content.decode()
        assert "The password of vera was changed" not in client.get(page).content.decode()
        values = account_form(username="ivan", email="i@example.org", groups=[group.pk])
        staff.post(f"/admin/auth/user/{viewer.pk}/change/", values)
        line = change_of("account")
        assert staff.get(f"/admin/records/changerecord/{line.pk}/change/").status_code == 200
        assert client.get(f"/admin/records/changerecord/{line.pk}/change/").status_code == 302

    def test_a_password_that_is_changed_is_in_the_log(self, staff: Client) -> None:
        person = change_password("vera")
        assert str(LogEntry.objects.get(subject=f"account/{person.pk}")) == "The password of vera was changed"
