"""Dispatch effects: webhooks, alerts and messages, after the commit of the version that has them.

Each is dispatched in the transaction that marks its row, under the fence of its lease: it happens once, and not at all
if a return has cancelled it meanwhile. One that is refused for its contents becomes an incident.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import structlog
from django.db import transaction
from django.utils import timezone

from config.common.correlation import correlated
from config.common.database.leases import LeaseLost, claim, finish
from processes.workflows.models import WorkflowEffect, WorkflowInstance
from processes.workflows.services.effects.handlers import (
    EffectRefused,
    dispatch_alert,
    dispatch_message,
    dispatch_webhook,
)
from processes.workflows.services.incidents import DISPATCH_EFFECT, EFFECT, record_incident

BATCH = 50
LEASE = timedelta(seconds=30)

log = structlog.get_logger(__name__)

_HANDLERS: dict[str, Callable[[WorkflowEffect, WorkflowInstance, dict[str, Any]], None]] = {
    WorkflowEffect.Kind.WEBHOOK: dispatch_webhook,
    WorkflowEffect.Kind.ALERT: dispatch_alert,
    WorkflowEffect.Kind.MESSAGE: dispatch_message,
}


def dispatch_due_effects() -> bool:
    """Dispatch the effects that are due; return whether there may be more."""
    waiting = WorkflowEffect.objects.filter(status=WorkflowEffect.Status.WAITING)
    claimed = claim(waiting, limit=BATCH, lease=LEASE)
    for effect in claimed:
        with correlated(effect.correlation_id):
            _dispatch(effect)
    return len(claimed) == BATCH


def _dispatch(effect: WorkflowEffect) -> None:
    instance = WorkflowInstance.objects.select_related("definition").get(pk=effect.instance_id)
    try:
        _HANDLERS[effect.kind](effect, instance, msgspec.json.decode(effect.inputs))
    except LeaseLost:
        log.info("workflows.effect_overtaken", effect=effect.pk)
    except EffectRefused as refusal:
        _refuse(effect, str(refusal))
    except Exception:
        # A failure that is not of its contents: it is tried again after its lease, and holds up no other effect.
        log.exception("workflows.effect_failed", effect=effect.pk, kind=effect.kind)


def _refuse(effect: WorkflowEffect, reason: str) -> None:
    with transaction.atomic():
        # The instance before the effect, as a return locks them.
        instance = WorkflowInstance.objects.select_for_update(no_key=True).get(pk=effect.instance_id)
        try:
            finish(effect, status=WorkflowEffect.Status.REFUSED, due_at=None)
        except LeaseLost:
            return
        command = {"command": DISPATCH_EFFECT, "effect": effect.local}
        at = timezone.now()
        record_incident(instance, f"{EFFECT}{effect.local}", command, element=effect.element, reason=reason, at=at)
