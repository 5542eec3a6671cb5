"""How long events, deliveries, attempts, alerts and parked messages are kept: what may still be needed stays."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from config.common.database.batches import delete_in_batches
from config.common.database.partitions import drop_days_before, ensure_partitions
from config.common.database.sql import in_number_array
from notifications.followers import followings
from notifications.models import (
    Alert,
    Attempt,
    Delivery,
    Event,
    EventHour,
    EventMinute,
    Follower,
    Incident,
    MessageFailure,
    ParkedMessage,
)
from notifications.selectors import first_delivery_since
from notifications.services.deliveries import SUPERSEDING
from notifications.services.poison import FORGOTTEN_AFTER

DELIVERIES_STEP = 500
MINUTES_KEPT = timedelta(days=1)
ATTEMPTS_STEP = EVENTS_STEP = 5000


def expire_events() -> None:
    """Create the partitions of the coming days; drop events older than `EVENT_DAYS` that every follower has read."""
    now = timezone.now()
    ensure_partitions(Event, today=now.date())
    oldest = now - timedelta(days=settings.EVENT_DAYS)
    if connection.vendor == "postgresql":
        drop_days_before(Event, day=oldest.date(), may_go=_is_read)
    else:
        _delete_events(oldest)
    EventHour.objects.filter(hour__lt=oldest).delete()
    EventMinute.objects.filter(minute__lt=now - MINUTES_KEPT).delete()


def _is_read(partition: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT NOT EXISTS (SELECT FROM "{partition}" WHERE position IS NULL OR position > %s)',
            [_find_position_read_by_all()],
        )
        return bool(cursor.fetchone()[0])


def _find_position_read_by_all() -> int:
    """Return the position up to which every registered follower has read; one that never began has read nothing."""
    names = [following.name for following in followings()]
    rows = Follower.objects.filter(name__in=names)
    if rows.count() < len(names):
        return 0
    read = rows.aggregate(read=Min("position"))["read"]
    return int(read) if read is not None else 2**62


def _delete_events(oldest: datetime) -> None:
    """Delete in steps, each a short write transaction: SQLite has one writer at a time."""
    while True:
        expired = Event.objects.filter(recorded_at__lt=oldest, position__lte=_find_position_read_by_all())
        step = expired.order_by("id")[:EVENTS_STEP]
        deleted, _ = Event.objects.filter(pk__in=list(step.values_list("pk", flat=True))).delete()
        if deleted < EVENTS_STEP:
            return


def expire_attempts() -> None:
    """Create the partitions of the coming days; drop attempts older than `ATTEMPT_DAYS`."""
    now = timezone.now()
    ensure_partitions(Attempt, today=now.date())
    oldest = now - timedelta(days=settings.ATTEMPT_DAYS)
    if connection.vendor == "postgresql":
        drop_days_before(Attempt, day=oldest.date(), may_go=lambda partition: True)
    else:
        _delete_attempts(oldest)


def _delete_attempts(oldest: datetime) -> None:
    """Delete in steps, each a short write transaction: SQLite has one writer at a time."""
    while True:
        step = list(Attempt.objects.order_by("pk").values_list("pk", "recorded_at")[:ATTEMPTS_STEP])
        old = [pk for pk, recorded_at in step if recorded_at < oldest]
        Attempt.objects.filter(pk__in=in_number_array(old)).delete()
        if len(old) < ATTEMPTS_STEP:
            return


def expire_deliveries() -> None:
    """Delete what was created, and last attempted, more than `DELIVERY_DAYS` ago and will not be sent any more.

    Step by step in order of id, which is the order of creation: no index of the time is needed, and nobody waits.
    """
    oldest = timezone.now() - timedelta(days=settings.DELIVERY_DAYS)
    after, end = 0, first_delivery_since(oldest)
    while True:
        rows = Delivery.objects.filter(pk__gt=after, pk__lt=end).order_by("pk")
        step = list(rows.values_list("pk", flat=True)[:DELIVERIES_STEP])
        if not step:
            return
        _delete_deliveries(step, oldest)
        after = step[-1]


def _delete_deliveries(pks: list[int], oldest: datetime) -> None:
    """Delete those of the rows that may go, chosen under lock: one that is being sent again stays."""
    with transaction.atomic():
        rows = _select_expired(oldest).filter(pk__in=in_number_array(pks)).order_by("pk")
        chosen = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True))
        Delivery.objects.filter(pk__in=in_number_array(chosen)).delete()


def _select_expired(oldest: datetime) -> QuerySet[Delivery]:
    """Select deliveries that ended for good; the newest dead or cancelled one of a key may return with its client."""
    key = {name: OuterRef(name) for name in ("endpoint", "subject", "family")}
    newer = Delivery.objects.filter(**key, pk__gt=OuterRef("pk"))
    lost = Q(status__in=[Delivery.Status.DEAD, Delivery.Status.CANCELLED])
    may_return = lost & Q(family__in=SUPERSEDING, is_final=False) & ~Q(Exists(newer))
    tried = Attempt.objects.filter(delivery=OuterRef("pk"), recorded_at__gte=oldest)
    # A superseded delivery that is still pending names its successor: if that were deleted, two of one key could be
    # pending that nothing supersedes, which `delivery_one_pending_per_family` forbids.
    giving_way = Delivery.objects.filter(superseded_by=OuterRef("pk"), status=Delivery.Status.PENDING)
    ended = Delivery.objects.filter(created_at__lt=oldest).exclude(status=Delivery.Status.PENDING)
    return ended.filter(~may_return, ~Exists(tried), ~Exists(giving_way))


def expire_alerts() -> None:
    """Delete alerts and incidents of followers that were resolved more than `RETENTION_DAYS` ago; open ones stay.

    Their messages are deliveries and expire as such. A muted alert stays: a new one of its subject inherits the rest of
    that time.
    """
    now = timezone.now()
    over = {"resolved_at__lt": now - timedelta(days=settings.RETENTION_DAYS)}
    alerts = Alert.objects.filter(status=Alert.Status.RESOLVED, **over)
    delete_in_batches(alerts.filter(Q(muted_until=None) | Q(muted_until__lte=now)), order="resolved_at")
    delete_in_batches(Incident.objects.filter(**over), order="resolved_at")


def expire_parked_messages() -> None:
    """Delete parked messages decided more than `RETENTION_DAYS` ago, and failure counts untouched for a day."""
    decided_before = timezone.now() - timedelta(days=settings.RETENTION_DAYS)
    delete_in_batches(ParkedMessage.objects.filter(decided_at__lt=decided_before))
    MessageFailure.objects.filter(tried_at__lt=Now() - FORGOTTEN_AFTER).delete()
