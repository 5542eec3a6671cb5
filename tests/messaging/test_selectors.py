from typing import Any

import pytest

from messaging.models import Device, Enterprise, ExchangeDatabase
from messaging.selectors import find_database, find_device
from tests.messaging.parties import make_database, make_device

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestFindDeviceAndDatabase:
    def test_reads_a_device_with_all_it_belongs_to_in_one_query(self, django_assert_num_queries: Any) -> None:
        make_device()
        with django_assert_num_queries(1):
            device = find_device("phone")
            assert device is not None
            found = (device.active, device.subsystem_id, device.subsystem.enterprise_id)
        assert found == (True, "stock", "acme")
        assert (device.name, device.subsystem.name) == ("Phone", "Stock")

    def test_reads_a_database_in_one_query(self, django_assert_num_queries: Any) -> None:
        make_database()
        with django_assert_num_queries(1):
            database = find_database("erp")
            assert database is not None
            assert (database.active, database.enterprise_id) == (True, "acme")

    @pytest.mark.parametrize("model", [Device, Enterprise])
    def test_an_inactive_device_or_enterprise_is_inactive(self, model: Any) -> None:
        make_device()
        model.objects.update(active=False)
        device = find_device("phone")
        assert device is not None
        assert not device.active

    @pytest.mark.parametrize("model", [ExchangeDatabase, Enterprise])
    def test_so_is_a_database(self, model: Any) -> None:
        make_database()
        model.objects.update(active=False)
        database = find_database("erp")
        assert database is not None
        assert not database.active

    def test_knows_nobody_else(self) -> None:
        make_database("phone")
        assert (find_device("phone"), find_database("erp")) == (None, None)
