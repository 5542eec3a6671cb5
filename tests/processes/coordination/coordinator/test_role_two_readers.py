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
from tests.processes.coordination.second_reader import SECOND, cast, items, rest_without_second, second_reader

__all__ = ["cast", "second_reader"]
pytestmark = [
    pytest.mark.django_db(databases=[*DATABASES, SECOND]),
    pytest.mark.embedded,
    pytest.mark.usefixtures("second_reader"),
]


def verdicts() -> dict[str, str]:
    return dict(WriterEventReader.objects.values_list("name", "verdict"))


class TestCommit:
    def test_both_end_with_the_same_rows(self, cast: InMemoryRoles) -> None:
        made = make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(12)))
        cast.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert items("reader_main") == items(SECOND) == items("default")
        assert verdicts() == {"main": "committed", "second": "committed"}

    def test_waits_for_the_last_of_them(self, cast: InMemoryRoles) -> None:
        item("a")
        rest_without_second(cast)
        assert items("reader_main") == {}
        assert WriterEvent.objects.get().status == EventStatus.ACTIVATED
        cast.settle()
        assert items("reader_main") == items(SECOND) != {}

    def test_a_payload_moves_on_when_both_have_it(self, cast: InMemoryRoles) -> None:
        item("a")
        first, second = cast.reader, cast.readers["second"]
        cast.settle(lambda: WriterEvent.objects.filter(app_event_status_id=EventStatus.PREPARING).exists())
        cast.rest(of=[cast.coordinator, first])
        payload = WriterEventPayload.objects.get()
        assert (payload.prepared_by, payload.app_event_payload_status_id) == (1, PayloadStatus.CREATED)
        cast.rest(of=[cast.coordinator, second])
        payload.refresh_from_db()
        assert (payload.prepared_by, payload.app_event_payload_status_id) == (3, PayloadStatus.PREPARED)
        cast.settle()
        payload.refresh_from_db()
        assert (payload.processed_by, payload.app_event_payload_status_id) == (3, PayloadStatus.PROCESSED)

    def test_is_told_again_to_the_one_alone_that_has_not_answered(self, cast: InMemoryRoles) -> None:
        item("a")
        cast.settle(lambda: WriterEvent.objects.filter(app_event_status_id=EventStatus.COMMITTING).exists())
        cast.rest(of=[cast.writer, cast.coordinator, cast.reader])
        cast.bus._queues.clear()
        let_time_pass()
        cast.coordinator.run_once()
        assert {queue: [each.told for each in told] for queue, told in cast.bus._queues.items() if told} == {
            "coordination.reader.second": [MessageType.COMMIT]
        }
        cast.settle()
        assert items("reader_main") == items(SECOND) == items("default")

    def test_one_that_has_lost_the_event_meanwhile_is_told_all_of_it(self, cast: InMemoryRoles) -> None:
        made = make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(12)))
        cast.settle(lambda: WriterEvent.objects.filter(app_event_status_id=EventStatus.COMMITTING).exists())
        of_reader.AppEvent.objects.using(SECOND).all().delete()
        cast.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert items("reader_main") == items(SECOND) == items("default")


class TestCancel:
    def test_one_that_refuses_cancels_it_for_both(self, cast: InMemoryRoles) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        foreign = {"name": "foreign", "correlation_id": made_correlation()}
        of_reader.TABLES["DummyItem"].objects.using(SECOND).create(id=made.ids[0], **foreign)
        cast.settle()
        cast.rest()
        assert status_of(made.event) == EventStatus.CANCELED
        assert items("default") == items("reader_main") == {}
        assert verdicts() == {"main": "canceled", "second": "canceled"}
        assert format_reason(AppEvent.objects.get().reason).startswith("second: ")

    @pytest.mark.parametrize("since", [EventStatus.ACTIVATED, EventStatus.PREPARING, EventStatus.PREPARED])
    def test_one_that_is_silent_is_named_alone(self, cast: InMemoryRoles, since: EventStatus) -> None:
        item("a")
        cast.settle(lambda: WriterEvent.objects.filter(app_event_status_id=since, is_published=True).exists())
        for passes in (pass_deadline, let_time_pass, let_time_pass):
            rest_without_second(cast)
            passes()
        rest_without_second(cast)
        assert AppEvent.objects.get().status == EventStatus.CANCELED
        assert list(Alert.objects.filter(kind=SILENT).values_list("subject", flat=True)) == ["reader/second"]
        cast.rest()
        assert not of_reader.TABLES["DummyItem"].objects.using(SECOND).exists()
        assert Alert.objects.get(kind=SILENT).status == Alert.Status.RESOLVED


class TestShuffled:
    def test_both_end_equal(self, settings: Any) -> None:
        settings.COORDINATION_PARALLEL = 8
        cast = InMemoryRoles("main", "second", bus=ShuffledBus(1))
        made = make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(15)))
        make_change_set(
            request_change("DummyItem", "update", made.ids[0], name="b"),
            request_change("DummyItem", "delete", made.ids[1]),
        )
        item("c")
        cast.settle()
        assert len(items("default")) == 15
        assert items("reader_main") == items(SECOND) == items("default")


def made_correlation() -> Any:
    return of_writer.DummyItem.objects.get().correlation_id
