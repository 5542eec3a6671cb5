from typing import Any

import pytest

from notifications.models import Alert
from processes.coordination.coordinator.answers import SILENT
from processes.coordination.models import AppEvent, WriterEvent, WriterEventPayload, WriterEventReader
from processes.coordination.models import writer as of_writer
from processes.coordination.protocol.messages import MessageType
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.statuses import EventStatus, PayloadStatus
from processes.coordination.reader import models as of_reader
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    ShuffledBus,
    item,
    let_time_pass,
    make_change_set,
    pass_deadline,
    request_change,
    status_of,
)
from tests.processes.coordination.second_reader import SECOND, items, rest_without_second, roles, second_reader

__all__ = ["roles", "second_reader"]
pytestmark = [
    pytest.mark.django_db(databases=[*DATABASES, SECOND]),
    pytest.mark.embedded,
    pytest.mark.usefixtures("second_reader"),
]


def verdicts() -> dict[str, str]:
    return dict(WriterEventReader.objects.values_list("name", "verdict"))


class TestCommit:
    def test_both_end_with_the_same_rows(self, roles: InMemoryRoles) -> None:
        made = make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(12)))
        roles.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert items("reader_main") == items(SECOND) == items("default")
        assert verdicts() == {"main": "committed", "second": "committed"}

    def test_waits_for_the_last_of_them(self, roles: InMemoryRoles) -> None:
        item("a")
        rest_without_second(roles)
        assert items("reader_main") == {}
        assert WriterEvent.objects.get().status == EventStatus.ACTIVATED
        roles.settle()
        assert items("reader_main") == items(SECOND) != {}

    def test_a_payload_moves_on_when_both_have_it(self, roles: InMemoryRoles) -> None:
        item("a")
        first, second = roles.reader, roles.readers["second"]
        roles.settle(lambda: WriterEvent.objects.filter(app_event_status_id=EventStatus.PREPARING).exists())
        roles.rest(of=[roles.coordinator, first])
        payload = WriterEventPayload.objects.get()
        assert (payload.prepared_by, payload.app_event_payload_status_id) == (1, PayloadStatus.CREATED)
        roles.rest(of=[roles.coordinator, second])
        payload.refresh_from_db()
        assert (payload.prepared_by, payload.app_event_payload_status_id) == (3, PayloadStatus.PREPARED)
        roles.settle()
        payload.refresh_from_db()
        assert (payload.processed_by, payload.app_event_payload_status_id) == (3, PayloadStatus.PROCESSED)

    def test_is_told_again_to_the_one_alone_that_has_not_answered(self, roles: InMemoryRoles) -> None:
        item("a")
        roles.settle(lambda: WriterEvent.objects.filter(app_event_status_id=EventStatus.COMMITTING).exists())
        roles.rest(of=[roles.writer, roles.coordinator, roles.reader])
        roles.bus._queues.clear()
        let_time_pass()
        roles.coordinator.run_once()
        assert {queue: [each.type for each in told] for queue, told in roles.bus._queues.items() if told} == {
            "coordination.reader.second": [MessageType.COMMIT]
        }
        roles.settle()
        assert items("reader_main") == items(SECOND) == items("default")

    def test_one_that_has_lost_the_event_meanwhile_is_told_all_of_it(self, roles: InMemoryRoles) -> None:
        made = make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(12)))
        roles.settle(lambda: WriterEvent.objects.filter(app_event_status_id=EventStatus.COMMITTING).exists())
        of_reader.AppEvent.objects.using(SECOND).all().delete()
        roles.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert items("reader_main") == items(SECOND) == items("default")


class TestCancel:
    def test_one_that_refuses_cancels_it_for_both(self, roles: InMemoryRoles) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        foreign = {"name": "foreign", "correlation_id": made_correlation()}
        of_reader.TABLES["DummyItem"].objects.using(SECOND).create(id=made.ids[0], **foreign)
        roles.settle()
        roles.rest()
        assert status_of(made.event) == EventStatus.CANCELED
        assert items("default") == items("reader_main") == {}
        assert verdicts() == {"main": "canceled", "second": "canceled"}
        assert format_reason(AppEvent.objects.get().reason).startswith("second: ")

    @pytest.mark.parametrize("since", [EventStatus.ACTIVATED, EventStatus.PREPARING, EventStatus.PREPARED])
    def test_one_that_is_silent_is_named_alone(self, roles: InMemoryRoles, since: EventStatus) -> None:
        item("a")
        roles.settle(lambda: WriterEvent.objects.filter(app_event_status_id=since, is_published=True).exists())
        for passes in (pass_deadline, let_time_pass, let_time_pass):
            rest_without_second(roles)
            passes()
        rest_without_second(roles)
        assert AppEvent.objects.get().status == EventStatus.CANCELED
        assert list(Alert.objects.filter(kind=SILENT).values_list("subject", flat=True)) == ["reader/second"]
        roles.rest()
        assert not of_reader.TABLES["DummyItem"].objects.using(SECOND).exists()
        assert Alert.objects.get(kind=SILENT).status == Alert.Status.RESOLVED


class TestShuffled:
    def test_both_end_equal(self, settings: Any) -> None:
        settings.COORDINATION_PARALLEL = 8
        roles = InMemoryRoles("main", "second", bus=ShuffledBus(1))
        made = make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(15)))
        make_change_set(
            request_change("DummyItem", "update", made.ids[0], name="b"),
            request_change("DummyItem", "delete", made.ids[1]),
        )
        item("c")
        roles.settle()
        assert len(items("default")) == 15
        assert items("reader_main") == items(SECOND) == items("default")


def made_correlation() -> Any:
    return of_writer.DummyItem.objects.get().correlation_id
