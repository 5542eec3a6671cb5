"""One scenario for every verdict about a change set, through the roles."""

from typing import Any

import pytest

from processes.coordination.explanation.verdict import Verdict
from processes.coordination.models import AppEvent, DummyItem, RoleLife, WriterEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as of_reader
from processes.coordination.writer.change_sets import AppliedChangeSet
from sensors.services.sensors import create_sensor, update_sensor
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    pass_deadline,
    request_change,
)
from tests.processes.coordination.second_reader import second_reader as second_reader
from tests.sensors.api.callers import service
from tests.staff import signed_in

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
READER = "reader_main"


@pytest.fixture
def roles() -> InMemoryRoles:
    roles = InMemoryRoles()
    roles.live()
    roles.coordinator.run_once()
    return roles


def ask(event: int, **query: Any) -> Any:
    more = "".join(f"&{name}={value}" for name, value in query.items())
    found = service("coordination")("GET", f"/explain/?change_set={event}{more}")
    assert found.status_code == 200, found.content
    return found.json()


def make(name: str = "a") -> AppliedChangeSet:
    return make_change_set(request_change("DummyItem", "insert", name=name))


def register(roles: InMemoryRoles) -> int:
    """Register a sensor that the reader has already: it refuses."""
    foreign = {"address": "foreign", "notes": "", "active": True, "heartbeat_timeout": 60}
    of_reader.TABLES["Sensor"].objects.using(READER).create(id="0xA", **foreign)
    create_sensor(sensor_id="0xA", actor="test", address="1 Gate Street")
    event = AppEvent.objects.latest("pk").pk
    roles.rest()
    return event


class TestChangeSet:
    def test_has_it(self, roles: InMemoryRoles) -> None:
        made = make()
        roles.settle()
        found = ask(made.event)
        assert (found["verdict"], found["since"] is not None) == (Verdict.HAS_IT, True)
        assert [row["kind"] for row in found["evidence"]] == ["coordination", "reader"]
        assert found["question"] == f"Why does reader “main” not have change set {made.event}?"

    def test_on_the_way(self, roles: InMemoryRoles) -> None:
        assert ask(make().event)["verdict"] == Verdict.ON_THE_WAY

    def test_role_silent(self, roles: InMemoryRoles) -> None:
        made = make()
        roles.rest_without_reader()
        RoleLife.objects.filter(name="reader/main").update(seen_at="2026-01-01T00:00:00Z")
        found = ask(made.event)
        assert (found["verdict"], found["since"]) == (Verdict.ROLE_SILENT, "2026-01-01T00:00:00.000Z")
        assert [row["kind"] for row in found["evidence"]] == ["coordination", "reader", "role"]

    def test_coordinator_silent(self) -> None:
        assert "coordinator" in ask(make().event)["text"]

    def test_reader_working(self, roles: InMemoryRoles) -> None:
        made = make()
        roles.rest_without_reader()
        assert ask(made.event)["verdict"] == Verdict.READER_WORKING

    def test_in_line(self, roles: InMemoryRoles) -> None:
        first, second = make("a"), make("b")
        roles.rest_without_reader()
        found = ask(second.event)
        assert (found["verdict"], str(first.event) in found["text"]) == (Verdict.IN_LINE, True)

    def test_cancelled(self, roles: InMemoryRoles) -> None:
        made = make()
        correlation_id = DummyItem.objects.get().correlation_id
        of_reader.TABLES["DummyItem"].objects.using(READER).create(
            id=made.ids[0], name="foreign", correlation_id=correlation_id
        )
        roles.settle()
        found = ask(made.event)
        assert found["verdict"] == Verdict.CANCELLED
        assert "already exists" in found["text"]

    def test_refused(self, roles: InMemoryRoles) -> None:
        found = ask(register(roles))
        assert (found["verdict"], "already exists" in found["text"]) == (Verdict.REFUSED, True)

    def test_behind_another(self, roles: InMemoryRoles) -> None:
        event = register(roles)
        update_sensor(sensor_id="0xA", actor="test", address="2 Gate Street")
        later = AppEvent.objects.latest("pk").pk
        roles.rest()
        found = ask(later)
        assert (found["verdict"], str(event) in found["text"]) == (Verdict.BEHIND, True)

    def test_late(self, roles: InMemoryRoles) -> None:
        create_sensor(sensor_id="0xB", actor="test", address="1 Gate Street")
        event = AppEvent.objects.latest("pk").pk
        roles.rest_without_reader()
        pass_deadline()
        roles.rest_without_reader()
        assert ask(event)["verdict"] == Verdict.LATE

    def test_committing(self, roles: InMemoryRoles) -> None:
        made = make()
        roles.settle(lambda: WriterEvent.objects.filter(app_event_status_id=EventStatus.COMMITTING.value).exists())
        assert ask(made.event)["verdict"] == Verdict.COMMITTING

    def test_compensation_failed(self, roles: InMemoryRoles) -> None:
        made = make()
        roles.settle()
        AppEvent.objects.filter(pk=made.event).update(
            app_event_status_id=EventStatus.COMPENSATION_FAILED.value, ended_at=None, reason="something newer"
        )
        WriterEvent.objects.filter(pk=made.event).update(app_event_status_id=EventStatus.CANCELED.value)
        WriterEvent.objects.get(pk=made.event).readers.update(verdict="canceled")
        assert ask(made.event)["verdict"] == Verdict.COMPENSATION_FAILED

    def test_an_unknown_reader_is_named(self, roles: InMemoryRoles) -> None:
        found = service("coordination")("GET", f"/explain/?change_set={make().event}&reader=none")
        assert (found.status_code, found.json()["data"]["fields"]) == (400, {"reader": ["Must be one of main."]})

    def test_needs_the_scope(self) -> None:
        assert service("history:read")("GET", f"/explain/?change_set={make().event}").status_code == 403
        assert service("coordination")("GET", "/explain/?change_set=999999").status_code == 404

    def test_its_page_leads_to_it(self, roles: InMemoryRoles) -> None:
        event = make().event
        browser = signed_in("viewer")
        page = browser.get(f"/admin/coordination/appevent/{event}/change/").content.decode()
        assert f"/admin/explain/?change_set={event}&amp;reader=main" in page
        assert (
            "has not reached the Coordinator"
            in browser.get(f"/admin/explain/?change_set={event}&reader=main").content.decode()
        )


@pytest.mark.django_db(databases=[*DATABASES, "reader_second"])
@pytest.mark.usefixtures("second_reader")
class TestTwoReaders:
    @pytest.fixture
    def both(self) -> InMemoryRoles:
        roles = InMemoryRoles("main", "second")
        roles.live()
        return roles

    def test_waits_for_the_other(self, both: InMemoryRoles) -> None:
        made = make()
        both.rest(of=[both.writer, both.coordinator, both.reader])
        assert ask(made.event, reader="main")["verdict"] == Verdict.WAITS_FOR_READER
        assert ask(made.event)["question"].startswith("Why does reader “main”")

    def test_refused_elsewhere(self, both: InMemoryRoles) -> None:
        event = register(both)
        found = ask(event, reader="second")
        assert (found["verdict"], "main" in found["text"]) == (Verdict.REFUSED_ELSEWHERE, True)
