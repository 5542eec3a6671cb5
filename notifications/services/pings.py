"""Ping an endpoint: a delivery of one attempt, made while the caller waits. Its row is written before the attempt."""

import asyncio
from typing import TYPE_CHECKING

import msgspec
from django.db.models.functions import Now
from django.utils import timezone

from config.common.correlation import correlation_id
from config.common.ids import new_id
from config.common.times import format_time
from notifications.errors import ClientInactive, PingUnderWay
from notifications.models import Attempt, Delivery, Endpoint
from notifications.sending.claims import LEASE, Claim
from notifications.sending.secret_rotation import find_old_secret

if TYPE_CHECKING:
    from notifications.sending.webhook import Answer

TYPE = "ping"


def begin_ping(endpoint_id: int) -> int:
    """Write the row of a ping, claimed already; return its id. If the caller dies, a sender attempts it."""
    if not Endpoint.objects.filter(pk=endpoint_id, active=True).exists():
        raise ClientInactive
    body = {"version": 1, "type": TYPE, "at": format_time(timezone.now())}
    # Claimed from the start: no sender takes it while the caller makes the attempt.
    row = Delivery.objects.create(
        endpoint_id=endpoint_id,
        type=TYPE,
        family=Delivery.Family.PING,
        body=body,
        attempts=1,
        attempts_made=1,
        is_retry=True,
        due_at=Now() + LEASE,
        under_way_until=Now() + LEASE,
        fence=1,
        correlation_id=correlation_id(),
        message_id=new_id(),
    )
    return row.pk


def finish_ping(ping_id: int, *, is_new: bool) -> Attempt:
    """Attempt a ping that is new; return its attempt, or the earlier one if the call is repeated."""
    if is_new:
        _attempt(ping_id)
    made = Attempt.objects.filter(delivery=ping_id).order_by("pk").first()
    if made is None:
        raise PingUnderWay
    return made


def _attempt(ping_id: int) -> None:
    # Only a process that sends needs the HTTP client, which takes a third of a second to import.
    from notifications.sending.outcomes import Outcome, record_outcomes

    claim = _build_claim(Delivery.objects.select_related("endpoint").get(pk=ping_id))
    at = timezone.now()
    answer = asyncio.run(_send(claim))
    record_outcomes([Outcome(claim, at, answer)])


def _build_claim(ping: Delivery) -> Claim:
    endpoint = ping.endpoint
    return Claim(
        id=ping.pk,
        fence=ping.fence,
        endpoint_id=endpoint.pk,
        type=ping.type,
        family=ping.family,
        subject=ping.subject,
        body=msgspec.json.encode(ping.body).decode(),
        attempts=ping.attempts,
        superseded_by_id=None,
        correlation_id=ping.correlation_id,
        is_probe=False,
        url=endpoint.url,
        secret=bytes(endpoint.secret),
        old_secret=find_old_secret(endpoint, at=timezone.now()),
        was_failing=endpoint.failures > 0 or endpoint.opened_at is not None,
        number=ping.attempts_made,
        message_id=ping.message_id,
    )


async def _send(claim: Claim) -> "Answer":
    from notifications.sending.transport import open_http_sessions, send

    sessions = open_http_sessions()
    try:
        return await send(sessions, claim)
    finally:
        await sessions.close()
