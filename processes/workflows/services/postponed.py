"""Take the events that came for instances while they were suspended, in the order in which they came."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from config.common.correlation import correlated
from config.common.database.leases import claim
from processes.workflows.models import PostponedEvent
from processes.workflows.services.events.arrivals import ACTOR, OfferOutcome, offer_event
from processes.workflows.services.planning import CommandRequest

BATCH = 50
LEASE = timedelta(seconds=30)


def take_postponed_events() -> bool:
    """Take what may be taken; return whether there may be more."""
    claimed = claim(PostponedEvent.objects.all(), limit=BATCH, lease=LEASE)
    for kept in claimed:
        with correlated(kept.correlation_id):
            _take(kept)
    return len(claimed) == BATCH


def _take(kept: PostponedEvent) -> None:
    order = CommandRequest(
        kept.command,
        actor=ACTOR,
        at=timezone.now(),
        cause=kept.cause,
        taken_key=kept.taken_key,
        position=kept.position,
    )
    outcome = offer_event(kept.instance_id, order)
    rows = PostponedEvent.objects.filter(pk=kept.pk, fence=kept.fence)
    with transaction.atomic():
        if outcome == OfferOutcome.SUSPENDED:
            rows.update(due_at=None, fence=F("fence") + 1)
        else:
            rows.delete()
