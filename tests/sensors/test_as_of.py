import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.audit.as_of import BeforeRecords, NotRegisteredThen
from config.common.errors import Invalid
from config.common.times import truncate_to_milliseconds
from config.records.models import ChangeRecord
from sensors.as_of import check_past, get_client_at, get_link_at, get_sensor_at, sensors_of_client_at
from sensors.models import Client, LinkRecord, Sensor
from sensors.services.clients import create_client, update_client
from sensors.services.links import link, unlink
from sensors.services.retention import expire_link_records
from sensors.services.sensors import create_sensor, update_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


def backdate(*hours: float) -> None:
    """Let the changes that were made so far have happened so many hours ago, in their order."""
    for line, back in zip(ChangeRecord.objects.order_by("pk"), hours, strict=True):
        ChangeRecord.objects.filter(pk=line.pk).update(at=ago(hours=back))
    Sensor.objects.update(created_at=ago(hours=max(hours)))
    Client.objects.update(created_at=ago(hours=max(hours)))


class TestGetSensorAt:
    def test_the_settings_are_those_before_the_first_change_after_the_time(self) -> None:
        create_sensor(sensor_id="0xA", address="first", actor="anna")
        update_sensor(sensor_id="0xA", address="second", open_limit=60, actor="anna")
        update_sensor(sensor_id="0xA", address="third", active=False, actor="anna")
        backdate(3, 2, 1)
        then = [get_sensor_at("0xA", ago(hours=hours)) for hours in (2.5, 1.5, 0.5)]
        assert [(each.address, each.active, each.open_limit) for each in then] == [
            ("first", True, None),
            ("second", True, 60),
            ("third", False, 60),
        ]

    def test_a_mute_is_a_time_whether_it_stands_in_the_log_or_in_the_registry(self) -> None:
        until = datetime.fromisoformat("2030-01-01T12:00:00Z")
        create_sensor(sensor_id="0xA", address="here", muted_until=until, actor="anna")
        update_sensor(sensor_id="0xA", notes="x", actor="anna")
        backdate(2, 1)
        assert [get_sensor_at("0xA", ago(hours=hours)).muted_until for hours in (1.5, 0.5)] == [until, until]

    def test_an_old_line_of_the_log_may_lack_what_came_later(self) -> None:
        create_sensor(sensor_id="0xA", address="here", actor="anna")
        update_sensor(sensor_id="0xA", open_limit=60, actor="anna")
        backdate(2, 1)
        line = ChangeRecord.objects.latest("pk")
        ChangeRecord.objects.filter(pk=line.pk).update(
            before={name: value for name, value in line.before.items() if name != "open_limit"}
        )
        assert get_sensor_at("0xA", ago(hours=1.5)).open_limit is None

    def test_before_it_was_registered_there_was_none(self) -> None:
        create_sensor(sensor_id="0xA", address="here", actor="anna")
        backdate(1)
        with pytest.raises(NotRegisteredThen):
            get_sensor_at("0xA", ago(hours=2))

    def test_before_the_records_begin_nothing_is_known(self, settings: Any) -> None:
        settings.CHANGE_DAYS = 30
        create_sensor(sensor_id="0xA", address="here", actor="anna")
        backdate(24 * 100)
        assert get_sensor_at("0xA", ago(days=29)).address == "here"
        with pytest.raises(BeforeRecords) as raised:
            get_sensor_at("0xA", ago(days=31))
        assert raised.value.data["records_begin"][:10] == ago(days=30).date().isoformat()


class TestGetClientAt:
    def test_the_settings_are_those_of_then(self) -> None:
        made = create_client(actor="anna", name="old", url="https://old.example/")
        update_client(client_id=made.client_id, actor="anna", name="new", url="https://new.example/", paused=True)
        backdate(2, 1)
        old, new = (get_client_at(made.client_id, ago(hours=hours)) for hours in (1.5, 0.5))
        assert (old.name, old.url, old.paused, new.name, new.url, new.paused) == (
            *("old", "https://old.example/", False),
            *("new", "https://new.example/", True),
        )


