from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from config.audit.changes import record_change
from config.records.models import ChangeRecord
from config.records.retention import expire_changes
from processes.coordination.models import AppEvent, AppEventPayload
from processes.coordination.models.writer import COMMITS, ROLLBACKS
from processes.coordination.protocol.row_changes import RowChange, decode_change
from processes.coordination.reader.models import TABLES
from processes.coordination.writer.event_records import EventRecord
from processes.coordination.writer.registry import (
    collect_into_one_event,
    fill_payloads_once,
    read_log_changes,
)
from sensors.services import changes as sensor_changes
from sensors.services.clients import create_client, update_client
from sensors.services.imports import import_sensors
from sensors.services.links import link, unlink
from sensors.services.sensors import create_sensor, deactivate_sensor, update_sensor
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles, rows_of

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]


def make_client(name: str = "watch") -> int:
    return create_client(actor="test", name=name, url=f"https://{name}.example/hook").client_id


def make_sensor(id: str = "0xA", clients: list[int] | None = None) -> None:
    create_sensor(sensor_id=id, actor="test", address="1 Gate Street", clients=clients or [])


def fill() -> None:
    while fill_payloads_once(at=timezone.now()):
        pass


def told(event: AppEvent | None = None) -> list[tuple[str, Any, str]]:
    """Return what the payloads of an event (the last one) carry: entity, id, kind of change."""
    chosen = event or AppEvent.objects.latest("pk")
    changes = [decode_change(each.content) for each in chosen.payloads.order_by("pk")]
    return [(change.entity.name, change.id, change.op.value) for change in changes]


class TestFirstUnreadChange:
    def test_lines_of_which_no_payloads_are_made_yet_outlive_their_days(self, settings: Any) -> None:
        make_sensor("0xA")
        fill()
        make_sensor("0xB")
        ChangeRecord.objects.update(at=timezone.now() - timedelta(days=settings.CHANGE_DAYS + 1))
        expire_changes()
        assert [line.object_id for line in ChangeRecord.objects.all()] == ["0xB"]
        fill()
        assert told() == [("Sensor", "0xB", "insert")]
        expire_changes()
        assert not ChangeRecord.objects.exists()


class TestNoteChanges:
    def test_a_registration_is_an_event_that_nobody_undoes(self) -> None:
        make_sensor()
        event = AppEvent.objects.get()
        assert (event.app_event_type_id, event.is_undone, event.payload_count) == (7, False, 0)
        assert event.changes == [ChangeRecord.objects.get(kind="sensor").pk]

    def test_a_change_that_is_taken_back_leaves_no_event(self) -> None:
        with transaction.atomic():
            make_sensor()
            transaction.set_rollback(True)
        assert not AppEvent.objects.exists()

    def test_other_kinds_of_the_log_are_not_coordinated(self) -> None:
        record_change(
            kind="key", object_id="1", action=ChangeRecord.Action.CREATED, before=None, after={"a": 1}, actor="test"
        )
        assert not AppEvent.objects.exists()

    def test_an_import_is_one_event_per_batch_of_writes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sensor_changes, "BATCH", 4)
        sheet = "id,address\n" + "".join(f"0x{n:X},street {n}\n" for n in range(10, 20))
        import_sensors(content=sheet.encode(), actor="test")
        fill()
        assert list(AppEvent.objects.order_by("pk").values_list("payload_count", flat=True)) == [4, 4, 2]

    def test_a_block_of_changes_can_be_one_event(self) -> None:
        with transaction.atomic(), collect_into_one_event() as collected:
            make_sensor("0xA")
            make_sensor("0xB")
        fill()
        assert collected.event == AppEvent.objects.get().pk
        assert told() == [("Sensor", "0xA", "insert"), ("Sensor", "0xB", "insert")]


