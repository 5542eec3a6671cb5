"""Resend what staff ask for: one delivery at once, or the dead letters one after the other."""

from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import BooleanField, Case, F, QuerySet, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from config.audit.changes import record_change
from config.common.background.ring import ring
from config.records.models import ChangeRecord
from notifications.errors import ClientInactive, DeliveryNotFound, Superseded
from notifications.models import Delivery, Endpoint, ListedSubject
from notifications.services.deliveries import DELIVERIES, SUPERSEDING
from notifications.services.events import NewEvent, record_event
from notifications.subjects import delivery_subject

KIND = "delivery"
STEP = 100
MOST_COUNTED = 10_000
UNDER_WAY = Case(When(under_way_until__gt=Now(), then=Value(True)), default=Value(False), output_field=BooleanField())


@dataclass(frozen=True)
class ResendBatch:
    """What became of one batch of dead letters."""

    resent: int
    skipped: int
    after: int
    """The id of the last one in the batch: the next batch begins behind it."""
    left: int


@dataclass(frozen=True)
class DeadLetters:
    """How many dead letters an endpoint has, and which of them is the oldest."""

    endpoint_id: int
    count: int
    oldest_id: int


def resend_delivery(delivery_id: int, actor: str) -> bool:
    """Make a delivery due now, past an open breaker; return False if an attempt is under way anyhow.

    One that had ended begins anew with all its attempts, unless a newer delivery has followed it.
    """
    endpoint_id = _find_endpoint(delivery_id)
    try:
        with transaction.atomic():
            delivery = _lock_with_endpoint(delivery_id, endpoint_id)
            if getattr(delivery, "is_under_way"):  # noqa: B009
                return False
            _check_resendable(delivery)
            _requeue(delivery, actor)
    except IntegrityError as error:  # a newer one was written meanwhile: `delivery_one_pending_per_family`
        raise Superseded(superseded_by=_find_newer(Delivery.objects.get(pk=delivery_id))) from error
    return True


def resend_dead_letters(
    *, actor: str, endpoint_id: int | None = None, after: int = 0, limit: int = STEP
) -> ResendBatch:
    """Resend one batch of dead letters, oldest first, of one endpoint or of all; the caller asks for the next.

    Row by row, each in a transaction of its own, so that no deadlock arises with whoever writes a newer delivery of the
    same key. One that a newer delivery has followed becomes final, and is no dead letter any more.
    """
    chosen = list(_select_behind(after, endpoint_id).order_by("pk").values_list("pk", flat=True)[:limit])
    resent = sum(_resend_or_finalize(pk, actor) for pk in chosen)
    last = chosen[-1] if chosen else after
    behind = _select_behind(last, endpoint_id).order_by()[:MOST_COUNTED]
    left = behind.count() if len(chosen) == limit else 0
    return ResendBatch(resent, len(chosen) - resent, last, left)


def select_dead_letters(endpoint_id: int | None = None) -> QuerySet[Delivery]:
    """Return deliveries that were given up and may be resent; a ping that failed has answered its question."""
    rows = Delivery.objects.filter(status=Delivery.Status.DEAD, is_final=False, endpoint__active=True)
    rows = rows.exclude(family=Delivery.Family.PING)
    return rows if endpoint_id is None else rows.filter(endpoint=endpoint_id)


def count_dead_letters() -> list[DeadLetters]:
    """Count the oldest `MOST_COUNTED` dead letters by endpoint, the largest number first."""
    oldest = select_dead_letters().order_by("pk").values("endpoint", "pk")[:MOST_COUNTED]
    letters, values = oldest.query.sql_with_params()
    # Not by `pk__in`: PostgreSQL would read all deliveries to find these again.
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT endpoint, count(*), min(pk) FROM ({letters}) AS letter GROUP BY endpoint ORDER BY 2 DESC, 1",  # noqa: S608 (Django's own statement, values apart)
            values,
        )
        return [DeadLetters(*row) for row in cursor.fetchall()]


