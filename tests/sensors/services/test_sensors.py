from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from config.audit.changes import NotRevertible, revert_change
from config.common.errors import Invalid
from config.records.models import ChangeRecord
from notifications.models import Delivery, Event
from sensors.errors import SensorExists, SensorNotFound
from sensors.models import Sensor, SensorClient, SensorState
from sensors.services.sensors import (
    create_sensor,
    deactivate_sensor,
    reactivate_sensor,
    set_sensors_active,
    update_sensor,
)
from tests.sensors.registry import link, make_client, make_delivery, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

HOUR = timedelta(hours=1)


def last_event() -> Event:
    return Event.objects.order_by("-id")[0]


class TestCreateSensor:
    def test_makes_the_sensor_its_state_and_its_links(self) -> None:
        client = make_client()
        create_sensor(sensor_id="0xA", address=" 1 Gate Street ", clients=[client.pk], actor="anna")
        sensor = Sensor.objects.get()
        assert (sensor.pk, sensor.address, sensor.heartbeat_timeout, sensor.active) == (
            "0xA",
            "1 Gate Street",
            3600,
            True,
        )
        assert SensorState.objects.get().sensor_id == "0xA"
        assert list(sensor.clients.all()) == [client]

    def test_is_logged_and_told(self) -> None:
        create_sensor(sensor_id="0xA", address="1 Gate Street", actor="anna")
        change, event = ChangeRecord.objects.get(), last_event()
        assert (change.action, change.kind, change.object_id, change.actor) == ("created", "sensor", "0xA", "anna")
        assert change.after["clients"] == []
        assert (event.type, event.subject, event.payload["values"]) == ("registry.created", "sensor/0xA", change.after)

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("id", {"sensor_id": "0x-A"}),
            ("id", {"sensor_id": "a" * 17}),
            ("id", {"sensor_id": "import"}),
            ("address", {"address": "  "}),
            ("address", {"address": "a" * 501}),
            ("address", {"address": "a\0b"}),
            ("notes", {"notes": "a" * 5001}),
            ("heartbeat_timeout", {"heartbeat_timeout": 0}),
            ("heartbeat_timeout", {"heartbeat_timeout": 30 * 86400 + 1}),
            ("clients", {"clients": [4711]}),
        ],
    )
    def test_names_the_rule_that_is_broken(self, field: str, values: dict[str, Any]) -> None:
        with pytest.raises(Invalid) as error:
            create_sensor(**{"sensor_id": "0xA", "address": "1 Gate Street", "actor": "anna", **values})
        assert list(error.value.data["fields"]) == [field]
        assert not Sensor.objects.exists()

    def test_a_second_one_of_the_same_id_is_refused(self) -> None:
        make_sensor("0xA")
        with pytest.raises(SensorExists):
            create_sensor(sensor_id="0xA", address="elsewhere", actor="anna")
        assert (ChangeRecord.objects.count(), Event.objects.count()) == (0, 0)


class TestUpdateSensor:
    def test_changes_what_is_named_and_nothing_else(self) -> None:
        make_sensor("0xA", notes="old door")
        update_sensor(sensor_id="0xA", address="2 Gate Street", actor="anna")
        sensor, change = Sensor.objects.get(), ChangeRecord.objects.get()
        assert (sensor.address, sensor.notes) == ("2 Gate Street", "old door")
        assert (change.before["address"], change.after["address"]) == ("1 Gate Street", "2 Gate Street")
        assert (last_event().type, last_event().payload["changed"]) == ("registry.changed", ["address"])

    def test_what_is_as_it_was_leaves_no_trace(self) -> None:
        make_sensor("0xA", muted_until=datetime(2030, 1, 1, tzinfo=UTC))
        update_sensor(
            sensor_id="0xA", address="1 Gate Street ", muted_until=datetime(2030, 1, 1, tzinfo=UTC), actor="a"
        )
        assert (ChangeRecord.objects.count(), Event.objects.count()) == (0, 0)

    def test_a_new_timeout_moves_the_deadline_at_once(self) -> None:
        make_sensor("0xA")
        seen_at = timezone.now().replace(microsecond=0)
        SensorState.objects.update(seen_at=seen_at, check_at=seen_at + HOUR)
        update_sensor(sensor_id="0xA", heartbeat_timeout=60, actor="anna")
        assert SensorState.objects.get().check_at == seen_at + timedelta(seconds=60)

    @pytest.mark.parametrize(
        "known", [{}, {"seen_at": timezone.now(), "lost_at": timezone.now()}], ids=["never", "lost"]
    )
    def test_of_a_sensor_that_is_not_online_the_deadline_stays_unset(self, known: dict[str, Any]) -> None:
        make_sensor("0xA")
        SensorState.objects.update(**known)
        update_sensor(sensor_id="0xA", heartbeat_timeout=60, actor="anna")
        assert SensorState.objects.get().check_at is None

    def test_links_follow_the_list_and_what_was_owed_to_others_is_cancelled(self) -> None:
        make_sensor("0xA")
        stays, goes, comes = make_client("stays"), make_client("goes"), make_client("comes")
        kept, gone = make_delivery("0xA", stays), make_delivery("0xA", goes)
        elsewhere = make_delivery("0xB", goes)
        link("0xA", stays)
        link("0xA", goes)
        update_sensor(sensor_id="0xA", clients=[comes.pk, stays.pk], actor="anna")
        assert set(SensorClient.objects.values_list("client_id", flat=True)) == {stays.pk, comes.pk}
        gone.refresh_from_db()
        assert (gone.status, gone.reason, gone.due_at, gone.fence) == ("cancelled", "unlinked", None, 1)
        pending = Delivery.objects.filter(status="pending").order_by("pk")
        assert list(pending) == [kept, elsewhere]

    def test_of_nobody_is_an_error(self) -> None:
        with pytest.raises(SensorNotFound):
            update_sensor(sensor_id="nobody", address="here", actor="anna")

    def test_costs_few_statements(self, django_assert_max_num_queries: Any) -> None:
        make_sensor("0xA")
        with django_assert_max_num_queries(10):
            update_sensor(sensor_id="0xA", address="2 Gate Street", actor="anna")


