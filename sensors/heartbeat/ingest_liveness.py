"""Whether Postern itself receives signals, and up to when: what the sweep may call silence.

Each way in is checked every interval. Calls: each web server calls itself through its own socket. The queue: the
scheduler sends a probe through the exchange of signals. From the last check that passed to the next one was an outage
(a row of `DeafSpan`), if that took more than two intervals or the process has only just started. A shorter one may go
unnoticed, so nothing is judged until two intervals after its time (`judged_until`).

Nothing is judged either while one web server of several is silent, for some sensors may call that one alone. After
`DROPPED_AFTER` it counts as gone: the others write its outage down and go on without it.

That the broker takes a probe shows that sensors can be heard; which signals have been committed by now is the
watermark's business (`watermark.py`). All times are steady (`clock.py`).
"""

import os
import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max, QuerySet

from config.engines.circuit_breaker import EngineUnavailable
from config.engines.publisher import NotPublished
from sensors.heartbeat.clock import TOLERANCE, clock
from sensors.heartbeat.watermark import proven_time
from sensors.ingest.signal_queue import find_disconnected, publish_probe
from sensors.models import ConsumerMark, DeafSpan, Probe, WayIn

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 1.5
OUTAGE_AFTER = 2 * timedelta(seconds=INTERVAL_SECONDS)
SETTLING = 2 * timedelta(seconds=INTERVAL_SECONDS)
UNKNOWN_AFTER = timedelta(seconds=15)
# Before the pages call sensors unknown: the others look every interval, and until then it may go on where it stood.
DROPPED_AFTER = UNKNOWN_AFTER - OUTAGE_AFTER
ASK_ABOUT_CONSUMER_AFTER = timedelta(seconds=5)
# From the end of a connection, as the broker reports it, until its messages are back in the queue.
REQUEUED_AFTER = timedelta(seconds=2)
OUTAGE_RETENTION = timedelta(days=61)
PROBE_RETENTION = timedelta(minutes=1)

THIS_SERVER = f"{WayIn.CALLS}{socket.gethostname()[:100]}:{settings.ENV.port}"


class LivenessCheck:
    """The check of one way in, as one process makes it."""

    def __init__(self, way_in: str) -> None:
        self._way_in = way_in
        self._process = 0
        self._last: datetime | None = None

    def run(self, is_open: Callable[[datetime], bool]) -> bool:
        """Try the way in; record that it is open, and return whether it is."""
        tried_at = self._steady_time()
        if not is_open(tried_at):
            return False
        # The first check in a process ends an outage, however short: the process was not there before.
        is_first = self._process != os.getpid()
        last = None if is_first else self._last
        record_liveness(tried_at, way_in=self._way_in, answered_at=clock.now(), started=is_first, last=last)
        self._process, self._last = os.getpid(), tried_at
        return True

    def _steady_time(self) -> datetime:
        now = clock.look_and_correct()
        last = max(WayIn.objects.values_list("heard_at", flat=True), default=now)
        return clock.go_on_from(last) if last - now > TOLERANCE else now


_calls = LivenessCheck(THIS_SERVER)
_queue = LivenessCheck(WayIn.QUEUE)


def check_calls(is_served: Callable[[], bool]) -> bool:
    """Check that this process answers calls, and record it. Return False: there is never more to do at once."""
    _calls.run(lambda _: is_served())
    return False


def check_queue_once() -> bool:
    """Check that the broker takes messages, and record it. Return False: there is never more to do at once."""
    if settings.AMQP_URL and _queue.run(_send_probe):
        drop_disconnected_consumers(clock.now())
    return False


def _send_probe(sent_at: datetime) -> bool:
    try:
        publish_probe(sent_at)
    except (NotPublished, EngineUnavailable):
        return False
    return True


def record_liveness(
    heard_at: datetime,
    *,
    way_in: str = THIS_SERVER,
    answered_at: datetime | None = None,
    started: bool = False,
    last: datetime | None = None,
) -> None:
    """Record that a way in is open; a gap since the last time becomes an outage.

    `last` is that time as the process remembers it: the others may have dropped its row.
    """
    now = answered_at or heard_at
    with transaction.atomic():
        row = WayIn.objects.select_for_update().filter(pk=way_in).first()
        if row is None:
            WayIn.objects.bulk_create([WayIn(pk=way_in, heard_at=heard_at)], ignore_conflicts=True)
            if started and way_in != WayIn.QUEUE:  # beside other servers, or after one that had another name
                last = _calls_rows().exclude(pk=way_in).aggregate(last=Max("heard_at"))["last"]
        else:
            last = row.heard_at
            # An answer that comes late must not move the time back.
            row.heard_at = max(heard_at, row.heard_at)
            row.save(update_fields=["heard_at"])
        if last is not None and (started or now - last > OUTAGE_AFTER):
            _write_outage(last, now)
        if way_in != WayIn.QUEUE:  # while no server is left, the row of the last one says so
            _drop_silent_servers(now, but=way_in)


