"""Signals and events of the past, for the tests."""

from typing import Any

from notifications.sending.outcomes import ATTEMPTED
from sensors.events import STATE_CHANGED
from sensors.history.values import PastEvent
from sensors.ingest.signals import Signal

NOON = 1_700_000_000_000
MINUTE = 60_000
DAY = 24 * 60 * MINUTE


def signal(n: int = 0, *, sensor: str = "0xA", id: str = "", data: int | None = None, **fields: int) -> Signal:
    """The n-th signal of a sensor, a minute and a millisecond after the one before."""
    at = fields.get("at", NOON + n * (MINUTE + 1))
    return Signal(sensor, at, id or f"id-{n:05d}", n % 2 if data is None else data, fields.get("received_at", at + 7))


def event(n: int = 0, *, sensor: str = "0xA", type: str = STATE_CHANGED, **fields: Any) -> PastEvent:
    """The n-th event, that of the n-th signal."""
    at = fields.pop("at", NOON + n * (MINUTE + 1))
    payload = {"sensor_id": sensor, "address": "1 Gate Street, “Süd”", **fields.pop("payload", {})}
    if type == STATE_CHANGED:
        payload = {"data": n % 2, "previous": None, "signal_id": f"id-{n:05d}", **payload}
    return PastEvent(fields.pop("id", n + 1), type, sensor, at, at + 9, f"chain-{n}", payload)


def attempt(n: int = 0, *, sensor: str = "0xA", **fields: Any) -> PastEvent:
    """The n-th attempt to tell of a sensor, as history keeps it."""
    at = fields.pop("at", NOON + n * (MINUTE + 1))
    payload = {
        "delivery": 7,
        "endpoint": 3,
        "type": STATE_CHANGED,
        "attempt": n + 1,
        "url": "https://watch.example/hook",
        "status": 503 if n % 2 else None,
        "duration_ms": 12,
        "error": "" if n % 2 else "connection refused",
        "became": "pending",
    }
    return PastEvent(n + 1, ATTEMPTED, sensor, at, at + 9, f"chain-{n}", payload)
