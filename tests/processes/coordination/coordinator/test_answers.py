import pytest

from processes.coordination.messages import COORDINATOR, Message, Told
from processes.coordination.models import Progress, WriterEvent, WriterEventPayload, WriterEventReader
from processes.coordination.statuses import EventStatus, PayloadStatus
from tests.processes.coordination.cast import DATABASES, Cast, by_queue, item, wanted
from tests.processes.coordination.cast import make as make_set

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
READER = "coordination.reader.main"


@pytest.fixture
def cast() -> Cast:
    """An event that its reader is to commit."""
    cast = Cast()
    make_set(wanted("DummyItem", "insert", name="a"))
    committing = WriterEvent.objects.filter(app_event_status_id=EventStatus.COMMITTING)
    cast.settle(committing.exists)
    cast.bus._queues.clear()
    return cast


def answer(cast: Cast, told: Told, *, event: int | None = None, role: str = "main") -> None:
    about = WriterEvent.objects.get().pk if event is None else event
    cast.bus.send([(COORDINATOR, Message(told, event=about, role=role))])
    cast.coordinator.receive()


class TestHearProgress:
    @pytest.mark.parametrize("late", [Told.PREPARING_BEGINS, Told.PROCESSING_BEGINS, Told.PROCESSED])
    def test_what_comes_late_moves_nobody_back(self, cast: Cast, late: Told) -> None:
        answer(cast, late)
        row = WriterEventReader.objects.get()
        assert (row.progress, row.verdict) == (Progress.PROCESSED, "processed")
        assert WriterEvent.objects.get().status == EventStatus.COMMITTING

    def test_the_last_answer_stands_for_those_that_were_lost(self) -> None:
        cast = Cast()
        item("a")
        cast.rest_without_reader()
        answer(cast, Told.PREPARING_BEGINS)
        answer(cast, Told.PROCESSED)
        assert WriterEventPayload.objects.get().app_event_payload_status_id == PayloadStatus.PROCESSED
        answer(cast, Told.PREPARING_BEGINS)
        assert WriterEvent.objects.get().status == EventStatus.PROCESSED

    def test_an_answer_about_nothing_or_of_a_stranger_changes_nothing(self, cast: Cast) -> None:
        answer(cast, Told.COMMITTED, event=987_654)
        answer(cast, Told.COMMITTED, role="stranger")
        assert WriterEvent.objects.get().status == EventStatus.COMMITTING
        assert WriterEventReader.objects.get().progress == Progress.PROCESSED

    def test_a_cancellation_is_not_confirmed_for_an_event_that_commits(self, cast: Cast) -> None:
        answer(cast, Told.CANCELED)
        assert WriterEvent.objects.get().status == EventStatus.COMMITTING


class TestHearOfUnknown:
    def test_tells_the_reader_all_of_it_and_forgets_its_answers(self, cast: Cast) -> None:
        answer(cast, Told.UNKNOWN)
        sent = by_queue(cast.bus)[READER]
        assert [message.told for message in sent] == [Told.PREPARE, Told.PREPARE_PAYLOADS, Told.PROCESS]
        row, payload = WriterEventReader.objects.get(), WriterEventPayload.objects.get()
        assert (row.progress, row.verdict) == (Progress.WAITING, "waiting")
        assert (payload.prepared_by, payload.processed_by) == (0, 0)
        assert WriterEvent.objects.get().status == EventStatus.COMMITTING

    @pytest.mark.parametrize("status", [EventStatus.COMMITTED, EventStatus.CANCELED, EventStatus.CANCELING])
    def test_of_what_is_over_there_is_nothing_to_tell(self, cast: Cast, status: EventStatus) -> None:
        WriterEvent.objects.update(app_event_status_id=status.value)
        answer(cast, Told.UNKNOWN)
        assert by_queue(cast.bus)[READER] == []
        assert WriterEventReader.objects.get().progress == Progress.PROCESSED
