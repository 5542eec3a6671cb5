"""Whether our own side hears, and up to when: what the sweep may call silence.

There are two ways in, and each is tried every interval. Calls: a web process calls itself through its own socket. The
queue: the scheduler sends a probe through the exchange of signals. As long as both answer we hear; from the last answer
to the next one we did not (`DeafSpan`) if that took more than two intervals or the process has only just started. An
outage that is shorter may go unnoticed, so nothing is judged until two intervals after its time (`judged_until`).

That the broker takes a probe shows that sensors are heard; which signals are known to us by now is the watermark's
business (`watermark.py`). All times are steady (`clock.py`).
"""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from config.engines.publisher import NotPublished
from sensors.heartbeat.clock import TOLERANCE, clock
from sensors.heartbeat.watermark import proven_time
from sensors.ingest.signal_queue import find_disconnected, publish_probe
from sensors.models import ConsumerMark, DeafSpan, Hearing, Probe

INTERVAL_SECONDS = 1.5
OUTAGE_AFTER = 2 * timedelta(seconds=INTERVAL_SECONDS)
SETTLING = 2 * timedelta(seconds=INTERVAL_SECONDS)
UNKNOWN_AFTER = timedelta(seconds=15)
ASK_ABOUT_CONSUMER_AFTER = timedelta(seconds=5)
# Between the end of a connection, as the broker tells it, and its messages being back in the queue.
REQUEUED_AFTER = timedelta(seconds=2)
OUTAGE_RETENTION = timedelta(days=61)
PROBE_RETENTION = timedelta(minutes=1)


class LivenessCheck:
    """One way in, as one process tries it."""

    def __init__(self, ear: Hearing.Ear) -> None:
        self._ear = ear
        self._process = 0

    def listen(self, is_open: Callable[[datetime], bool]) -> bool:
        """Try the way in and write down that we hear; the first time in a process ends an outage, however short."""
        tried_at = self._steady_time()
        if not is_open(tried_at):
            return False
        record_liveness(tried_at, ear=self._ear, answered_at=clock.now(), started=self._process != os.getpid())
        self._process = os.getpid()
        return True

    def _steady_time(self) -> datetime:
        now = clock.look_and_correct()
        last = max(Hearing.objects.values_list("heard_at", flat=True), default=now)
        return clock.go_on_from(last) if last - now > TOLERANCE else now


_calls = LivenessCheck(Hearing.Ear.CALLS)
_queue = LivenessCheck(Hearing.Ear.QUEUE)


def check_calls(is_served: Callable[[], bool]) -> bool:
    """Find out whether calls are served by this process, and write it down; there is never more to do at once."""
    _calls.listen(lambda _: is_served())
    return False


def check_queue_once() -> bool:
    """Find out whether we hear through the broker, and write it down; there is never more to do at once."""
    if settings.AMQP_URL and _queue.listen(_takes_probe):
        drop_disconnected_consumers(clock.now())
    return False


def _takes_probe(sent_at: datetime) -> bool:
    try:
        publish_probe(sent_at)
    except NotPublished:
        return False
    return True


def record_liveness(
    heard_at: datetime,
    *,
    ear: Hearing.Ear = Hearing.Ear.CALLS,
    answered_at: datetime | None = None,
    started: bool = False,
) -> None:
    """Write down that we hear; a gap since the last time was an outage."""
    now = answered_at or heard_at
    with transaction.atomic():
        hearing = Hearing.objects.select_for_update().filter(pk=ear).first()
        if hearing is None:
            Hearing.objects.bulk_create([Hearing(pk=ear, heard_at=heard_at)], ignore_conflicts=True)
            return
        if started or now - hearing.heard_at > OUTAGE_AFTER:
            DeafSpan.objects.create(from_at=hearing.heard_at, to_at=max(now, hearing.heard_at))
            DeafSpan.objects.filter(to_at__lt=now - OUTAGE_RETENTION).delete()
        hearing.heard_at = max(heard_at, hearing.heard_at)
        hearing.save(update_fields=["heard_at"])


