"""Endpoints that are disabled and come back: what is pending is cancelled, and the newest missed is queued again."""

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.background.ring import ring
from config.common.database.sql import load_sql
from config.common.times import format_time
from notifications.models import Delivery, Endpoint
from notifications.names import name_endpoints
from notifications.services.alerts import close_alert, raise_alert
from notifications.services.deliveries import (
    DELIVERIES,
    SUPERSEDING,
    cancel_deliveries,
    lock_pending_deliveries,
)
from notifications.subjects import endpoint_subject

RETURNS = "deliveries.returns"
STEP = 500
SWITCHED_OFF = gettext_noop("%(receiver)s was disabled: %(reason)s")
ANSWERS = gettext_noop("the receiver responds again")
UNREACHABLE = "endpoint.unreachable"
NO_ANSWER = gettext_noop("%(receiver)s is not responding; its messages are waiting")


def raise_unreachable_alert(endpoint: Endpoint) -> None:
    """Raise the alert of an open breaker; every failure since counts on it. The caller has locked the endpoint.

    Nothing is given up while the breaker is open: without this alert a dead receiver would go unnoticed for three days.
    """
    assert endpoint.opened_at is not None
    detail = {
        "receiver": name_receiver(endpoint.pk, endpoint.url),
        "url": endpoint.url,
        "since": format_time(endpoint.opened_at),
    }
    raise_alert(UNREACHABLE, endpoint_subject(endpoint.pk), NO_ANSWER, detail)


def name_receiver(endpoint_id: int, url: str) -> str:
    """Return the name of the endpoint's owner, or its address if nobody owns it."""
    owner = name_endpoints([endpoint_id]).get(endpoint_id)
    return url if owner is None else owner.text


def disable_endpoint(endpoint: Endpoint, reason: str) -> None:
    """Send nothing more to an endpoint, cancel what is pending, and raise an alert. The caller has locked its row."""
    endpoint.active, endpoint.off_reason = False, reason
    endpoint.save(update_fields=["active", "off_reason"])
    cancel_deliveries([pk for pk, _, _ in lock_pending_deliveries(Q(endpoint=endpoint))], reason)
    detail = {"receiver": name_receiver(endpoint.pk, endpoint.url), "url": endpoint.url, "reason": reason}
    raise_alert("endpoint.disabled", endpoint_subject(endpoint.pk), SWITCHED_OFF, detail)
    close_unreachable_alert(endpoint.pk, gettext_noop("disabled: nothing is waiting any more"))


def close_unreachable_alert(endpoint_id: int, note: str) -> None:
    """Close the alert of an open breaker: it has closed, or nothing waits behind it any more."""
    close_alert(UNREACHABLE, endpoint_subject(endpoint_id), note)


def reset_breaker(endpoint: Endpoint) -> None:
    """Begin anew with an endpoint that staff re-enabled or resumed. The caller has locked its row."""
    endpoint.failures, endpoint.off_reason = 0, ""
    endpoint.opened_at, endpoint.probe_at, endpoint.not_before = None, None, None
    endpoint.save(update_fields=["failures", "off_reason", "opened_at", "probe_at", "not_before"])
    close_alert("endpoint.disabled", endpoint_subject(endpoint.pk), gettext_noop("enabled again"))
    mark_reachable(endpoint)


def mark_reachable(endpoint: Endpoint) -> None:
    """Mark an endpoint that answers again: `requeue_missed_once` queues what it missed. The caller holds its lock."""
    endpoint.is_back = True
    endpoint.save(update_fields=["is_back"])
    # Messages about alerts do not wait for their retry: operators are notified at once.
    pending = Delivery.objects.filter(endpoint=endpoint, status=Delivery.Status.PENDING, under_way_until=None)
    pending.filter(family=Delivery.Family.ALERT, due_at__gt=Now()).update(due_at=Now())
    close_alert("deliveries.dead", endpoint_subject(endpoint.pk), ANSWERS)
    close_unreachable_alert(endpoint.pk, ANSWERS)
    ring(RETURNS)


def requeue_missed_once() -> bool:
    """Queue again, for one endpoint that is back, the newest dead or cancelled delivery of each subject and family.

    Row by row, each in a transaction of its own, so that no deadlock arises with whoever writes a newer delivery of the
    same key. One that a newer delivery has followed becomes final instead.
    """
    endpoint = Endpoint.objects.filter(is_back=True, active=True).order_by("pk").first()
    if endpoint is None:
        return False
    with connection.cursor() as cursor:
        cursor.execute(load_sql("notifications", "settle_outdated"), [endpoint.pk])
    missed = Delivery.objects.filter(_is_missed(), endpoint=endpoint).order_by("-pk")
    for pk in list(missed.values_list("pk", flat=True)[:STEP]):
        _queue_again(pk)
    with transaction.atomic():
        # `mark_reachable` holds this lock: what was missed until then is visible here.
        locked = Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint.pk)
        if locked.get() and not missed.exists():
            locked.update(is_back=False)
    ring(DELIVERIES)
    return True


def _is_missed() -> Q:
    lost = Q(status__in=[Delivery.Status.DEAD, Delivery.Status.CANCELLED], is_final=False)
    return lost & Q(family__in=SUPERSEDING)


def _queue_again(pk: int) -> None:
    fresh = {"status": Delivery.Status.PENDING, "reason": "", "attempts": 0, "is_retry": True, "due_at": Now()}
    try:
        with transaction.atomic():
            Delivery.objects.filter(_is_missed(), pk=pk).update(**fresh, fence=F("fence") + 1)
    except IntegrityError:  # a newer one is pending by now
        Delivery.objects.filter(_is_missed(), pk=pk).update(is_final=True)
