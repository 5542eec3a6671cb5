from collections.abc import Callable
from typing import Any

import pytest

from config.records.models import ChangeRecord
from notifications.models import Event
from sensors.errors import ClientNotFound, SensorNotFound
from sensors.models import SensorClient
from sensors.services.links import link, link_sensors, unlink
from tests.sensors.registry import make_client, make_delivery, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestLink:
    def test_is_a_change_of_the_sensor(self) -> None:
        make_sensor("0xA")
        client = make_client()
        link(sensor_id="0xA", client_id=client.pk, actor="anna")
        change = ChangeRecord.objects.get()
        assert (change.kind, change.object_id, change.after["clients"]) == ("sensor", "0xA", [client.pk])
        assert Event.objects.get().payload["changed"] == ["clients"]

    def test_again_changes_nothing(self) -> None:
        make_sensor("0xA")
        client = make_client()
        for _ in range(2):
            link(sensor_id="0xA", client_id=client.pk, actor="anna")
        assert (SensorClient.objects.count(), ChangeRecord.objects.count()) == (1, 1)

    def test_of_nobody_with_nobody_is_an_error(self) -> None:
        make_sensor("0xA")
        client = make_client()
        with pytest.raises(ClientNotFound):
            link(sensor_id="0xA", client_id=2**63, actor="anna")
        with pytest.raises(SensorNotFound):
            link(sensor_id="nobody", client_id=client.pk, actor="anna")


class TestUnlink:
    def test_cancels_what_is_pending(self) -> None:
        make_sensor("0xA")
        client = make_client()
        link(sensor_id="0xA", client_id=client.pk, actor="anna")
        owed = make_delivery("0xA", client)
        unlink(sensor_id="0xA", client_id=client.pk, actor="anna")
        owed.refresh_from_db()
        assert (owed.status, owed.reason, SensorClient.objects.count()) == ("cancelled", "unlinked", 0)

    def test_what_is_not_linked_changes_nothing(self) -> None:
        make_sensor("0xA")
        unlink(sensor_id="0xA", client_id=make_client().pk, actor="anna")
        assert not ChangeRecord.objects.exists()


class TestLinkSensors:
    def test_counts_the_new_links(self) -> None:
        client = make_client()
        for n in range(4):
            make_sensor(f"s{n}")
        link(sensor_id="s0", client_id=client.pk, actor="anna")
        assert link_sensors(sensor_ids=["s0", "s1", "s2", "gone"], client_id=client.pk, actor="anna") == 2
        assert sorted(client.links.values_list("sensor_id", flat=True)) == ["s0", "s1", "s2"]

    def test_costs_the_same_for_many(self, django_assert_max_num_queries: Any) -> None:
        client = make_client()
        for n in range(300):
            make_sensor(f"s{n}")
        with django_assert_max_num_queries(12):
            link_sensors(sensor_ids=[f"s{n}" for n in range(300)], client_id=client.pk, actor="anna")


@pytest.mark.django_db(transaction=True)
def test_many_who_link_the_same_make_one_link(in_threads: Callable[..., list[None]]) -> None:
    client = make_client()
    for n in range(5):
        make_sensor(f"s{n}")
    ids = [f"s{n}" for n in range(5)]
    in_threads(lambda n: link_sensors(sensor_ids=ids[:: 1 if n % 2 else -1], client_id=client.pk, actor=str(n)), 6)
    assert (SensorClient.objects.count(), ChangeRecord.objects.count()) == (5, 5)
