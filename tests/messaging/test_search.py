import pytest
from django.test import Client

from tests.messaging.parties import caller_of, make_database, make_device
from tests.search_answers import found
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def viewer() -> Client:
    return signed_in("viewer")


class TestParties:
    def test_a_device_is_found_by_id_and_name(self, viewer: Client) -> None:
        device = make_device("phone-17", name="Olga's phone")
        page = f"/admin/messaging/device/{device.pk}/change/"
        for text in ("phone-17", "PHONE-17", "phone", "olga"):
            assert found(viewer, text)["Devices"] == [page]

    def test_databases_enterprises_and_subsystems_likewise(self, viewer: Client) -> None:
        make_device("phone")
        make_database("erp", name="Main ERP")
        assert found(viewer, "erp")["Databases"] == ["/admin/messaging/exchangedatabase/erp/change/"]
        assert found(viewer, "acme")["Enterprises"] == ["/admin/messaging/enterprise/acme/change/"]
        assert found(viewer, "stock")["Subsystems"] == ["/admin/messaging/subsystem/stock/change/"]


class TestMessages:
    def test_one_is_found_by_its_id_in_every_enterprise(self, viewer: Client) -> None:
        for enterprise in ("acme", "rival"):
            device = make_device(f"{enterprise}-phone", f"{enterprise}-stock", enterprise)
            make_database(f"{enterprise}-erp", enterprise)
            body = {"version": 1, "id": "m-17", "to": f"{enterprise}-erp", "payload": {}}
            assert caller_of(device)("POST", "/messages/", body).status_code == 201
        assert len(found(viewer, "m-17")["Messages"]) == len(found(viewer, "M-17")["Messages"]) == 2
        assert "Messages" not in found(viewer, "m-1")
