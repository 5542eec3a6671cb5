import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client


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

    @pytest.mark.parametrize(("language", "words"), [("en", "event: see"), ("ru", "событие: видеть")])
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
