"""The state of a sensor at an earlier time, from its history: by the times of signals, as the chart has it."""

from dataclasses import dataclass

from django.utils import timezone

from config.common.times import parse_time, to_milliseconds
from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN, STATE_CHANGED
from sensors.history.queries import read_events
from sensors.history.store import get_store
from sensors.history.values import PastEvent, Period
from sensors.history.windows import first_kept

MOST_ENDINGS = 1000
"""Losses that were withdrawn are few: an older one than so many after it is taken for a loss."""


@dataclass(frozen=True)
class PastState:
    """What was known of a sensor; times in milliseconds."""

    value: int | None = None
    changed_at: int | None = None
    seen_at: int | None = None
    lost_at: int | None = None
    is_known: bool = True
    """Not where history does not reach back that far."""


def read_state_at(sensor_id: str, at: int) -> PastState:
    """Return the state of a sensor at a time; raise `HistoryAway` where history cannot be reached."""
    oldest = first_kept(timezone.now())
    if oldest is not None and at < to_milliseconds(oldest):
        return PastState(is_known=False)
    until = Period(None, at + 1)
    change = _last(sensor_id, until, STATE_CHANGED)
    newest = get_store().read_signals([sensor_id], until, limit=1)
    seen = [signal.received_at for signal in newest] or ([change.at] if change is not None else [])
    return PastState(
        value=None if change is None else int(change.payload["data"]),
        changed_at=None if change is None else change.at,
        # One that came late says when it was sent: it was not received before the time that is asked for.
        seen_at=min(at, max(seen)) if seen else None,
        lost_at=_lost_at(sensor_id, until, at),
    )


def _lost_at(sensor_id: str, until: Period, at: int) -> int | None:
    """Return when the connection was lost that was lost at a time; a loss that was withdrawn later does not count."""
    loss = _last(sensor_id, until, CONNECTION_LOST)
    if loss is None:
        return None
    endings = read_events([sensor_id], Period(loss.at, at + 1), types=[CONNECTION_RESTORED], limit=MOST_ENDINGS)
    endings += read_events([sensor_id], Period(loss.at), types=[LOSS_WITHDRAWN], limit=MOST_ENDINGS)
    is_over = any(to_milliseconds(parse_time(ending.payload["lost_at"])) == loss.at for ending in endings)
    return None if is_over else loss.at


def _last(sensor_id: str, until: Period, kind: str) -> PastEvent | None:
    return next(iter(read_events([sensor_id], until, types=[kind], limit=1)), None)
