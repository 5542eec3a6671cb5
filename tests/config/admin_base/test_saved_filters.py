import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.admin_base import saved_filters
from config.records.models import SavedFilter
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
LIST, SAVE = "/admin/sensors/sensor/", "/admin/saved-filters/"
LOST = {"page": "sensors.sensor", "name": "Lost doors", "query": "connection=lost&o=-5&p=3"}


@pytest.fixture
def viewer() -> Client:
    return signed_in("viewer")


class TestSaveFilter:
    def test_keeps_search_filters_and_order_and_offers_them_on_the_list(self, viewer: Client) -> None:
        answer = viewer.post(SAVE, LOST)
        assert answer["Location"] == f"{LIST}?connection=lost&o=-5"
        page = viewer.get(LIST).content.decode()
        assert '<a href="?connection=lost&amp;o=-5" >Lost doors</a>' in page
        assert 'aria-current="true">Lost doors</a>' in viewer.get(f"{LIST}?o=-5&connection=lost").content.decode()
        assert "Lost doors" not in viewer.get("/admin/sensors/client/").content.decode()

    def test_replaces_one_of_the_same_name(self, viewer: Client) -> None:
        viewer.post(SAVE, LOST)
        viewer.post(SAVE, {**LOST, "query": "active=0"})
        assert SavedFilter.objects.get().query == "active=0"

    def test_is_one_persons_alone(self, viewer: Client) -> None:
        viewer.post(SAVE, LOST)
        other = signed_in("viewer", "ivan")
        assert "Lost doors" not in other.get(LIST).content.decode()
        other.post(f"{SAVE}{SavedFilter.objects.get().pk}/delete/")
        assert SavedFilter.objects.exists()

    def test_is_deleted_by_its_owner(self, viewer: Client) -> None:
        viewer.post(SAVE, LOST)
        page = viewer.post(f"{SAVE}{SavedFilter.objects.get().pk}/delete/", follow=True).content.decode()
        assert "Filter “Lost doors” deleted." in page
        assert not SavedFilter.objects.exists()

    def test_has_a_bound(self, viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(saved_filters, "MOST_OF_A_LIST", 1)
        viewer.post(SAVE, LOST)
        assert "delete one first" in viewer.post(SAVE, {**LOST, "name": "Other"}, follow=True).content.decode()
        assert SavedFilter.objects.count() == 1

    @pytest.mark.parametrize(
        "wrong",
        [
            {"name": ""},
            {"name": "x" * 61},
            {"query": ""},
            {"query": "a=" + "x" * 2000},
            {"page": "no.list"},
            {"page": "x"},
        ],
    )
    def test_refuses_what_is_none(self, viewer: Client, wrong: dict[str, str]) -> None:
        assert viewer.post(SAVE, {**LOST, **wrong}).status_code == 302
        assert not SavedFilter.objects.exists()

    def test_says_which_is_too_long(self, viewer: Client) -> None:
        page = viewer.post(SAVE, {**LOST, "query": "a=" + "x" * 2000}, follow=True).content.decode()
        assert "The filter is too long to be saved." in page
        assert "at most 60 characters" in viewer.post(SAVE, {**LOST, "name": "x" * 61}, follow=True).content.decode()

    def test_ends_with_the_account(self, viewer: Client) -> None:
        viewer.post(SAVE, LOST)
        User.objects.all().delete()
        assert not SavedFilter.objects.exists()

    def test_is_not_changed_by_a_link(self, viewer: Client) -> None:
        viewer.post(SAVE, LOST)
        assert viewer.get(f"{SAVE}{SavedFilter.objects.get().pk}/delete/").status_code == 405
        assert viewer.get(SAVE).status_code == 405
