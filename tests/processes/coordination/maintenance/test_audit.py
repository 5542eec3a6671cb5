from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from notifications.models import Alert
from processes.coordination.maintenance import audit as module
from processes.coordination.maintenance.audit import audit, compare_all, find_faults
from processes.coordination.models import AppEvent, AppEventPayload, WriterEvent, WriterEventPayload
from processes.coordination.models.writer import COMMITS, ROLLBACKS, DummyItem
from processes.coordination.reader import models as reader
from processes.coordination.reader.models import TABLES
from processes.coordination.writer.registry import fill_payloads_once
from sensors.services.sensors import create_sensor
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    let_time_pass,
    make_change_set,
    request_change,
)

pytestmark = pytest.mark.django_db(databases=DATABASES)
LATER = timedelta(minutes=5)


def kinds() -> set[str]:
    return {finding.kind for finding in find_faults(at=timezone.now() + LATER)}


@pytest.fixture
def three(settings: Any) -> list[int]:
    """Three committed events of one row each."""
    settings.COORDINATION_PARALLEL = 3
    made = [make_change_set(request_change("DummyItem", "insert", name=f"n{n}")).event for n in range(3)]
    InMemoryRoles().settle()
    return made


def forget_last_change() -> None:
    """Register two sensors, and lose the event of the second."""
    for number in (1, 2):
        create_sensor(sensor_id=f"0xA{number}", address="1 Main Street", actor="test")
        fill_payloads_once(at=timezone.now())
    AppEventPayload.objects.filter(change_id__isnull=False).latest("pk").delete()


FAULTS: dict[str, Callable[[int], object]] = {
    "event without its payloads": lambda pk: AppEventPayload.objects.filter(app_event=pk).delete(),
    "event without commit rows": lambda pk: COMMITS["DummyItem"].objects.filter(app_event=pk).delete(),
    "event without rollback rows": lambda pk: ROLLBACKS["DummyItem"].objects.filter(app_event=pk).delete(),
    "row without its event": lambda pk: DummyItem.objects.filter(last_event_id=pk).update(last_event_id=pk + 100),
    "gap in the positions": lambda pk: AppEvent.objects.filter(pk=pk).update(position=None),
    "event that the Coordinator has lost": lambda pk: WriterEvent.objects.filter(pk=pk).delete(),
    "payloads that the Coordinator lacks": lambda pk: WriterEventPayload.objects.filter(writer_event=pk).delete(),
    "event of the Coordinator that the Writer does not have": lambda pk: AppEvent.objects.filter(pk=pk).delete(),
    "event that a reader lacks": lambda pk: reader.AppEvent.objects.using("reader_main").filter(pk=pk).delete(),
    "row that a reader lacks": lambda pk: TABLES["DummyItem"].objects.using("reader_main").all().delete(),
    "row that differs": lambda pk: TABLES["DummyItem"].objects.using("reader_main").update(name="other"),
    "change of the registry without an event": lambda pk: forget_last_change(),
    "row that only a reader has": lambda pk: (
        TABLES["DummyItem"]
        .objects.using("reader_main")
        .create(id=10**9, name="x", correlation_id="00000000-0000-0000-0000-000000000001")
    ),
}


class TestFindFaults:
    def test_finds_nothing_where_all_agree(self, three: list[int]) -> None:
        assert kinds() == set()

    @pytest.mark.parametrize("fault", sorted(FAULTS))
    def test_finds_each_kind(self, three: list[int], fault: str) -> None:
        FAULTS[fault](three[1])
        assert fault in kinds()

    def test_what_is_under_way_is_no_fault(self) -> None:
        roles = InMemoryRoles()
        make_change_set(request_change("DummyItem", "insert", name="a"))
        for _ in range(6):
            for role in roles.all:
                role.run_once()
        assert find_faults(at=timezone.now()) == []