def _drop_silent_servers(now: datetime, *, but: str) -> None:
    """Go on without the web servers that have been silent for too long, and write down their outage."""
    silent = _calls_rows().exclude(pk=but).filter(heard_at__lt=now - DROPPED_AFTER)
    # Whoever locks a row drops it, and writes its outage, alone; one that is locked has come back, or is being dropped.
    for row in silent.select_for_update(skip_locked=True):
        log.warning("hearing.server_dropped", way_in=row.pk, heard_at=row.heard_at.isoformat())
        _write_outage(row.heard_at, now)
        row.delete()


def _write_outage(begin: datetime, end: datetime) -> None:
    DeafSpan.objects.create(from_at=begin, to_at=max(begin, end))
    DeafSpan.objects.filter(to_at__lt=end - OUTAGE_RETENTION).delete()


def stop_serving_calls(way_in: str = THIS_SERVER) -> None:
    """Take the row of this web server along when it ends in order; the last one leaves its own.

    Whoever starts next reads there since when nobody has been heard. Who has called this server has its whole timeout
    to turn to another.
    """
    now = clock.look_and_correct()
    with transaction.atomic():
        rows = {row.pk: row for row in _calls_rows().select_for_update().order_by("pk")}
        own = rows.pop(way_in, None)
        if own is not None and any(now - row.heard_at <= OUTAGE_AFTER for row in rows.values()):
            _write_outage(own.heard_at, now)
            own.delete()


def _calls_rows() -> QuerySet[WayIn]:
    return WayIn.objects.filter(pk__startswith=WayIn.CALLS)


def is_outage() -> bool:
    """Return whether silence may be our own fault right now: the connection of a quiet sensor is then unknown."""
    mark = watermark()
    clock.look()
    return mark is None or clock.now() - mark > UNKNOWN_AFTER


def judged_until() -> datetime | None:
    """Return the time up to which silence can be judged, or None while it cannot."""
    mark = watermark()
    return None if mark is None else mark - SETTLING


def watermark() -> datetime | None:
    """Return the time before which every signal that was sent has been committed, or None while nothing is proven."""
    # The consumers before the probes: one that is dropped after this read holds the watermark back, one dropped before
    # has raised `proven_from`. The other way round a probe could count that is no longer proof.
    marks = list(ConsumerMark.objects.values_list("heard_at", flat=True)) if settings.AMQP_URL else []
    ways_in = WayIn.objects.in_bulk()
    queue = ways_in.pop(WayIn.QUEUE, None)
    times = [each.heard_at for each in ways_in.values()]
    if not settings.AMQP_URL:
        return min(times, default=None)
    if queue is None:
        return None
    proven = proven_time(Probe.objects.values_list("sent_at", "passed_at"), marks, proven_from=queue.proven_from)
    # A way in that is closed is an outage, which is recorded when it is over: until then nothing later is judged.
    return None if proven is None else min(proven, queue.heard_at, *times)


def outages_since(since: datetime) -> list[tuple[datetime, datetime]]:
    """Return the beginning and end of each outage that ended after a time."""
    return list(DeafSpan.objects.filter(to_at__gt=since).values_list("from_at", "to_at"))


def register_consumer(consumer: str) -> None:
    """Record a consumer before it subscribes: from its first message on it holds the watermark back."""
    ConsumerMark.objects.create(consumer=consumer, heard_at=clock.look_and_correct())


def record_progress(consumer: str, proven: datetime | None, probes: Sequence[datetime]) -> None:
    """Record, in the transaction of a batch, how far a consumer has come and which probes it met."""
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
    """Move the mark of a consumer that has given all its messages back to now."""
    with transaction.atomic():
        now = clock.look_and_correct()
        _prove_from(now)
        ConsumerMark.objects.filter(consumer=consumer).update(heard_at=now)


def drop_consumers(consumers: Sequence[str]) -> None:
    """Delete the marks of consumers that are gone: the broker puts what they had back into the queue."""
    with transaction.atomic():
        ConsumerMark.objects.filter(consumer__in=consumers).delete()
        _prove_from(clock.look_and_correct())


def drop_disconnected_consumers(now: datetime) -> None:
    """Drop the consumers without progress whose connections have ended, as the broker knows it.

    One that is only paused still has its messages: it holds the watermark back until it goes on, or until the broker
    cuts it off for its silence.
    """
    still = ConsumerMark.objects.filter(heard_at__lt=now - ASK_ABOUT_CONSUMER_AFTER).values_list("consumer", flat=True)
    gone = find_disconnected(list(still))
    if gone:
        drop_consumers(gone)


def _prove_from(now: datetime) -> None:
    """Let only probes count that are sent once the messages given back now are in the queue again."""
    at = now + REQUEUED_AFTER
    WayIn.objects.bulk_create([WayIn(pk=WayIn.QUEUE, heard_at=now)], ignore_conflicts=True)
    WayIn.objects.filter(pk=WayIn.QUEUE).update(proven_from=at)
