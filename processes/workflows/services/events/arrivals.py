"""An event as processes see it, and how it gets to an instance that waits for it: once."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, connection, transaction

from notifications.models import Event
from processes.workflows.errors import InstanceNotFound, NotPossible
from processes.workflows.heads import Head, find_head
from processes.workflows.models import WorkflowVersion
from processes.workflows.services.execution import execute_command
from processes.workflows.services.open_work import section
from processes.workflows.services.planning import CUSTOM_PREFIX, CommandRequest
from processes.workflows.services.suspension import is_instance_suspended, is_owner_suspended

ACTOR = "event"
LONGEST_RECORD = 200

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
    """Who threw it."""
    is_signal: bool = False
    enterprise: str | None = None
    """Whose it is, where it is of one enterprise alone."""
    hops: int = 0
    """How long the chain of events, handlers and timers is that has led to it; nothing: it came from outside."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """What expressions may ask for."""

    @property
    def called(self) -> tuple[str, ...]:
        """The names that a process may know it by: of its own events the part after `custom.` will do."""
        return (
            (self.type, self.type.removeprefix(CUSTOM_PREFIX)) if self.type.startswith(CUSTOM_PREFIX) else (self.type,)
        )


def read_arrival(event: Event) -> Arrival:
    """Read an event of the outbox. The product's own are about their subject; others name their record themselves."""
    told: dict[str, Any] = event.payload
    is_own = event.type.startswith(CUSTOM_PREFIX)
    record = str(told.get("record") or "") if is_own else event.subject
    payload = told.get("payload") if is_own else told
    fields = payload if isinstance(payload, dict) else {}
    enterprise = told.get("enterprise")
    return Arrival(
        id=event.pk,
        position=event.position or 0,
        type=event.type,
        record=record[:LONGEST_RECORD],
        payload=payload,
        recorded_at=event.recorded_at,
        correlation_id=event.correlation_id,
        instance=str(told.get("instance") or "") if is_own else "",
        is_signal=is_own and told.get("kind") == "signal",
        hops=int(told.get("hops") or 0) if is_own else 0,
        enterprise=enterprise if isinstance(enterprise, str) else None,
        names={**fields, "payload": payload, "record": record, "type": event.type},
    )


class OfferOutcome(Enum):
    TAKEN = auto()
    NOT_WANTED = auto()
    """It was taken before, or nothing waits for it any more."""
    SUSPENDED = auto()


def offer_event(instance_id: UUID, order: CommandRequest) -> OfferOutcome:
    """Bring an event to an instance; its version and its key are one row, so a second time it is not taken."""
    try:
        # Inside of a transaction a key that is taken must not end it.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            execute_command(instance_id, order)
    except InstanceNotFound:
        return OfferOutcome.NOT_WANTED
    except NotPossible as refusal:
        head = find_head(instance_id)
        if head is not None and _waits_but_stands_still(head, order):
            return OfferOutcome.SUSPENDED
        log.info("workflows.event_not_wanted", instance=str(instance_id), reason=refusal.data.get("reason"))
        return OfferOutcome.NOT_WANTED
    except IntegrityError:
        if not WorkflowVersion.objects.filter(instance=instance_id, taken_key=order.taken_key).exists():
            raise
        return OfferOutcome.NOT_WANTED
    return OfferOutcome.TAKEN


def _waits_but_stands_still(head: Head, order: CommandRequest) -> bool:
    """Tell whether an event was refused because the instance, or what waits for it there, is suspended."""
    state: Mapping[str, Any] = head.state or {}
    waiting = section(state, "subscriptions").get(str(order.command.get("subscription")))
    if is_instance_suspended(state) or waiting is None:
        return is_instance_suspended(state)
    return is_owner_suspended(state, waiting["token"] or state["scopes"][waiting["scope"]]["token"])
