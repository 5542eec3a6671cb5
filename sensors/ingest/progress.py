"""How a consumer proves what it has received: a question to the queue, on the channel of its deliveries.

The queue answers in order: whatever it handed to this channel before the question lies before the answer, in the
broker, in the socket and in memory. So once the answer is here and all that came before it is committed, everything
that was handed out before the question was asked is committed (`heartbeat/watermark.py`).
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from pika.adapters.blocking_connection import BlockingChannel

from sensors.ingest.signal_queue import QUEUE

EVERY_SECONDS = 1.0


class Progress:
    """The questions of one consumer to the queue of signals, one at a time."""

    def __init__(self, channel: BlockingChannel, now: Callable[[], datetime]) -> None:
        self._channel = channel
        self._now = now
        self._asked: datetime | None = None
        self._asked_at = 0.0
        self._answered: datetime | None = None

    def ask(self) -> None:
        """Ask the queue, unless the last question is unanswered or less than a second old. Does not wait."""
        if self._asked is not None or time.monotonic() - self._asked_at < EVERY_SECONDS:
            return
        self._asked, self._asked_at = self._now(), time.monotonic()
        # Not by the blocking channel: that would read all that lies before the answer into memory at once.
        self._channel._impl.queue_declare(QUEUE, passive=True, callback=self._on_answer)

    def take(self) -> datetime | None:
        """Return the time of the question that was answered last, once; call it when all deliveries are dispatched."""
        answered, self._answered = self._answered, None
        return answered

    def _on_answer(self, frame: Any) -> None:
        self._answered, self._asked = self._asked, None
