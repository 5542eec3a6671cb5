from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from processes.coordination.bus.memory import MemoryBus
from processes.coordination.protocol.messages import COORDINATOR, Header, Message, MessageType, Payload
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.row_changes import RowChange, encode_change
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader.models import COMMITS, ROLLBACKS, TABLES, AppEvent, AppEventPayload
from processes.coordination.reader.role import Reader
from processes.coordination.schema.entities import BY_NAME
from tests.processes.coordination.in_memory_roles import DATABASES, queued, rows_of

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
ALIAS = "reader_main"
EVENT = 7
HEADER = Header(position=1, type=1, date="2026-01-01T00:00:00.000Z", correlation_id="c", payloads=2)


def payload(id: int) -> Payload:
    values = {"correlation_id": "00000000-0000-0000-0000-000000000001", "name": f"n{id}"}
    return Payload(id, encode_change(RowChange(BY_NAME["DummyItem"], id, None, values)))


PREPARE = Message(MessageType.PREPARE, event=EVENT, header=HEADER)
FIRST, SECOND = (
    Message(MessageType.PREPARE_PAYLOADS, event=EVENT, header=HEADER, payloads=[payload(id)]) for id in (1, 2)
)
PROCESS = Message(MessageType.PROCESS, event=EVENT)
COMMIT = Message(MessageType.COMMIT, event=EVENT)
CANCEL = Message(MessageType.CANCEL, event=EVENT)
WAY = (PREPARE, FIRST, SECOND, PROCESS, COMMIT)


class Scene:
    """A reader, and what it answers."""

    def __init__(self) -> None:
        self.bus = MemoryBus()
        self.reader = Reader(self.bus)

    def hear(self, *messages: Message) -> list[MessageType]:
        """Let messages come one after the other, each with the turns it calls for; return the answers."""
        return [answer for message in messages for answer in self.hear_at_once(message)]

    def hear_at_once(self, *messages: Message) -> list[MessageType]:
        self.bus.send([(self.reader.queue, message) for message in messages])
        while self.reader.run_once():
            pass
        answers = [message.type for message in queued(self.bus)]
        self.bus._queues[COORDINATOR].clear()
        return answers

    @property
    def status(self) -> EventStatus:
        return AppEvent.objects.using(ALIAS).get(pk=EVENT).status


@pytest.fixture
def scene() -> Scene:
    return Scene()


def items() -> list[str]:
    return [row["name"] for _, row in sorted(rows_of(TABLES["DummyItem"], using=ALIAS).items())]


class TestWay:
    def test_answers_each_message(self, scene: Scene) -> None:
        assert [scene.hear(message) for message in WAY] == [
            [MessageType.PREPARING_BEGINS],
            [MessageType.PAYLOADS_PREPARED],
            [MessageType.PAYLOADS_PREPARED],
            [MessageType.PROCESSING_BEGINS, MessageType.PAYLOADS_PROCESSED, MessageType.PROCESSED],
            [MessageType.COMMITTED],
        ]
        assert items() == ["n1", "n2"]

    def test_all_at_once_is_as_good(self, scene: Scene) -> None:
        scene.hear_at_once(*reversed(WAY[:-1]))
        assert scene.status == EventStatus.PROCESSED
        scene.hear(COMMIT)
        assert items() == ["n1", "n2"]

    @pytest.mark.parametrize("place", range(len(WAY)))
    def test_a_message_that_comes_again_is_answered_again_and_changes_nothing(self, scene: Scene, place: int) -> None:
        scene.hear(*WAY[: place + 1])
        before = self._all()
        assert scene.hear(WAY[place])
        assert self._all() == before

    @pytest.mark.parametrize("message", WAY)
    def test_after_the_commit_nothing_moves(self, scene: Scene, message: Message) -> None:
        scene.hear(*WAY)
        before = self._all()
        scene.hear(message)
        assert self._all() == before
        assert scene.status == EventStatus.COMMITTED

    def _all(self) -> list[Any]:
        events = AppEvent.objects.using(ALIAS).values("pk", "app_event_status_id", "is_published", "reason")
        payloads = AppEventPayload.objects.using(ALIAS).order_by("pk")
        rows = [
            list(table["DummyItem"].objects.using(ALIAS).order_by("pk").values())
            for table in (TABLES, COMMITS, ROLLBACKS)
        ]
        return [list(events), list(payloads.values("pk", "app_event_payload_status_id", "is_published")), rows]


class TestUnknown:
    @pytest.mark.parametrize("message", [PROCESS, COMMIT])
    def test_an_event_that_is_not_here_is_asked_for(self, scene: Scene, message: Message) -> None:
        assert scene.hear(message) == [MessageType.UNKNOWN]
        assert not AppEvent.objects.using(ALIAS).exists()

    def test_one_that_is_not_here_as_a_whole_is_asked_for(self, scene: Scene) -> None:
        scene.hear(PREPARE, FIRST)
        assert MessageType.UNKNOWN in scene.hear(PROCESS)
        assert scene.status == EventStatus.CREATED

    def test_one_that_is_not_processed_is_not_committed(self, scene: Scene) -> None:
        scene.hear(PREPARE, FIRST, SECOND)
        assert MessageType.UNKNOWN in scene.hear(COMMIT)
        assert items() == []

    def test_payloads_that_come_before_the_event_bring_it_along(self, scene: Scene) -> None:
        scene.hear(SECOND, FIRST, PREPARE, PROCESS, COMMIT)
        assert items() == ["n1", "n2"]


