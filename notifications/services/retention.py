"""Keep deliveries, attempts and alerts in their bounds: what is old and over goes, what may still be sent stays."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from config.common.database.batches import delete_in_batches
from config.common.database.partitions import drop_days_before, ensure_partitions
from config.common.database.sql import in_number_array
from notifications.models import Alert, Attempt, Delivery, Incident
from notifications.selectors import first_delivery_since
from notifications.services.deliveries import SUPERSEDING

STEP = 500
ATTEMPTS_STEP = 5000


def expire_attempts() -> None:
    """Make the coming days' partitions and let go of attempts older than `ATTEMPT_DAYS`."""
    now = timezone.now()
    ensure_partitions(Attempt, today=now.date())
    oldest = now - timedelta(days=settings.ATTEMPT_DAYS)
    if connection.vendor == "postgresql":
        drop_days_before(Attempt, day=oldest.date(), may_go=lambda partition: True)
    else:
        _delete_attempts(oldest)


def expire_deliveries() -> None:
    """Delete what was created, and last attempted, more than `DELIVERY_DAYS` ago and will not be sent any more.

    Step by step in order of id, which is the order of creation: no index of the time is needed, and nobody waits.
    """
    oldest = timezone.now() - timedelta(days=settings.DELIVERY_DAYS)
    after, end = 0, first_delivery_since(oldest)
    while step := _next_ids(after, end):
        _delete(step, oldest)
        after = step[-1]


def expire_alerts() -> None:
    """Delete alerts and incidents of followers that were resolved more than `RETENTION_DAYS` ago; open ones stay.

    Their messages are deliveries and go by themselves. An alert that is muted stays: a new one of its subject
    inherits the rest of that time.
    """
    now = timezone.now()
    over = {"resolved_at__lt": now - timedelta(days=settings.RETENTION_DAYS)}
    alerts = Alert.objects.filter(status=Alert.Status.RESOLVED, **over)
    delete_in_batches(alerts.filter(Q(muted_until=None) | Q(muted_until__lte=now)), order="resolved_at")
    delete_in_batches(Incident.objects.filter(**over), order="resolved_at")


def _next_ids(after: int, end: int) -> list[int]:
    rows = Delivery.objects.filter(pk__gt=after, pk__lt=end).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:STEP])


def _delete(pks: list[int], oldest: datetime) -> None:
    """Delete those of the rows that may go, chosen under lock: one that is being sent again stays."""
    with transaction.atomic():
        rows = _over(oldest).filter(pk__in=in_number_array(pks)).order_by("pk")
        chosen = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True))
        Delivery.objects.filter(pk__in=in_number_array(chosen)).delete()


def _over(oldest: datetime) -> QuerySet[Delivery]:
    """Select what has ended for good; the newest of its key that is dead or cancelled may return with its client."""
    key = {name: OuterRef(name) for name in ("endpoint", "subject", "family")}
    newer = Delivery.objects.filter(**key, pk__gt=OuterRef("pk"))
    lost = Q(status__in=[Delivery.Status.DEAD, Delivery.Status.CANCELLED])
    may_return = lost & Q(family__in=SUPERSEDING, is_final=False) & ~Q(Exists(newer))
    tried = Attempt.objects.filter(delivery=OuterRef("pk"), recorded_at__gte=oldest)
    # While one that gives way is pending it names its successor: without it there would be two that nothing replaces.
    giving_way = Delivery.objects.filter(superseded_by=OuterRef("pk"), status=Delivery.Status.PENDING)
    ended = Delivery.objects.filter(created_at__lt=oldest).exclude(status=Delivery.Status.PENDING)
    return ended.filter(~may_return, ~Exists(tried), ~Exists(giving_way))


def _delete_attempts(oldest: datetime) -> None:
    """Delete in steps, each a short write transaction: SQLite has one writer at a time."""
    while True:
        step = list(Attempt.objects.order_by("pk").values_list("pk", "recorded_at")[:ATTEMPTS_STEP])
        old = [pk for pk, recorded_at in step if recorded_at < oldest]
        Attempt.objects.filter(pk__in=in_number_array(old)).delete()
        if len(old) < ATTEMPTS_STEP:
            return