def _find_endpoint(delivery_id: int) -> int:
    rows = Delivery.objects.filter(pk=delivery_id) if 0 < delivery_id < 2**63 else Delivery.objects.none()
    endpoint_id = rows.values_list("endpoint_id", flat=True).first()
    if endpoint_id is None:
        raise DeliveryNotFound
    return endpoint_id


def _lock_with_endpoint(delivery_id: int, endpoint_id: int) -> Delivery:
    """Lock the endpoint, then the delivery: the order in which everybody locks them."""
    endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint_id)
    rows = Delivery.objects.select_for_update(no_key=True).annotate(is_under_way=UNDER_WAY)
    delivery = rows.filter(pk=delivery_id).first()
    if delivery is None:
        raise DeliveryNotFound
    delivery.endpoint = endpoint
    return delivery


def _check_resendable(delivery: Delivery) -> None:
    if not delivery.endpoint.active:
        raise ClientInactive
    if delivery.superseded_by_id is not None or delivery.status == Delivery.Status.SUPERSEDED:
        raise Superseded(superseded_by=_find_newer(delivery) or delivery.superseded_by_id)
    newer = None if delivery.status == Delivery.Status.PENDING else _find_newer(delivery)
    if newer is not None:
        raise Superseded(superseded_by=newer)


def _find_newer(delivery: Delivery) -> int | None:
    """Return the newest delivery of the key after this one; a list counts for each connection that it names."""
    if delivery.family not in SUPERSEDING:
        return None
    key = {"endpoint": delivery.endpoint_id, "subject": delivery.subject}
    later = Delivery.objects.filter(**key, family=delivery.family, pk__gt=delivery.pk)
    found = [later.order_by("-pk").values_list("pk", flat=True).first()]
    if delivery.family == Delivery.Family.CONNECTION:
        lists = ListedSubject.objects.filter(**key, delivery_id__gt=delivery.pk)
        found.append(lists.order_by("-delivery_id").values_list("delivery_id", flat=True).first())
    return max((pk for pk in found if pk is not None), default=None)


def _requeue(delivery: Delivery, actor: str) -> None:
    changes: dict[str, Any] = {"due_at": Now(), "is_forced": True}
    if delivery.status != Delivery.Status.PENDING:
        changes |= {"status": Delivery.Status.PENDING, "reason": "", "attempts": 0, "is_retry": True}
        changes |= {"is_final": False, "fence": F("fence") + 1}
    Delivery.objects.filter(pk=delivery.pk).update(**changes)
    if delivery.family == Delivery.Family.LIST:
        # Later deliveries about the connections that it names wait for it again.
        ListedSubject.objects.filter(delivery=delivery.pk).update(is_open=True)
    _record_resend(delivery, actor)
    ring(DELIVERIES)


def _record_resend(delivery: Delivery, actor: str) -> None:
    before = {"status": delivery.status, "attempts": delivery.attempts, "reason": delivery.reason}
    begins_anew = delivery.status != Delivery.Status.PENDING
    after = {"status": Delivery.Status.PENDING.value, "attempts": 0, "reason": ""} if begins_anew else before
    record_change(
        kind=KIND,
        object_id=str(delivery.pk),
        action=ChangeRecord.Action.CHANGED,
        before=before,
        after={**after, "resent": True},
        actor=actor,
    )
    payload = {"endpoint": delivery.endpoint_id, "about": delivery.subject, "type": delivery.type, "by": actor}
    subject = delivery_subject(delivery.pk)
    record_event(NewEvent("delivery.resent", subject, timezone.now(), payload, delivery.correlation_id))


def _select_behind(after: int, endpoint_id: int | None) -> QuerySet[Delivery]:
    return select_dead_letters(endpoint_id).filter(pk__gt=after)


def _resend_or_finalize(pk: int, actor: str) -> bool:
    try:
        return resend_delivery(pk, actor)
    except Superseded:
        Delivery.objects.filter(pk=pk, status=Delivery.Status.DEAD).update(is_final=True)
    except (ClientInactive, DeliveryNotFound):
        pass  # disabled, or expired, since it was chosen
    return False