class TestDeactivateSensor:
    def test_stops_the_clock_and_cancels_what_is_owed(self) -> None:
        make_sensor("0xA")
        SensorState.objects.update(seen_at=timezone.now(), check_at=timezone.now() + HOUR)
        owed = make_delivery("0xA", make_client())
        deactivate_sensor(sensor_id="0xA", actor="anna")
        owed.refresh_from_db()
        assert (owed.status, owed.reason) == ("cancelled", "the sensor is inactive")
        assert SensorState.objects.get().check_at is None
        assert (last_event().type, Sensor.objects.get().active) == ("registry.deleted", False)

    def test_again_changes_nothing(self) -> None:
        make_sensor("0xA", active=False)
        deactivate_sensor(sensor_id="0xA", actor="anna")
        assert not ChangeRecord.objects.exists()


class TestReactivateSensor:
    def test_silence_counts_from_this_moment(self) -> None:
        make_sensor("0xA", active=False)
        SensorState.objects.update(seen_at=timezone.now() - timedelta(days=9))
        before = timezone.now()
        reactivate_sensor(sensor_id="0xA", actor="anna")
        assert before + HOUR <= SensorState.objects.get().check_at <= timezone.now() + HOUR
        assert last_event().type == "registry.changed"


class TestSetSensorsActive:
    def test_counts_those_that_changed(self) -> None:
        for n in range(5):
            make_sensor(f"s{n}", active=n > 1)
        assert set_sensors_active(sensor_ids=[f"s{n}" for n in range(5)], active=False, actor="anna") == 3
        assert not Sensor.objects.filter(active=True).exists()
        assert ChangeRecord.objects.count() == Event.objects.filter(type="registry.deleted").count() == 3

    def test_costs_the_same_for_many(self, django_assert_max_num_queries: Any) -> None:
        for n in range(300):
            make_sensor(f"s{n}")
        with django_assert_max_num_queries(12):
            set_sensors_active(sensor_ids=[f"s{n}" for n in range(300)], active=False, actor="anna")


class TestRevert:
    def test_puts_back_values_and_links(self) -> None:
        client = make_client()
        until = datetime(2030, 1, 1, 12, 30, 0, 123000, tzinfo=UTC)
        make_sensor("0xA", muted_until=until)
        link("0xA", client)
        update_sensor(sensor_id="0xA", clients=[], muted_until=None, heartbeat_timeout=60, actor="anna")
        revert = revert_change(change_id=ChangeRecord.objects.get().pk, actor="boris")
        sensor = Sensor.objects.get()
        assert (sensor.muted_until, sensor.heartbeat_timeout, list(sensor.clients.all())) == (until, 3600, [client])
        assert (revert.actor, revert.after["clients"]) == ("boris", [client.pk])

    def test_a_registration_is_taken_back_by_deactivation(self) -> None:
        create_sensor(sensor_id="0xA", address="1 Gate Street", actor="anna")
        revert_change(change_id=ChangeRecord.objects.get().pk, actor="boris")
        assert not Sensor.objects.get().active

    def test_what_would_change_nothing_cannot_be_taken_back(self) -> None:
        create_sensor(sensor_id="0xA", address="1 Gate Street", active=False, actor="anna")
        with pytest.raises(NotRevertible):
            revert_change(change_id=ChangeRecord.objects.get().pk, actor="boris")


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_of_many_who_register_one_id_one_succeeds(self, in_threads: Callable[..., list[str]]) -> None:
        def register(number: int) -> str:
            try:
                create_sensor(sensor_id="0xA", address=f"{number} Gate Street", actor=str(number))
            except SensorExists:
                return "exists"
            return "created"

        assert sorted(in_threads(register, 6)) == ["created"] + ["exists"] * 5
        assert (Sensor.objects.count(), ChangeRecord.objects.count(), Event.objects.count()) == (1, 1, 1)

    def test_changes_of_one_sensor_follow_each_other(self, in_threads: Callable[..., list[None]]) -> None:
        make_sensor("0xA")
        in_threads(lambda n: update_sensor(sensor_id="0xA", address=f"{n} Gate Street!", actor=str(n)), 6)
        changes = list(ChangeRecord.objects.order_by("id"))
        assert len(changes) == 6
        assert all(one.after == two.before for one, two in pairwise(changes))
        assert [event.payload["values"] for event in Event.objects.order_by("id")] == [each.after for each in changes]
