"""Hand the events to one follower: in order of position, each once, the position committed with the effects.

A follower is claimed by lease, so one reader works for it at a time and a late one is refused by the fence. When a
batch fails, the first event that fails is found by halving, and those before it are committed on the way: the position
then stands right before the culprit, which alone is paused for and tried again. At the tenth failure running it is
set aside as an incident and the rest goes on. A follower that waits (`FollowerWaits`, the database away) sets nothing
aside, however long it takes. A failing follower delays only itself: each has its own row, and its own loop in the
scheduler.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.database.batches import write_or_bisect
from config.common.database.leases import LeaseLost, claim, finish, holding, lease_clock
from config.common.database.sql import fetch_row
from config.common.text import clean_error
from notifications.errors import FollowerWaits
from notifications.followers import Following
from notifications.models import Event, Follower, Incident
from notifications.services.alerts import raise_alert
from notifications.sessions.themes import enqueue_incident_retry

LEASE = timedelta(seconds=60)
ATTEMPTS = 10
LONGEST_PAUSE = 60
INCIDENT = "follower.incident"
WAITS = (FollowerWaits, OperationalError, InterfaceError)
NOT_THEIR_FAULT = (LeaseLost, *WAITS)

log = structlog.get_logger()


@dataclass(frozen=True)
class _Culprit:
    """The first event of a batch that fails."""

    event: Event
    error: Exception


@dataclass
class _Held:
    """Until when the follower is claimed, by `lease_clock`."""

    until: float


def relay_once(following: Following) -> bool:
    """Hand over one batch; return whether there may be more."""
    if not _is_behind(following):
        return False
    claimed_at = lease_clock()
    claimed = claim(Follower.objects.filter(name=following.name), limit=1, lease=LEASE)
    if not claimed:
        return False
    follower = claimed[0]
    held = _Held(claimed_at + LEASE.total_seconds())
    limit = 1 if follower.failures else following.batch
    # After a failure the culprit stands next, and is tried alone.
    events = list(Event.objects.filter(position__gt=follower.position).order_by("position")[:limit])
    if not events:
        finish(follower, due_at=Now())
        return False
    try:
        culprit = _hand_over_until_one_fails(following, follower, events, held)
        if culprit is not None:
            return _record_failure(follower, culprit)
    except LeaseLost:
        log.warning("relay.overtaken", follower=following.name, position=follower.position)
        return False
    except WAITS as reason:
        log.warning("relay.waits", follower=follower.name, error=str(reason))
        finish(follower, due_at=Now() + timedelta(seconds=5), last_error=clean_error(reason, 2000))
        return False
    return len(events) == limit


def _is_behind(following: Following) -> bool:
    """Look without claiming: an idle follower costs one read."""
    row = fetch_row("notifications", "read_positions", [following.name])
    assert row is not None
    read, stamped = row
    if read is None:
        Follower.objects.get_or_create(name=following.name)
    return (stamped or 0) > (read or 0)


def _hand_over_until_one_fails(
    following: Following, follower: Follower, events: Sequence[Event], held: _Held
) -> _Culprit | None:
    """Hand over all events, or all before the first that fails; return that one, which has been tried alone.

    Halving hands over at most three times as many events as there are, wherever the culprit stands.
    """

    def write(part: Sequence[Event], is_last: bool) -> _Culprit | None:
        _hand_over(following, follower, part, held, is_last=is_last)
        return None

    def settle(event: Event, error: Exception, is_last: bool) -> _Culprit | None:
        return _Culprit(event, error)

    parts = write_or_bisect(events, write, settle, is_of_item=lambda error: not isinstance(error, NOT_THEIR_FAULT))
    return next((culprit for _, culprit in parts if culprit is not None), None)  # what is behind it has its own turn


def _hand_over(
    following: Following, follower: Follower, events: Sequence[Event], held: _Held, *, is_last: bool
) -> None:
    """Commit the position with the effects; where more events of the claim are to follow, hold on to it."""
    due_at = Now() if is_last else Now() + LEASE
    moved: dict[str, Any] = {"position": events[-1].position, "failures": 0, "last_error": "", "due_at": due_at}
    if following.outside:
        with holding(held.until):
            following.handle(events)
        renewed_at = lease_clock()
        finish(follower, **moved)
        held.until = renewed_at + LEASE.total_seconds()
        return
    with transaction.atomic():
        following.handle(events)
        finish(follower, **moved)


def _record_failure(follower: Follower, culprit: _Culprit) -> bool:
    """Count the failure; at the tenth set the event aside. Return whether to go on behind it at once."""
    event, error = culprit.event, culprit.error
    failures = follower.failures + 1
    log.error("relay.failed", follower=follower.name, position=event.position, failures=failures, exc_info=error)
    if failures < ATTEMPTS:
        pause = timedelta(seconds=min(2**failures, LONGEST_PAUSE))
        finish(follower, failures=failures, last_error=clean_error(error, 2000), due_at=Now() + pause)
        return False
    with transaction.atomic():
        _set_aside(follower, event, error=error)
        finish(follower, position=event.position, failures=0, last_error=clean_error(error, 2000), due_at=Now())
    return True


def _set_aside(follower: Follower, event: Event, *, error: Exception) -> None:
    assert event.position is not None
    incident = Incident.objects.create(
        follower=follower,
        position=event.position,
        type=event.type,
        subject=event.subject,
        event=event_as_json(event),
        error=clean_error(error, 2000),
    )
    enqueue_incident_retry(incident.pk)
    raise_alert(
        INCIDENT,
        follower_subject(follower.name),
        gettext_noop("%(follower)s could not process an event; it was set aside"),
        {"follower": follower.name, "event": event.type, "subject": event.subject, "error": clean_error(error, 300)},
    )


def follower_subject(name: str) -> str:
    return f"follower/{name}"


def event_as_json(event: Event) -> dict[str, object]:
    return {
        "id": event.pk,
        "type": event.type,
        "subject": event.subject,
        "payload": event.payload,
        "at": event.at.isoformat(),
        "recorded_at": event.recorded_at.isoformat(),
        "correlation_id": event.correlation_id,
        "position": event.position,
    }
