"""Escalate alerts: notify the rungs of the ladder whose time has come, until somebody acknowledges.

An alert is claimed by lease, and its next rung is written under its fence together with the messages: of two processes
one notifies a rung, and an acknowledgement that comes between the claim and that write wins.
"""

from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models.functions import Now

from config.common.database.leases import LeaseLost, claim, finish
from notifications.models import Alert
from notifications.services.alert_messages import RAISED, enqueue_alert_messages
from notifications.services.ladder import ensure_endpoints, lock_active_rungs

LEASE = timedelta(seconds=60)
BATCH = 50
NOBODY_YET = timedelta(minutes=5)
"""How often an alert looks again for recipients, as long as the rungs that are due name nobody."""

log = structlog.get_logger(__name__)


def escalate_once() -> bool:
    """Notify the rungs that are due; return whether there were any. An idle look costs one read."""
    if not Alert.objects.filter(due_at__lte=Now()).exists():
        return False
    claimed = claim(Alert.objects.filter(status=Alert.Status.OPEN), limit=BATCH, lease=LEASE)
    for alert in claimed:
        try:
            with transaction.atomic():
                _escalate(alert)
        except LeaseLost:
            log.info("alert.overtaken", alert=alert.pk)
    return bool(claimed)


def _escalate(alert: Alert) -> None:
    """Notify what is due and set the time of the next rung. Rungs, endpoints and the alert are locked in this order."""
    assert alert.due_at is not None
    now = alert.due_at - LEASE  # the database's time of the claim
    rungs = lock_active_rungs(after=alert.told_after)
    if alert.muted_until is not None and now < alert.muted_until:
        finish(alert, due_at=alert.muted_until if rungs else None)
        return
    reached = [rung for rung in rungs if alert.first_at + timedelta(seconds=rung.after_seconds) <= now]
    endpoints = ensure_endpoints(reached)
    rest = rungs[len(reached) :]
    due_at = alert.first_at + timedelta(seconds=rest[0].after_seconds) if rest else None
    if reached and not endpoints:
        # These rungs do not count as notified: whoever gets an address meanwhile is still notified by them.
        log.warning("alert.nobody_to_tell", alert=alert.pk, rungs=[str(rung) for rung in reached])
        finish(alert, due_at=now + NOBODY_YET if due_at is None else min(due_at, now + NOBODY_YET))
        return
    finish(alert, told_after=reached[-1].after_seconds if reached else alert.told_after, due_at=due_at)
    enqueue_alert_messages(alert, RAISED, endpoints)