class TestCancel:
    @pytest.mark.parametrize("heard", range(len(WAY)))
    def test_drops_the_rows_of_an_event_at_any_time_before_its_commit(self, scene: Scene, heard: int) -> None:
        scene.hear(*WAY[:heard])
        assert scene.hear(CANCEL) == [MessageType.CANCELED]
        assert scene.status == EventStatus.CANCELED
        assert not COMMITS["DummyItem"].objects.using(ALIAS).exists()
        assert not ROLLBACKS["DummyItem"].objects.using(ALIAS).exists()
        assert items() == []

    def test_what_comes_late_is_too_late(self, scene: Scene) -> None:
        scene.hear(CANCEL)
        assert set(scene.hear(*WAY[:-1])) == {MessageType.CANCELED}
        assert scene.status == EventStatus.CANCELED
        assert not AppEventPayload.objects.using(ALIAS).exists()
        assert items() == []

    def test_told_again_is_confirmed_again(self, scene: Scene) -> None:
        assert scene.hear(CANCEL, CANCEL) == [MessageType.CANCELED, MessageType.CANCELED]

    def test_in_one_batch_with_all_before_it_wins(self, scene: Scene) -> None:
        scene.hear_at_once(*WAY[:-1], CANCEL)
        assert scene.status == EventStatus.CANCELED
        assert items() == []


class TestRefusal:
    @pytest.fixture(autouse=True)
    def spoiled(self) -> None:
        TABLES["DummyItem"].objects.using(ALIAS).create(
            id=2, name="foreign", correlation_id="00000000-0000-0000-0000-000000000002"
        )

    def test_is_told_with_its_reason(self, scene: Scene) -> None:
        scene.hear(PREPARE, FIRST, SECOND)
        scene.bus.send([(scene.reader.queue, PROCESS)])
        while scene.reader.run_once():
            pass
        answer = next(message for message in queued(scene.bus) if message.type == MessageType.PROCESSED)
        assert (answer.event, answer.role, format_reason(answer.reason)) == (
            EVENT,
            "main",
            "DummyItem 2 already exists",
        )
        assert items() == ["foreign"]

    def test_is_judged_once_more_when_it_is_asked_again(self, scene: Scene) -> None:
        scene.hear(*WAY[:-1])
        TABLES["DummyItem"].objects.using(ALIAS).all().delete()
        assert MessageType.PROCESSED in scene.hear(PROCESS)
        assert AppEvent.objects.using(ALIAS).get().reason == ""


class TestFaults:
    def test_a_message_that_cannot_be_used_harms_no_other(self, scene: Scene) -> None:
        broken = Message(MessageType.PREPARE_PAYLOADS, event=9, header=HEADER, payloads=[Payload(9, "{")])
        broken_header = Header(position=2, type=1, date="never", correlation_id="", payloads=1)
        scene.hear_at_once(PREPARE, Message(MessageType.PREPARE, event=8, header=broken_header), FIRST, SECOND, broken)
        assert AppEventPayload.objects.using(ALIAS).filter(app_event=EVENT).count() == 2
        assert not AppEvent.objects.using(ALIAS).filter(pk=8).exists()

    def test_a_payload_that_cannot_be_read_is_a_refusal(self, scene: Scene) -> None:
        header = Header(position=1, type=1, date=HEADER.date, correlation_id="", payloads=1)
        broken = Message(MessageType.PREPARE_PAYLOADS, event=EVENT, header=header, payloads=[Payload(1, "{")])
        scene.hear(broken)
        scene.hear(PROCESS)
        assert scene.status == EventStatus.PROCESSED
        assert AppEvent.objects.using(ALIAS).get().reason != ""

    def test_what_the_database_could_not_take_comes_again(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails() -> None:
            raise OperationalError

        monkeypatch.setattr(scene.reader, "lock_state", fails)
        scene.bus.send([(scene.reader.queue, PREPARE)])
        with pytest.raises(OperationalError):
            scene.reader.receive()
        monkeypatch.undo()
        assert scene.hear_at_once() == [MessageType.PREPARING_BEGINS]

    def test_what_could_not_be_sent_is_told_the_next_time(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.hear(*WAY[:-1])
        scene.bus.send([(scene.reader.queue, COMMIT)])
        scene.reader.receive()

        def fails(letters: Any) -> None:
            raise ConnectionError

        monkeypatch.setattr(scene.bus, "send", fails)
        with pytest.raises(ConnectionError):
            scene.reader.publish(timezone.now())
        monkeypatch.undo()
        assert scene.hear_at_once() == [MessageType.COMMITTED]