class TestLinks:
    @pytest.fixture
    def client_id(self) -> int:
        """A client that was linked with A for an hour, three hours ago, and with B from two hours ago on."""
        made = create_client(actor="anna", name="watch", url="https://watch.example/")
        for sensor_id in ("A", "B"):
            create_sensor(sensor_id=sensor_id, address="here", actor="anna")
        link(sensor_id="A", client_id=made.client_id, actor="boris")
        unlink(sensor_id="A", client_id=made.client_id, actor="vera")
        link(sensor_id="B", client_id=made.client_id, actor="anna")
        backdate(5, 4, 4, 3, 2, 2)
        for record, hours in zip(LinkRecord.objects.order_by("pk"), (3, 2, 2), strict=True):
            LinkRecord.objects.filter(pk=record.pk).update(at=ago(hours=hours))
        return made.client_id

    def test_a_link_is_there_from_when_it_was_made_until_it_ended(self, client_id: int) -> None:
        found = [get_link_at("A", client_id, ago(hours=hours)) for hours in (3.5, 2.5, 1)]
        assert [(each.is_linked, each.actor) for each in found] == [(False, ""), (True, "boris"), (False, "vera")]
        assert found[1].since is not None
        assert abs(found[1].since - ago(hours=3)) < timedelta(minutes=1)

    def test_a_client_had_the_sensors_of_then(self, client_id: int) -> None:
        found = [sensors_of_client_at(client_id, ago(hours=hours), limit=10) for hours in (3.5, 2.5, 1)]
        assert found == [([], 0), (["A"], 1), (["B"], 1)]

    def test_the_time_of_a_link_as_it_is_said_is_after_it(self, client_id: int) -> None:
        record = LinkRecord.objects.filter(sensor_id="A", is_linked=True)
        said = truncate_to_milliseconds(ago(hours=3))
        for rows in (record, ChangeRecord.objects.filter(kind="sensor", object_id="A", actor="boris")):
            rows.update(at=said + timedelta(microseconds=900))
        assert sensors_of_client_at(client_id, said, limit=10) == (["A"], 1)
        assert get_link_at("A", client_id, said).actor == "boris"

    def test_of_many_the_first_are_named_and_all_counted(self, client_id: int) -> None:
        for n in range(5):
            create_sensor(sensor_id=f"C{n}", address="here", clients=[client_id], actor="anna")
        assert sensors_of_client_at(client_id, timezone.now(), limit=2) == (["B", "C0"], 6)
        assert sensors_of_client_at(client_id, ago(hours=1), limit=2) == (["B"], 1)

    def test_many_are_read_page_by_page(self, client_id: int, django_assert_max_num_queries: Any) -> None:
        for n in range(6):
            create_sensor(sensor_id=f"C{n}", address="here", clients=[client_id], actor="anna")
        then = timezone.now()
        unlink(sensor_id="C1", client_id=client_id, actor="anna")
        LinkRecord.objects.filter(sensor_id="C1", is_linked=False).update(at=then + timedelta(seconds=5))
        with django_assert_max_num_queries(2):
            assert sensors_of_client_at(client_id, then, limit=3) == (["B", "C0", "C1"], 7)
        later = then + timedelta(seconds=9)
        assert sensors_of_client_at(client_id, later, limit=3, after="B") == (["C0", "C2", "C3"], 6)
        rest = [sensors_of_client_at(client_id, then, limit=3, after=after) for after in ("C1", "C4", "C5")]
        assert rest == [(["C2", "C3", "C4"], 7), (["C5"], 7), ([], 7)]

    def test_is_what_the_records_say_after_any_changes(self, client_id: int) -> None:
        chance, linked = random.Random(4), {"B"}
        truth = dict[datetime, list[str]]()
        names = [f"D{n}" for n in range(5)]
        for name in names:
            create_sensor(sensor_id=name, address="here", actor="anna")
        LinkRecord.objects.update(at=ago(hours=5))
        for minute in range(40):
            sensor_id = chance.choice(names)
            change = unlink if sensor_id in linked else link
            change(sensor_id=sensor_id, client_id=client_id, actor="anna")
            linked ^= {sensor_id}
            at = ago(hours=2) + timedelta(minutes=minute)
            LinkRecord.objects.filter(pk=LinkRecord.objects.latest("pk").pk).update(at=at)
            truth[at] = sorted(linked)
        for at, expected in truth.items():
            assert sensors_of_client_at(client_id, at + timedelta(seconds=1), limit=9) == (expected, len(expected))

    def test_records_go_with_the_change_log(self, client_id: int, settings: Any) -> None:
        settings.CHANGE_DAYS = 30
        LinkRecord.objects.filter(sensor_id="A").update(at=ago(days=31))
        expire_link_records()
        assert set(LinkRecord.objects.values_list("sensor_id", flat=True)) == {"B"}
        with pytest.raises(BeforeRecords):
            sensors_of_client_at(client_id, ago(days=31), limit=10)


def test_what_is_to_come_cannot_be_asked_for() -> None:
    with pytest.raises(Invalid):
        check_past(timezone.now() + timedelta(minutes=2))