def let_sensor_wait(sensor: str = "0xA") -> None:
    """Register a sensor that the reader has already: the event waits."""
    TABLES["Sensor"].objects.using("reader_main").create(
        id=sensor, address="foreign", notes="", active=True, heartbeat_timeout=60
    )
    create_sensor(sensor_id=sensor, address="1 Main Street", actor="test")
    roles = InMemoryRoles()
    roles.settle(WriterEvent.objects.filter(is_waiting=True).exists)
    roles.rest()


@pytest.mark.embedded
class TestWhileOneWaits:
    """A change set may wait for days; whatever it does not touch is compared all the same."""

    @pytest.mark.parametrize(
        "fault",
        ["row that a reader lacks", "row that differs", "row that only a reader has", "event that a reader lacks"],
    )
    def test_faults_of_other_rows_are_found(self, three: list[int], fault: str) -> None:
        let_sensor_wait()
        FAULTS[fault](three[1])
        assert fault in kinds()

    def test_its_own_rows_are_left_out_and_said(self, three: list[int]) -> None:
        let_sensor_wait()
        found = compare_all(at=timezone.now() + LATER)
        assert (found.findings, found.left_out) == ([], {("Sensor", "0xA")})

    def test_rows_of_which_only_the_name_can_be_read_are_left_out_too(self, three: list[int]) -> None:
        row = DummyItem.objects.earliest("pk").pk
        made = make_change_set(request_change("DummyItem", "update", row, name="under way"))
        content = f'{{"entity": "DummyItem", "id": {row}, "before": 7, "after": 8}}'
        AppEventPayload.objects.filter(app_event=made.event).update(content=content)
        found = compare_all(at=timezone.now())
        assert ("DummyItem", str(row)) in found.left_out
        assert not [finding for finding in found.findings if "differs" in finding.kind]

    def test_the_alert_says_how_much_was_left_out(self, three: list[int]) -> None:
        let_sensor_wait()
        FAULTS["row that differs"](three[1])
        audit()
        assert "unfinished change sets were not compared: 1" in str(Alert.objects.get(kind="coordination.audit"))

    def test_the_alert_of_a_row_that_is_left_out_now_is_not_closed(self) -> None:
        TABLES["Sensor"].objects.using("reader_main").create(
            id="0xA", address="foreign", notes="", active=True, heartbeat_timeout=60
        )
        assert len(audit()) == 1
        TABLES["Sensor"].objects.using("reader_main").all().delete()
        let_sensor_wait()
        assert audit() == []
        alert = Alert.objects.get(kind="coordination.audit")
        assert alert.status == "open"
        TABLES["Sensor"].objects.using("reader_main").all().delete()
        let_time_pass()
        InMemoryRoles().settle()
        assert audit() == []
        alert.refresh_from_db()
        assert alert.status == "resolved"


@pytest.mark.embedded
class TestAudit:
    def test_raises_one_alert_and_closes_it(self, three: list[int]) -> None:
        rows = TABLES["DummyItem"].objects.using("reader_main")
        rows.update(name="other")
        assert len(audit()) == len(audit()) == 3
        alert = Alert.objects.get(kind="coordination.audit")
        assert (alert.status, alert.count) == ("open", 2)
        for pk, name in DummyItem.objects.values_list("pk", "name"):
            rows.filter(pk=pk).update(name=name)
        assert audit() == []
        alert.refresh_from_db()
        assert alert.status == "resolved"

    def test_alert_is_not_closed_while_the_rows_of_a_reader_cannot_be_read(
        self, three: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        TABLES["DummyItem"].objects.using("reader_main").update(name="other")
        audit()

        def fail(name: str, left_out: object) -> Iterator[Any]:
            raise OperationalError("canceling statement due to statement timeout")
            yield

        monkeypatch.setattr(module, "_differing_rows", fail)
        assert [finding.kind for finding in audit()] == ["reader that cannot be asked"]
        alert = Alert.objects.get(kind="coordination.audit")
        assert (alert.status, "main: canceling statement" in alert.words) == ("open", True)
