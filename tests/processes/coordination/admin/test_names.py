import pytest
from django.test import Client

from notifications.models import Alert
from notifications.names import find_subjects, name_subject
from notifications.services.alerts import raise_alert
from tests.staff import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


class TestNameSubject:
    def test_leads_to_the_change_set(self) -> None:
        named = name_subject("coordination/12")
        assert (named.text, named.page) == ("change set 12", "/admin/coordination/appevent/12/change/")

    def test_leads_from_a_reader_to_the_list(self) -> None:
        named = name_subject("reader/main")
        assert (named.text, named.page) == ("reader main", "/admin/coordination/appevent/")

    def test_leads_from_a_role_to_the_list(self) -> None:
        named = name_subject("coordinator")
        assert (named.text, named.page) == ("Coordinator", "/admin/coordination/appevent/")

    @pytest.mark.parametrize("subject", ["coordination/x", "other/12"])
    def test_knows_no_others(self, subject: str) -> None:
        assert name_subject(subject) is None

    def test_a_number_may_mean_a_change_set(self) -> None:
        assert "coordination/12" in find_subjects("12")


class TestAlertPage:
    @pytest.fixture
    def operator(self) -> Client:
        return signed_in("operator")

    def test_leads_to_the_change_set(self, operator: Client) -> None:
        raise_alert("coordination.compensation", "coordination/12", "it failed")
        page = operator.get(f"/admin/notifications/alert/{Alert.objects.get().pk}/change/").content.decode()
        link = 'href="/admin/coordination/appevent/12/change/" title="coordination/12">change set 12</a>'
        assert link in page
