"""Endpoints that go and come back: what is pending is cancelled, and what is newest is queued again."""

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
SWITCHED_OFF = gettext_noop("%(receiver)s was switched off: %(reason)s")
ANSWERS = gettext_noop("the receiver answers again")
UNREACHABLE = "endpoint.unreachable"
NO_ANSWER = gettext_noop("%(receiver)s does not answer: its messages wait")


def raise_unreachable_alert(endpoint: Endpoint) -> None:
    """Tell staff that the breaker is open; every failure since is counted. The endpoint's row is locked by the caller.

    Until it closes nothing is given up, so without this alert a dead receiver would be silence for three days.
    """
    assert endpoint.opened_at is not None
    detail = {
        "receiver": name_receiver(endpoint.pk, endpoint.url),
        "url": endpoint.url,
        "since": format_time(endpoint.opened_at),
    }
    raise_alert(UNREACHABLE, endpoint_subject(endpoint.pk), NO_ANSWER, detail)


def name_receiver(endpoint_id: int, url: str) -> str:
    """Name whose an endpoint is as people know it; of one without an owner, its address."""
    owner = name_endpoints([endpoint_id]).get(endpoint_id)
    return url if owner is None else owner.text


def disable_endpoint(endpoint: Endpoint, reason: str) -> None:
    """Send nothing more to an endpoint, cancel what is pending, and tell staff. Its row is locked by the caller."""
    endpoint.active, endpoint.off_reason = False, reason
    endpoint.save(update_fields=["active", "off_reason"])
    cancel_deliveries([pk for pk, _, _ in lock_pending_deliveries(Q(endpoint=endpoint))], reason)
    detail = {"receiver": name_receiver(endpoint.pk, endpoint.url), "url": endpoint.url, "reason": reason}
    raise_alert("endpoint.disabled", endpoint_subject(endpoint.pk), SWITCHED_OFF, detail)
    close_unreachable_alert(endpoint.pk, gettext_noop("switched off: nothing waits any more"))


def close_unreachable_alert(endpoint_id: int, note: str) -> None:
    """Close the alert of an open breaker that has closed, or behind which nothing waits any more."""
    close_alert(UNREACHABLE, endpoint_subject(endpoint_id), note)


def reset_breaker(endpoint: Endpoint) -> None:
    """Begin anew with an endpoint that staff re-enabled or resumed. Its row is locked by the caller."""
    endpoint.failures, endpoint.off_reason = 0, ""
    endpoint.opened_at, endpoint.probe_at, endpoint.not_before = None, None, None
    endpoint.save(update_fields=["failures", "off_reason", "opened_at", "probe_at", "not_before"])
    close_alert("endpoint.disabled", endpoint_subject(endpoint.pk), gettext_noop("switched on again"))
    mark_reachable(endpoint)


def mark_reachable(endpoint: Endpoint) -> None:
    """Write down that an endpoint can be reached again: `return_once` queues what it missed. Locked by the caller."""
    endpoint.is_back = True
    endpoint.save(update_fields=["is_back"])
    # Operators are told at once of what their mailbox or telephone has missed.
    pending = Delivery.objects.filter(endpoint=endpoint, status=Delivery.Status.PENDING, under_way_until=None)
    pending.filter(family=Delivery.Family.ALERT, due_at__gt=Now()).update(due_at=Now())
    close_alert("deliveries.dead", endpoint_subject(endpoint.pk), ANSWERS)
    close_unreachable_alert(endpoint.pk, ANSWERS)
    ring(RETURNS)


def requeue_missed_once() -> bool:
    """Queue again, for one endpoint that is back, the newest dead or cancelled message of each subject and family.

    Row by row, each in a transaction of its own: whoever writes a newer message of the same key at this moment must
    never wait for us in a circle. A message that a newer one has followed is settled instead, once and for all.
    """
    endpoint = Endpoint.objects.filter(is_back=True, active=True).order_by("pk").first()
    if endpoint is None:
        return False
    with connection.cursor() as cursor:
        cursor.execute(load_sql("notifications", "settle_outdated"), [endpoint.pk])
    missed = Delivery.objects.filter(_missed(), endpoint=endpoint).order_by("-pk")
    for pk in list(missed.values_list("pk", flat=True)[:STEP]):
        _queue_again(pk)
    with transaction.atomic():
        # Whoever notes that it is back holds its row: what was missed until then is seen here.
        held = Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint.pk)
        if held.get() and not missed.exists():
            held.update(is_back=False)
    ring(DELIVERIES)
    return True


def _missed() -> Q:
    lost = Q(status__in=[Delivery.Status.DEAD, Delivery.Status.CANCELLED], is_final=False)
    return lost & Q(family__in=SUPERSEDING)


def _queue_again(pk: int) -> None:
    fresh = {"status": Delivery.Status.PENDING, "reason": "", "attempts": 0, "is_retry": True, "due_at": Now()}
    try:
        with transaction.atomic():
            Delivery.objects.filter(_missed(), pk=pk).update(**fresh, fence=F("fence") + 1)
    except IntegrityError:  # a newer one is pending by now
        Delivery.objects.filter(_missed(), pk=pk).update(is_final=True)
