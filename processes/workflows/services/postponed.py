"""Take the events that came for instances while they were suspended, in the order in which they came."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from config.common.correlation import correlated
from config.common.database.leases import claim
from processes.workflows.models import PostponedEvent
from processes.workflows.services.arrivals import ACTOR, Delivered, deliver
from processes.workflows.services.planning import Order

BATCH = 50
LEASE = timedelta(seconds=30)


def take_postponed_once() -> bool:
    """Take what may be taken; return whether there may be more."""
    claimed = claim(PostponedEvent.objects.all(), limit=BATCH, lease=LEASE)
    for kept in claimed:
        with correlated(kept.correlation_id):
            _take(kept)
    return len(claimed) == BATCH


def _take(kept: PostponedEvent) -> None:
    order = Order(
        kept.command,
        actor=ACTOR,
        at=timezone.now(),
        cause=kept.cause,
        taken_key=kept.taken_key,
        position=kept.position,
    )
    outcome = deliver(kept.instance_id, order)
    rows = PostponedEvent.objects.filter(pk=kept.pk, fence=kept.fence)
    with transaction.atomic():
        if outcome == Delivered.SUSPENDED:
            rows.update(due_at=None, fence=F("fence") + 1)
        else:
            rows.delete()