def is_outage() -> bool:
    """Say whether silence is our own fault right now: the state of a quiet sensor is then unknown."""
    mark = watermark()
    clock.look()
    return mark is None or clock.now() - mark > UNKNOWN_AFTER


def judged_until() -> datetime | None:
    """Return up to when silence can be judged."""
    mark = watermark()
    return None if mark is None else mark - SETTLING


def watermark() -> datetime | None:
    """Return the time up to which we have heard, and before which every signal that was sent is known to us."""
    # The consumers first: one that is dropped after this look holds it back, one dropped before has raised
    # `proven_from`. The other way round a probe could count that is no longer proof.
    marks = list(ConsumerMark.objects.values_list("heard_at", flat=True)) if settings.AMQP_URL else []
    ears = Hearing.objects.in_bulk()
    times = [hearing.heard_at for hearing in ears.values()]
    if not settings.AMQP_URL:
        return ears[Hearing.Ear.CALLS].heard_at if Hearing.Ear.CALLS in ears else None
    if Hearing.Ear.QUEUE not in ears:
        return None
    probes = Probe.objects.values_list("sent_at", "passed_at")
    proven = proven_time(probes, marks, proven_from=ears[Hearing.Ear.QUEUE].proven_from)
    # A way in that is not served any more is an outage, which is written down when it is over.
    return None if proven is None else min(proven, *times)


def outages_since(since: datetime) -> list[tuple[datetime, datetime]]:
    return list(DeafSpan.objects.filter(to_at__gt=since).values_list("from_at", "to_at"))


def register_consumer(consumer: str) -> None:
    """Write that a consumer is there, before it subscribes: from its first message on it holds the watermark."""
    ConsumerMark.objects.create(consumer=consumer, heard_at=clock.look_and_correct())


def record_progress(consumer: str, proven: datetime | None, probes: Sequence[datetime]) -> None:
    """Write, in the transaction of a batch, how far this consumer has come and which probes it met."""
    if proven is None and not probes:
        return
    look = clock.look()
    if look is None:
        return  # the database's clock was set back: until that is corrected its times prove nothing
    if proven is not None:
        # One that the broker has cut off is no longer there, and its last batch proves nothing.
        ConsumerMark.objects.filter(consumer=consumer).update(heard_at=proven)
    passed = [Probe(sent_at=sent, passed_at=look.steady) for sent in probes if sent <= look.steady]
    if passed:
        Probe.objects.bulk_create(passed, ignore_conflicts=True)
        Probe.objects.filter(sent_at__lt=max(each.sent_at for each in passed) - PROBE_RETENTION).delete()


def resume_consumer(consumer: str) -> None:
    """Let a consumer that gave back all it had begin anew."""
    with transaction.atomic():
        now = clock.look_and_correct()
        _prove_from(now)
        ConsumerMark.objects.filter(consumer=consumer).update(heard_at=now)


def drop_consumers(consumers: Sequence[str]) -> None:
    """Take note that consumers are gone and all they had is in the queue again, or will be in a moment."""
    with transaction.atomic():
        ConsumerMark.objects.filter(consumer__in=consumers).delete()
        _prove_from(clock.look_and_correct())


def drop_disconnected_consumers(now: datetime) -> None:
    """Ask the broker about consumers that show no progress; one whose connection has ended holds nothing any more.

    One that is only paused still has its messages: it holds the watermark until it goes on, or until the broker
    cuts it off for its silence.
    """
    still = ConsumerMark.objects.filter(heard_at__lt=now - ASK_ABOUT_CONSUMER_AFTER).values_list("consumer", flat=True)
    gone = find_disconnected(list(still))
    if gone:
        drop_consumers(gone)


def _prove_from(now: datetime) -> None:
    at = now + REQUEUED_AFTER
    Hearing.objects.bulk_create([Hearing(pk=Hearing.Ear.QUEUE, heard_at=now)], ignore_conflicts=True)
    Hearing.objects.filter(pk=Hearing.Ear.QUEUE).update(proven_from=at)
