import pytest

from processes.coordination.bus import open_bus
from processes.coordination.bus.memory import MemoryBus, bus
from processes.coordination.protocol.messages import (
    COORDINATOR,
    WRITER,
    Message,
    MessageType,
    OutgoingMessage,
)

pytestmark = pytest.mark.embedded


def letters(*events: int, queue: str = WRITER) -> list[OutgoingMessage]:
    return [(queue, Message(MessageType.SAVING_BEGINS, event=event)) for event in events]


def take(memory: MemoryBus, queue: str = WRITER, *, most: int = 10) -> list[int]:
    return [message.event for message in memory.receive(queue, most=most, wait=0).messages]


class TestMemoryBus:
    def test_keeps_the_order_within_each_queue(self) -> None:
        memory = MemoryBus()
        memory.send([*letters(1, 2), *letters(3, queue=COORDINATOR), *letters(4)])
        assert (take(memory), take(memory, COORDINATOR)) == ([1, 2, 4], [3])

    def test_gives_no_more_than_is_asked_for(self) -> None:
        memory = MemoryBus()
        memory.send(letters(1, 2, 3))
        assert [take(memory, most=2), take(memory, most=2), take(memory, most=2)] == [[1, 2], [3], []]

    def test_what_is_given_back_comes_first_again(self) -> None:
        memory = MemoryBus()
        memory.send(letters(1, 2, 3))
        memory.receive(WRITER, most=2, wait=0).give_back()
        assert take(memory) == [1, 2, 3]

    def test_what_is_done_never_comes_again(self) -> None:
        memory = MemoryBus()
        memory.send(letters(1))
        memory.receive(WRITER, most=2, wait=0).done()
        assert take(memory) == []

    def test_wakes_each_reader_once_for_what_was_sent_together(self) -> None:
        woken: list[str] = []
        memory = MemoryBus(wake=woken.append)
        memory.send([*letters(1, 2), *letters(3, queue=COORDINATOR)])
        assert sorted(woken) == [COORDINATOR, WRITER]

    def test_closing_loses_nothing(self) -> None:
        memory = MemoryBus()
        memory.send(letters(1))
        memory.close()
        assert take(memory) == [1]


class TestOpenBus:
    def test_without_a_broker_all_roles_share_the_memory_of_the_process(self) -> None:
        assert open_bus() is open_bus() is bus