class TestFillOnce:
    def test_makes_payload_commit_and_rollback_rows_of_a_line(self) -> None:
        make_sensor()
        update_sensor(sensor_id="0xA", actor="test", address="2 Gate Street")
        fill()
        event = AppEvent.objects.latest("pk")
        assert (event.changes, event.payload_count, told()) == (None, 1, [("Sensor", "0xA", "update")])
        assert COMMITS["Sensor"].objects.get(app_event=event).address == "2 Gate Street"
        assert ROLLBACKS["Sensor"].objects.get(app_event=event).address == "1 Gate Street"

    def test_links_are_rows_of_their_own(self) -> None:
        first, second = make_client("one"), make_client("two")
        make_sensor(clients=[first])
        update_sensor(sensor_id="0xA", actor="test", clients=[second])
        fill()
        assert told() == [
            ("SensorLink", f"0xA:{first}", "delete"),
            ("Sensor", "0xA", "update"),
            ("SensorLink", f"0xA:{second}", "insert"),
        ]

    def test_a_second_time_makes_nothing(self) -> None:
        make_sensor()
        fill()
        assert not fill_payloads_once(at=timezone.now())
        assert AppEventPayload.objects.count() == 1

    def test_a_line_cannot_be_made_into_payloads_twice(self) -> None:
        make_sensor()
        fill()
        line = ChangeRecord.objects.get()
        other = AppEvent.objects.create(date=timezone.now(), app_event_type_id=7)
        changes, sources = read_log_changes([line.pk])
        with pytest.raises(IntegrityError), transaction.atomic():
            EventRecord(other, changes, sources=sources).write(at=timezone.now())
        assert AppEventPayload.objects.count() == COMMITS["Sensor"].objects.count() == 1

    def test_dies_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_sensor()

        def dies(self: EventRecord, *, at: Any) -> None:
            writes(self, at=at)
            raise RuntimeError

        writes = EventRecord.write
        monkeypatch.setattr(EventRecord, "write", dies)
        with pytest.raises(RuntimeError):
            fill_payloads_once(at=timezone.now())
        monkeypatch.undo()
        assert not AppEventPayload.objects.exists()
        fill()
        assert told() == [("Sensor", "0xA", "insert")]

    @pytest.mark.django_db(transaction=True)
    def test_two_at_once_make_each_payload_once(self, in_threads: Callable[..., list[Any]]) -> None:
        for n in range(10, 16):
            make_sensor(f"0x{n:X}")
        in_threads(lambda _: fill(), 2)
        fill()
        assert AppEventPayload.objects.count() == 6
        assert not AppEvent.objects.exclude(payload_count=1, changes=None).exists()


class TestReadChanges:
    def test_values_are_those_of_the_models(self) -> None:
        until = timezone.now().replace(microsecond=123_000)
        update_client(client_id=make_client(), actor="test", muted_until=until)
        (change,), _ = read_log_changes([ChangeRecord.objects.latest("pk").pk])
        assert isinstance(change, RowChange)
        assert change.after is not None
        assert change.after == {
            "name": "watch",
            "url": "https://watch.example/hook",
            "active": True,
            "paused": False,
            "muted_until": until,
        }


class TestToTheReader:
    def test_the_registry_arrives_with_its_links(self) -> None:
        with transaction.atomic(), collect_into_one_event():
            client, other = make_client("one"), make_client("two")
            make_sensor(clients=[client])
            link(sensor_id="0xA", client_id=other, actor="test")
        unlink(sensor_id="0xA", client_id=client, actor="test")
        deactivate_sensor(sensor_id="0xA", actor="test")
        InMemoryRoles().settle()
        sensors = rows_of(TABLES["Sensor"], using="reader_main").values()
        assert [(row["id"], row["active"]) for row in sensors] == [("0xA", False)]
        assert {row["name"] for row in rows_of(TABLES["Client"], using="reader_main").values()} == {"one", "two"}
        links = rows_of(TABLES["SensorLink"], using="reader_main").values()
        assert [(row["sensor_id"], row["client_id"]) for row in links] == [("0xA", other)]
