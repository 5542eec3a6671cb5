"""Heartbeats of the roles, and the clock of the deadlines, which advances only while every role sends them."""

from datetime import datetime, timedelta

from processes.coordination.models import CoordinatorState, RoleLife
from processes.coordination.protocol.messages import Message, OutgoingMessage
from processes.coordination.schema.routing import reader_names

HEARTBEAT_EVERY = timedelta(seconds=5)
"""How often a role sends a heartbeat."""
HEARTBEAT_VALID_FOR = timedelta(seconds=15)
"""How long a role counts as alive after one."""
TICK = timedelta(seconds=1)
LONGEST_TICK = timedelta(seconds=3)
"""A coordinator that was away itself counts no more than this."""


def record_heartbeats(messages: list[Message], at: datetime) -> list[OutgoingMessage]:
    RoleLife.objects.bulk_create(
        (RoleLife(name=name, seen_at=at) for name in sorted({message.role for message in messages})),
        update_conflicts=True,
        update_fields=["seen_at"],
        unique_fields=["name"],
    )
    return []


def advance_clock(state: CoordinatorState, *, at: datetime) -> None:
    """Add the time since the last call to the clock if all roles were alive in it."""
    if state.ticked_at is not None and at - state.ticked_at < TICK and at >= state.ticked_at:
        return
    passed = timedelta(0) if state.ticked_at is None else min(max(at - state.ticked_at, timedelta(0)), LONGEST_TICK)
    roles = {"writer", *(f"reader/{name}" for name in reader_names())}
    alive = RoleLife.objects.filter(name__in=roles, seen_at__gt=at - HEARTBEAT_VALID_FOR).count()
    if alive == len(roles):
        state.clock += passed.total_seconds()
    state.ticked_at = at
    state.save(update_fields=["clock", "ticked_at"])
