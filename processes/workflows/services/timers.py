"""Fire the timers of instances when they are due."""

from datetime import timedelta

import structlog
from django.db.models import F
from django.utils import timezone

from config.common.correlation import correlated
from config.common.database.leases import claim
from processes.workflows.errors import InstanceNotFound, NotPossible
from processes.workflows.heads import find_head
from processes.workflows.models import WorkflowTimer
from processes.workflows.services.execution import execute_command
from processes.workflows.services.open_work import section
from processes.workflows.services.planning import CommandRequest

BATCH = 50
LEASE = timedelta(seconds=30)
ACTOR = "timer"

log = structlog.get_logger(__name__)


def fire_due_timers() -> bool:
    """Fire what is due, the longest due first; return whether there may be more.

    A timer is gone from the state that it has fired in, so a second one who holds it after the lease finds nothing.
    """
    claimed = claim(WorkflowTimer.objects.all(), limit=BATCH, lease=LEASE)
    for timer in claimed:
        with correlated():
            _fire(timer)
    return len(claimed) == BATCH


def _fire(timer: WorkflowTimer) -> None:
    order = CommandRequest({"command": "fire_timer", "timer": timer.local}, actor=ACTOR, at=timezone.now())
    try:
        execute_command(timer.instance_id, order)
    except (NotPossible, InstanceNotFound):
        _put_right(timer)
    except Exception:
        # A fault of ours in one instance must not keep the timers of the others: it is tried again after its lease.
        log.exception("workflows.timer_failed", instance=str(timer.instance_id), timer=timer.local)


def _put_right(timer: WorkflowTimer) -> None:
    """Make the row say what the state says: the timer has ended, or it is held."""
    head = find_head(timer.instance_id)
    rows = WorkflowTimer.objects.filter(pk=timer.pk, fence=timer.fence)
    if head is None or timer.local not in section(head.state or {}, "timers"):
        rows.delete()
    else:
        rows.update(due_at=None, fence=F("fence") + 1)
