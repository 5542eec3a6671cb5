"""Let effects leave: webhooks, alerts and messages, after the commit of the version that has them.

Each leaves in the transaction that marks its row, under the fence of its lease: it leaves once, and one that a return
has cancelled meanwhile does not leave at all. What is refused for its contents is an incident.
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
from processes.workflows.services.effect_alerts import dispatch_alert
from processes.workflows.services.effect_webhooks import dispatch_webhook
from processes.workflows.services.effects.handlers import dispatch_message
from processes.workflows.services.incidents import EFFECT, record_incident
from processes.workflows.services.refusals import EffectRefused

BATCH = 50
LEASE = timedelta(seconds=30)
DISPATCH_EFFECT = "leave"
"""What the incident of an effect holds in the place of a command."""

log = structlog.get_logger(__name__)

_WAYS: dict[str, Callable[[WorkflowEffect, WorkflowInstance, dict[str, Any]], None]] = {
    WorkflowEffect.Kind.WEBHOOK: dispatch_webhook,
    WorkflowEffect.Kind.ALERT: dispatch_alert,
    WorkflowEffect.Kind.MESSAGE: dispatch_message,
}


def dispatch_due_effects() -> bool:
    """Let what waits leave; return whether there may be more."""
    waiting = WorkflowEffect.objects.filter(status=WorkflowEffect.Status.WAITING)
    claimed = claim(waiting, limit=BATCH, lease=LEASE)
    for effect in claimed:
        with correlated(effect.correlation_id):
            _leave(effect)
    return len(claimed) == BATCH


def _leave(effect: WorkflowEffect) -> None:
    instance = WorkflowInstance.objects.select_related("definition").get(pk=effect.instance_id)
    try:
        _WAYS[effect.kind](effect, instance, msgspec.json.decode(effect.inputs))
    except LeaseLost:
        log.info("workflows.effect_overtaken", effect=effect.pk)
    except EffectRefused as refusal:
        _refuse(effect, str(refusal))
    except Exception:
        # What failed for no fault of its own is tried again after its lease, and keeps no other one.
        log.exception("workflows.effect_failed", effect=effect.pk, kind=effect.kind)


def _refuse(effect: WorkflowEffect, reason: str) -> None:
    with transaction.atomic():
        instance = WorkflowInstance.objects.select_for_update(no_key=True).get(pk=effect.instance_id)
        try:
            finish(effect, status=WorkflowEffect.Status.REFUSED, due_at=None)
        except LeaseLost:
            return
        command = {"command": DISPATCH_EFFECT, "effect": effect.local}
        at = timezone.now()
        record_incident(instance, f"{EFFECT}{effect.local}", command, element=effect.element, reason=reason, at=at)
