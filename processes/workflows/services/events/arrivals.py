"""An outbox event as workflows see it, and how an instance takes it: once, also after a suspension."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from config.common.correlation import correlated, correlation_id
from config.common.database.leases import claim
from notifications.models import Event
from processes.workflows.engine.event_names import CUSTOM_PREFIX
from processes.workflows.errors import InstanceNotFound, NotPossible
from processes.workflows.heads import Head, find_head
from processes.workflows.models import PostponedEvent, WorkflowVersion
from processes.workflows.services.commands import execute_command
from processes.workflows.services.steps import CommandRequest
from processes.workflows.services.suspension import is_instance_suspended, is_owner_suspended
from processes.workflows.state_storage import section

ACTOR = "event"
LONGEST_RECORD = 200
BATCH = 50
LEASE = timedelta(seconds=30)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Arrival:
    id: int
    position: int
    type: str
    record: str
    payload: Any
    recorded_at: datetime
    correlation_id: str
    instance: str = ""
    """The instance that threw it, if one did."""
    is_signal: bool = False
    enterprise: str | None = None
    """The one enterprise whose definitions may see it; None: all may."""
    hops: int = 0
    """The length of the chain of events, handlers and timers that has led to it; 0: it came from outside."""
    generation: int = 0
    """How many events have led to one another until this one, whatever was waited for between them."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """What correlation and filter expressions may refer to."""

    @property
    def called(self) -> tuple[str, ...]:
        """The names under which elements may wait for it: a custom type also without its prefix."""
        if not self.type.startswith(CUSTOM_PREFIX):
            return (self.type,)
        return (self.type, self.type.removeprefix(CUSTOM_PREFIX))


def read_arrival(event: Event) -> Arrival:
    """Read an outbox event: the product's own are about their subject, custom ones name their record in the payload."""
    body: dict[str, Any] = event.payload
    is_custom = event.type.startswith(CUSTOM_PREFIX)
    record = str(body.get("record") or "") if is_custom else event.subject
    payload = body.get("payload") if is_custom else body
    fields = payload if isinstance(payload, dict) else {}
    enterprise = body.get("enterprise")
    return Arrival(
        id=event.pk,
        position=event.position or 0,
        type=event.type,
        record=record[:LONGEST_RECORD],
        payload=payload,
        recorded_at=event.recorded_at,
        correlation_id=event.correlation_id,
        instance=str(body.get("instance") or "") if is_custom else "",
        is_signal=is_custom and body.get("kind") == "signal",
        hops=int(body.get("hops") or 0) if is_custom else 0,
        generation=int(body.get("generation") or 0) if is_custom else 0,
        enterprise=enterprise if isinstance(enterprise, str) else None,
        names={**fields, "payload": payload, "record": record, "type": event.type},
    )


class OfferOutcome(Enum):
    TAKEN = auto()
    DECLINED = auto()
    """It was taken before, or the instance does not wait for it any more."""
    SUSPENDED = auto()


def offer_event(instance_id: UUID, request: CommandRequest) -> OfferOutcome:
    """Let an instance take an event; its version holds the event's key, so a second time it is declined."""
    try:
        # Inside a transaction, a key that is taken must not abort the whole of it.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            execute_command(instance_id, request)
    except InstanceNotFound:
        return OfferOutcome.DECLINED
    except NotPossible as refusal:
        head = find_head(instance_id)
        if head is not None and _is_suspended(head, request):
            return OfferOutcome.SUSPENDED
        log.info("workflows.event_not_wanted", instance=str(instance_id), reason=refusal.data.get("reason"))
        return OfferOutcome.DECLINED
    except IntegrityError:
        if not WorkflowVersion.objects.filter(instance=instance_id, taken_key=request.taken_key).exists():
            raise
        return OfferOutcome.DECLINED
    return OfferOutcome.TAKEN


def _is_suspended(head: Head, request: CommandRequest) -> bool:
    """Tell whether the instance, or the place in it that waits for the event, is suspended."""
    state: Mapping[str, Any] = head.state or {}
    subscription = section(state, "subscriptions").get(str(request.command.get("subscription")))
    if is_instance_suspended(state) or subscription is None:
        return is_instance_suspended(state)
    return is_owner_suspended(state, subscription["token"] or state["scopes"][subscription["scope"]]["token"])


def postpone_event(instance_id: UUID, request: CommandRequest) -> None:
    """Keep an event for a suspended instance until it is resumed; the same event again is already there."""
    postponed = PostponedEvent(
        instance_id=instance_id,
        taken_key=request.taken_key or "",
        command=dict(request.command),
        cause=request.cause[:200],
        position=request.position,
        correlation_id=correlation_id(),
    )
    PostponedEvent.objects.bulk_create([postponed], ignore_conflicts=True)


def take_postponed_events() -> bool:
    """Offer the postponed events of resumed instances in the order they came; return whether there may be more."""
    claimed = claim(PostponedEvent.objects.all(), limit=BATCH, lease=LEASE)
    for postponed in claimed:
        with correlated(postponed.correlation_id):
            _offer_postponed(postponed)
    return len(claimed) == BATCH


def _offer_postponed(postponed: PostponedEvent) -> None:
    request = CommandRequest(
        postponed.command,
        actor=ACTOR,
        at=timezone.now(),
        cause=postponed.cause,
        taken_key=postponed.taken_key,
        position=postponed.position,
    )
    outcome = offer_event(postponed.instance_id, request)
    rows = PostponedEvent.objects.filter(pk=postponed.pk, fence=postponed.fence)
    with transaction.atomic():
        if outcome == OfferOutcome.SUSPENDED:
            rows.update(due_at=None, fence=F("fence") + 1)
        else:
            rows.delete()
