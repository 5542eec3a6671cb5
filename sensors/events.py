"""The events of a sensor: the fold finds three of them in signals, the sweeps two in what did not come.

Times are whole milliseconds since 1970.
"""

from dataclasses import dataclass
from typing import TypeAlias

STATE_CHANGED = "sensor.state_changed"
CONNECTION_LOST = "sensor.connection_lost"
CONNECTION_RESTORED = "sensor.connection_restored"
LOSS_WITHDRAWN = "sensor.loss_withdrawn"
LEFT_OPEN = "sensor.left_open"
EVENT_TYPES = (STATE_CHANGED, CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN, LEFT_OPEN)


@dataclass(frozen=True, slots=True)
class StateChanged:
    sensor_id: str
    at: int
    signal_id: str
    data: int
    previous: int | None
    correlation_id: str = ""


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """Silence past the deadline."""

    sensor_id: str
    at: int
    last_seen_at: int
    correlation_id: str = ""


@dataclass(frozen=True, slots=True)
class ConnectionRestored:
    sensor_id: str
    at: int
    data: int
    lost_at: int
    downtime_seconds: int
    correlation_id: str = ""


@dataclass(frozen=True, slots=True)
class LossWithdrawn:
    """A signal from before the deadline came late: the connection had never been lost."""

    sensor_id: str
    at: int
    lost_at: int
    correlation_id: str = ""


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """The door is still open when its limit is reached."""

    sensor_id: str
    at: int
    opened_at: int
    limit_seconds: int
    correlation_id: str = ""


SignalEvent: TypeAlias = StateChanged | ConnectionRestored | LossWithdrawn
"""What one signal can cause."""
SensorEvent: TypeAlias = SignalEvent | ConnectionLost | LeftOpen
