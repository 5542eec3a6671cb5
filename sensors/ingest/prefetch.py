"""The prefetch of a consumer: as many unacknowledged messages as make up a few batches of signals.

The broker counts messages, and one of them is a single signal or a list of a thousand. So what the last batch was made
of decides how many may be under way. A consumer that holds lists by the thousand would keep the others idle, its death
would repeat all of them, and the watermark would wait for them.
"""

from django.conf import settings
from pika.adapters.blocking_connection import BlockingChannel

from sensors.ingest.signals import MAX_LIST

PREFETCH_BATCHES = 3


class Prefetch:
    """The prefetch of one channel; it is changed only when it is off by more than a factor of two."""

    def __init__(self, channel: BlockingChannel) -> None:
        self._channel = channel
        self._most = PREFETCH_BATCHES * settings.INGEST_BATCH
        channel.basic_qos(prefetch_count=self._most)
        # What waits in the queue is not known yet: it may be the longest lists.
        self._limit(max(1, self._most // MAX_LIST))

    def adapt(self, *, messages: int, size: int) -> None:
        """Set the prefetch by a batch: so many messages were so many signals."""
        count = max(1, min(self._most, self._most * messages // max(size, 1)))
        if count * 2 <= self.count or count >= self.count * 2 or count == self._most:
            self._limit(count)

    def _limit(self, count: int) -> None:
        """Set the limit of the channel; that of the consumer, set before, cannot be changed any more."""
        self.count = count
        # No limit at all costs the broker less than one as high as the consumer's. Not by the blocking channel: that
        # would read all deliveries before the answer into memory at once.
        self._channel._impl.basic_qos(prefetch_count=count if count < self._most else 0, global_qos=True)
