"""Whether our own side hears, and up to when: what the sweep may call silence.

Without a broker the calls of sensors are committed as they come, so this process being up is hearing. With RabbitMQ a
probe goes through the exchange of signals every few seconds. That the broker takes it shows that sensors are heard;
that it comes out of the queue, and that every consumer has committed all it had received by then, shows that nothing
sent before it is still on its way (the watermark). A consumer that stands still holds the watermark back; one that has
been silent for longer than the broker lets a connection be is gone, its messages are back in the queue, and only
probes sent after that count. All times are the database's.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Min
from django.utils import timezone

from config.engines.publisher import NotPublished
from sensors.ingest.publishing import publish_probe
from sensors.models import ConsumerMark, DeafSpan, Hearing, Probe

DEAF_AFTER = timedelta(seconds=15)
CONSUMER_GONE_AFTER = timedelta(seconds=60)
KEEP_SPANS = timedelta(days=61)


def listen_once() -> bool:
    """Find out whether we hear, and write it down; there is never more to do at once."""
    now = database_now()
    if settings.AMQP_URL:
        try:
            publish_probe(now)
        except NotPublished:
            return False
        _forget_gone_consumers(now)
    note_hearing(now)
    return False


def note_hearing(now: datetime) -> None:
    """Write down that we hear now; a gap since the last time was deafness."""
    with transaction.atomic():
        hearing = Hearing.objects.select_for_update().filter(pk=1).first()
        if hearing is None:
            Hearing.objects.bulk_create([Hearing(pk=1, heard_at=now)], ignore_conflicts=True)
            return
        if now - hearing.heard_at > DEAF_AFTER:
            DeafSpan.objects.create(from_at=hearing.heard_at, to_at=now)
            DeafSpan.objects.filter(to_at__lt=now - KEEP_SPANS).delete()
        hearing.heard_at = max(now, hearing.heard_at)
        hearing.save(update_fields=["heard_at"])


def is_deaf() -> bool:
    """Say whether silence is our own fault right now: the state of a quiet sensor is then unknown."""
    mark = watermark()
    return mark is None or database_now() - mark > 2 * DEAF_AFTER


def watermark() -> datetime | None:
    """Return the time before which every signal that was sent is known to us, if there is one."""
    if not settings.AMQP_URL:
        return Hearing.objects.filter(pk=1).values_list("heard_at", flat=True).first()
    slowest = ConsumerMark.objects.aggregate(slowest=Min("heard_at"))["slowest"]
    if slowest is None:
        return None
    newest: datetime | None = Probe.objects.filter(passed_at__lte=slowest).aggregate(newest=Max("sent_at"))["newest"]
    return newest


def deaf_spans(since: datetime) -> list[tuple[datetime, datetime]]:
    return list(DeafSpan.objects.filter(to_at__gt=since).values_list("from_at", "to_at"))


def mark_consumer(consumer: str, probes: list[datetime]) -> None:
    """Write, in the transaction of a batch, how far this consumer has come and which probes it met."""
    begun_at = _transaction_begin()
    ConsumerMark.objects.bulk_create(
        [ConsumerMark(consumer=consumer, heard_at=begun_at)],
        update_conflicts=True,
        unique_fields=["consumer"],
        update_fields=["heard_at"],
    )
    probes = [sent for sent in probes if sent <= begun_at]
    if probes:
        Probe.objects.bulk_create([Probe(sent_at=sent) for sent in probes], ignore_conflicts=True)
        Probe.objects.filter(sent_at__lt=max(probes) - timedelta(minutes=10)).delete()


def forget_consumer(consumer: str) -> None:
    """A consumer that stops in order has committed or given back all it had."""
    ConsumerMark.objects.filter(consumer=consumer).delete()


def database_now() -> datetime:
    """Return the database's time; on SQLite that is this machine's."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def _transaction_begin() -> datetime:
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT transaction_timestamp()")
        begun_at: datetime = cursor.fetchone()[0]
    return begun_at


def _forget_gone_consumers(now: datetime) -> None:
    with transaction.atomic():
        gone, _ = ConsumerMark.objects.filter(heard_at__lt=now - CONSUMER_GONE_AFTER).delete()
        if gone:
            Probe.objects.filter(sent_at__lte=now).delete()
