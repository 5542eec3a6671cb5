"""The four events of a sensor. The fold finds three of them in signals, the heartbeat's sweep the fourth in silence.

Times are whole milliseconds since 1970.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class StateChanged:
    sensor_id: str
    at: int
    signal_id: str
    data: int
    previous: int | None
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
    sensor_id: str
    at: int
    lost_at: int
    correlation_id: str = ""


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """Silence past the deadline, found by the sweep."""

    sensor_id: str
    at: int
    last_seen_at: int
    correlation_id: str = ""


SignalEvent: TypeAlias = StateChanged | ConnectionRestored | LossWithdrawn
"""What one signal can cause."""
SensorEvent: TypeAlias = SignalEvent | ConnectionLost
