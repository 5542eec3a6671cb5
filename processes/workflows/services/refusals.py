"""How an effect is marked as left, and what keeps one from leaving for good."""

from django.db.models.functions import Now

from config.common.database.leases import finish
from processes.workflows.models import WorkflowEffect


class EffectRefused(Exception):
    """The effect cannot leave as it is; somebody must look at it."""


def mark_dispatched(effect: WorkflowEffect) -> None:
    """Mark an effect in the transaction in which it leaves; raise `LeaseLost` if it has left or is cancelled."""
    finish(effect, status=WorkflowEffect.Status.LEFT, left_at=Now(), due_at=None)
