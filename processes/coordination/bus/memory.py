"""Queues in the memory of this process. They die with it: whatever was in them is sent again after ten seconds."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from processes.coordination.protocol.messages import Message, OutgoingMessage


class MemoryBus:
    def __init__(self, wake: Callable[[str], None] = lambda queue: None) -> None:
        self.wake = wake
        """Called with the name of a queue that something was put into."""
        self._lock = threading.Lock()
        self._queues: defaultdict[str, deque[Message]] = defaultdict(deque)

    def send(self, messages: list[OutgoingMessage]) -> None:
        with self._lock:
            for queue, message in messages:
                self._queues[queue].append(message)
        for queue in {queue for queue, _ in messages}:
            self.wake(queue)

    def receive(self, queue: str, *, most: int, wait: float) -> "_Taken":
        """Return what lies in the queue; never wait, for a reader of this bus is woken (`wake`)."""
        with self._lock:
            waiting = self._queues[queue]
            return _Taken(self, queue, [waiting.popleft() for _ in range(min(most, len(waiting)))])

    def put_back(self, queue: str, messages: list[Message]) -> None:
        with self._lock:
            self._queues[queue].extendleft(reversed(messages))

    def close(self) -> None:
        """The queues outlive their reader."""


@dataclass(frozen=True)
class _Taken:
    bus: MemoryBus
    queue: str
    messages: list[Message]

    def done(self) -> None:
        """Do nothing: the messages have left the queue."""

    def give_back(self) -> None:
        self.bus.put_back(self.queue, self.messages)


bus = MemoryBus()
