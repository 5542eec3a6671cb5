from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from processes.coordination.api.events import present_event
from processes.coordination.maintenance.audit import find_faults
from processes.coordination.maintenance.rebuild import rebuild_reader
from processes.coordination.maintenance.retention import WHOLE_FOR, expire_events, slim_committed_events
from processes.coordination.models import AppEvent, AppEventPayload, WriterEvent, WriterEventPayload
from processes.coordination.models import writer as of_writer
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.steps import PACKED, note_step
from processes.coordination.reader import models as of_reader
from processes.coordination.selectors import get_event
from tests.processes.coordination.admin.change_set_outcomes import commit, refuse
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    queued,
    request_change,
)

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
READER = "reader_main"


def let_pass(age: timedelta) -> None:
    """Let everything be so much older."""
    for rows in (AppEvent.objects.all(), WriterEvent.objects.all(), of_reader.AppEvent.objects.using(READER)):
        for row in rows:
            ended_at = getattr(row, "ended_at", None)
            ended = {} if ended_at is None else {"ended_at": ended_at - age}
            rows.filter(pk=row.pk).update(date=row.date - age, **ended)


def counts(event: int) -> dict[str, int]:
    """Count what is kept of an event beside its own rows."""
    changes = (*of_writer.COMMITS.values(), *of_writer.ROLLBACKS.values())
    of_readers = (*of_reader.COMMITS.values(), *of_reader.ROLLBACKS.values(), of_reader.AppEventPayload)
    return {
        "payloads": AppEventPayload.objects.filter(app_event=event).count(),
        "copies": WriterEventPayload.objects.filter(writer_event=event).count(),
        "changes": sum(table.objects.filter(app_event=event).count() for table in changes),
        "at the reader": sum(table.objects.using(READER).filter(app_event=event).count() for table in of_readers),
    }


class TestSlim:
    def test_leaves_of_a_committed_event_what_is_still_of_use(self) -> None:
        event = commit(InMemoryRoles(), 12)
        before = present_event(get_event(event), at=timezone.now())
        let_pass(WHOLE_FOR * 2)
        slim_committed_events()
        assert counts(event) == {"payloads": 12, "copies": 0, "changes": 0, "at the reader": 0}
        after = present_event(get_event(event), at=timezone.now())
        assert {name: after[name] for name in ("payloads", "steps")} == {
            name: before[name] for name in ("payloads", "steps")
        }
        assert [reader["verdict"] for reader in after["readers"]] == ["committed"]

    def test_packs_the_steps_on_all_sides_once(self) -> None:
        event = commit(InMemoryRoles(), 2)
        whole = len(str(WriterEvent.objects.get(pk=event).steps))
        let_pass(WHOLE_FOR * 2)
        slim_committed_events()
        sides = (AppEvent.objects, WriterEvent.objects, of_reader.AppEvent.objects.using(READER))
        assert [list(rows.get(pk=event).steps) for rows in sides] == [[PACKED]] * 3
        assert len(str(WriterEvent.objects.get(pk=event).steps)) < whole / 3
        kept = WriterEvent.objects.get(pk=event).steps
        slim_committed_events()
        assert WriterEvent.objects.get(pk=event).steps == kept

    def test_a_step_noted_later_lies_beside_them(self) -> None:
        event = commit(InMemoryRoles())
        let_pass(WHOLE_FOR * 2)
        slim_committed_events()
        before = present_event(get_event(event), at=timezone.now())["steps"]
        note_step("3", WriterEvent.objects.all(), [event], at=timezone.now())
        assert present_event(get_event(event), at=timezone.now())["steps"] == before

    def test_leaves_what_is_young_cancelled_or_under_way(self) -> None:
        roles = InMemoryRoles()
        cancelled, young = refuse(roles), commit(roles)
        kept = counts(cancelled), counts(young)
        AppEvent.objects.filter(pk=cancelled).update(ended_at=timezone.now() - WHOLE_FOR * 2)
        under_way = make_change_set(request_change("DummyItem", "insert", name="c")).event
        slim_committed_events()
        assert (counts(cancelled), counts(young)) == kept
        assert counts(under_way)["changes"] == 2

    def test_is_no_fault_for_the_audit_and_a_reader_can_be_rebuilt(self) -> None:
        commit(InMemoryRoles(), 3)
        let_pass(WHOLE_FOR * 2)
        slim_committed_events()
        assert find_faults(at=timezone.now()) == []
        assert rebuild_reader("main")["DummyItem"] == 3

    def test_a_repeat_is_answered_afterwards(self) -> None:
        from tests.processes.coordination.reader.role.test_role import COMMIT, EVENT, WAY, Scene

        scene = Scene()
        scene.hear(*WAY)
        let_pass(timedelta(days=3650))
        slim_committed_events()
        assert counts(EVENT)["at the reader"] == 0
        for message in (*WAY, COMMIT):
            scene.hear(message)
        assert scene.status == EventStatus.COMMITTED
        assert counts(EVENT)["at the reader"] == 0
        assert queued(scene.bus) == []


class TestForget:
    def test_deletes_what_ended_long_ago_and_strays_of_readers(self, settings: Any) -> None:
        event = commit(InMemoryRoles())
        stray = {"date": timezone.now(), "app_event_type_id": 1}
        of_reader.AppEvent.objects.using(READER).create(pk=event + 1000, **stray)
        let_pass(timedelta(days=settings.RETENTION_DAYS + 1))
        expire_events()
        assert not AppEvent.objects.exists()
        assert not WriterEvent.objects.exists()
        assert not of_reader.AppEvent.objects.using(READER).exists()
