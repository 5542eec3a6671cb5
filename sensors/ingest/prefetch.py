"""How many messages the broker hands to a consumer ahead of its acknowledgements: as many as hold a few batches.

The broker counts messages, and one of them is a single signal or a list of a thousand. So what the last batch was made
of decides how many may be under way. A consumer that holds lists by the thousand would keep the others idle, its death
would repeat all of them, and the watermark would wait for them.
"""

from django.conf import settings
from pika.adapters.blocking_connection import BlockingChannel

from sensors.ingest.signals import MAX_LIST

PREFETCH_BATCHES = 3


class Prefetch:
    """The limit of one channel; it is moved only when it is off by more than a factor of two."""

    def __init__(self, channel: BlockingChannel) -> None:
        self._channel = channel
        self._most = PREFETCH_BATCHES * settings.INGEST_BATCH
        channel.basic_qos(prefetch_count=self._most)
        # What waits in the queue is not known yet: it may be the longest lists.
        self._limit(max(1, self._most // MAX_LIST))

    def adapt(self, *, messages: int, size: int) -> None:
        """Let as many messages be under way as make up the batches, judged by a batch of that size in signals."""
        wanted = max(1, min(self._most, self._most * messages // max(size, 1)))
        if wanted * 2 <= self.count or wanted >= self.count * 2 or wanted == self._most:
            self._limit(wanted)

    def _limit(self, count: int) -> None:
        """Set the channel's limit beside the consumer's, which cannot be changed; none costs the broker less.

        Not by the blocking channel: that would read all that lies before the answer into memory at once.
        """
        self.count = count
        self._channel._impl.basic_qos(prefetch_count=count if count < self._most else 0, global_qos=True)
