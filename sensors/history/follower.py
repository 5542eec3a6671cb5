"""Copy the events of sensors, and the attempts to deliver them, into history: there they outlive the outbox."""

import time
from collections.abc import Sequence

from notifications.errors import FollowerWaits
from notifications.followers import Following
from notifications.models import Event
from sensors.history.errors import HistoryAway
from sensors.history.store import get_store
from sensors.history.values import belongs_to_history, to_past_event

NAME = "history"
BATCH = 5000
SMALL = 1000
"""Batches below it wait for more events."""

_last_insert = float("-inf")


def copy_events(events: Sequence[Event]) -> None:
    """Add events to history; a second time changes nothing, because each is known by its id."""
    past = [to_past_event(event) for event in events if belongs_to_history(event)]
    if not past:
        return
    if len(past) < SMALL:
        _wait_after_last_insert(get_store().seconds_between_inserts)
    try:
        get_store().add_events(past)
    except HistoryAway as error:
        raise FollowerWaits(str(error)) from error


def _wait_after_last_insert(seconds: float) -> None:
    """Wait until so long after the last insert: more events gather meanwhile, for an engine that wants few inserts."""
    global _last_insert
    time.sleep(max(0.0, _last_insert + seconds - time.monotonic()))
    _last_insert = time.monotonic()


FOLLOWING = Following(name=NAME, handle=copy_events, outside=True, batch=BATCH)
