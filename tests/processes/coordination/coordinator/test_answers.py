import pytest

from processes.coordination.models import Progress, WriterEvent, WriterEventPayload, WriterEventReader
from processes.coordination.protocol.messages import COORDINATOR, Message, MessageType
from processes.coordination.protocol.statuses import EventStatus, PayloadStatus
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    by_queue,
    item,
    request_change,
)
from tests.processes.coordination.in_memory_roles import make_change_set as make_set

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
READER = "coordination.reader.main"


@pytest.fixture
def roles() -> InMemoryRoles:
    """An event that its reader is to commit."""
    roles = InMemoryRoles()
    make_set(request_change("DummyItem", "insert", name="a"))
    committing = WriterEvent.objects.filter(app_event_status_id=EventStatus.COMMITTING)
    roles.settle(committing.exists)
    roles.bus._queues.clear()
    return roles


def answer(roles: InMemoryRoles, told: MessageType, *, event: int | None = None, role: str = "main") -> None:
    about = WriterEvent.objects.get().pk if event is None else event
    roles.bus.send([(COORDINATOR, Message(told, event=about, role=role))])
    roles.coordinator.receive()


class TestHearProgress:
    @pytest.mark.parametrize(
        "late", [MessageType.PREPARING_BEGINS, MessageType.PROCESSING_BEGINS, MessageType.PROCESSED]
    )
    def test_what_comes_late_moves_nobody_back(self, roles: InMemoryRoles, late: MessageType) -> None:
        answer(roles, late)
        row = WriterEventReader.objects.get()
        assert (row.progress, row.verdict) == (Progress.PROCESSED, "processed")
        assert WriterEvent.objects.get().status == EventStatus.COMMITTING

    def test_the_last_answer_stands_for_those_that_were_lost(self) -> None:
        roles = InMemoryRoles()
        item("a")
        roles.rest_without_reader()
        answer(roles, MessageType.PREPARING_BEGINS)
        answer(roles, MessageType.PROCESSED)
        assert WriterEventPayload.objects.get().app_event_payload_status_id == PayloadStatus.PROCESSED
        answer(roles, MessageType.PREPARING_BEGINS)
        assert WriterEvent.objects.get().status == EventStatus.PROCESSED

    def test_an_answer_about_nothing_or_of_a_stranger_changes_nothing(self, roles: InMemoryRoles) -> None:
        answer(roles, MessageType.COMMITTED, event=987_654)
        answer(roles, MessageType.COMMITTED, role="stranger")
        assert WriterEvent.objects.get().status == EventStatus.COMMITTING
        assert WriterEventReader.objects.get().progress == Progress.PROCESSED

    def test_a_cancellation_is_not_confirmed_for_an_event_that_commits(self, roles: InMemoryRoles) -> None:
        answer(roles, MessageType.CANCELED)
        assert WriterEvent.objects.get().status == EventStatus.COMMITTING


class TestHearOfUnknown:
    def test_tells_the_reader_all_of_it_and_forgets_its_answers(self, roles: InMemoryRoles) -> None:
        answer(roles, MessageType.UNKNOWN)
        sent = by_queue(roles.bus)[READER]
        assert [message.type for message in sent] == [
            MessageType.PREPARE,
            MessageType.PREPARE_PAYLOADS,
            MessageType.PROCESS,
        ]
        row, payload = WriterEventReader.objects.get(), WriterEventPayload.objects.get()
        assert (row.progress, row.verdict) == (Progress.WAITING, "waiting")
        assert (payload.prepared_by, payload.processed_by) == (0, 0)
        assert WriterEvent.objects.get().status == EventStatus.COMMITTING

    @pytest.mark.parametrize("status", [EventStatus.COMMITTED, EventStatus.CANCELED, EventStatus.CANCELING])
    def test_of_what_is_over_there_is_nothing_to_tell(self, roles: InMemoryRoles, status: EventStatus) -> None:
        WriterEvent.objects.update(app_event_status_id=status.value)
        answer(roles, MessageType.UNKNOWN)
        assert by_queue(roles.bus)[READER] == []
        assert WriterEventReader.objects.get().progress == Progress.PROCESSED
