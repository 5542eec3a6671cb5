"""Endpoints that go and come back: what is pending is cancelled, and what is newest is queued again."""

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.ring import ring
from config.common.sql import load
from notifications.models import Delivery, Endpoint
from notifications.services.alerts import heal, raise_alert
from notifications.services.deliveries import DELIVERIES, SUPERSEDING, cancel, lock_pending

RETURNS = "deliveries.returns"
STEP = 500
SWITCHED_OFF = gettext_noop("%(url)s was switched off: %(reason)s")


def subject_of(endpoint_id: int) -> str:
    return f"endpoint/{endpoint_id}"


def switch_off(endpoint: Endpoint, reason: str) -> None:
    """Send nothing more to an endpoint, cancel what is pending, and tell staff. Its row is locked by the caller."""
    endpoint.active, endpoint.off_reason = False, reason
    endpoint.save(update_fields=["active", "off_reason"])
    cancel([pk for pk, _, _ in lock_pending(Q(endpoint=endpoint))], reason)
    raise_alert("endpoint.disabled", subject_of(endpoint.pk), SWITCHED_OFF, {"url": endpoint.url, "reason": reason})


def welcome(endpoint: Endpoint) -> None:
    """Begin anew with an endpoint that staff re-enabled or resumed. Its row is locked by the caller."""
    endpoint.failures, endpoint.off_reason = 0, ""
    endpoint.opened_at, endpoint.probe_at, endpoint.not_before = None, None, None
    endpoint.save(update_fields=["failures", "off_reason", "opened_at", "probe_at", "not_before"])
    heal("endpoint.disabled", subject_of(endpoint.pk), gettext_noop("switched on again"))
    note_back(endpoint)


def note_back(endpoint: Endpoint) -> None:
    """Write down that an endpoint can be reached again: `return_once` queues what it missed. Locked by the caller."""
    endpoint.is_back = True
    endpoint.save(update_fields=["is_back"])
    heal("deliveries.dead", subject_of(endpoint.pk), gettext_noop("the receiver answers again"))
    ring(RETURNS)


def return_once() -> bool:
    """Queue again, for one endpoint that is back, the newest dead or cancelled message of each subject and family.

    Row by row, each in a transaction of its own: whoever writes a newer message of the same key at this moment must
    never wait for us in a circle. A message that a newer one has followed is settled instead, once and for all.
    """
    endpoint = Endpoint.objects.filter(is_back=True, active=True).order_by("pk").first()
    if endpoint is None:
        return False
    with connection.cursor() as cursor:
        cursor.execute(load("notifications", "settle_outdated"), [endpoint.pk])
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
