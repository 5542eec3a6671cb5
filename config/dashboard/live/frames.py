"""The messages of the live page: a snapshot of all parts, then what changed of them; a heartbeat while nothing does.

The first two have the same keys. In a delta a list holds the items that are new or have changed, an object the values
that have; what has ended is told once, with its end. A part that the reader may not see is always empty.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from config.common.web.json_codec import encode_json
from config.dashboard.live.admission import Audience
from config.dashboard.live.page_state import AlertRow, Parts

K = TypeVar("K")
V = TypeVar("V")


def snapshot(parts: Parts, audience: Audience, *, at: datetime) -> str:
    return _encode({"type": "snapshot", "at": at, **_visible(parts, audience)})


def delta(changes: Parts, audience: Audience, *, at: datetime) -> str | None:
    """Return what this audience may see of the changes; nothing if that is nothing."""
    visible = _visible(changes, audience)
    return _encode({"type": "delta", "at": at, **visible}) if any(visible.values()) else None


def heartbeat(*, at: datetime) -> str:
    """Return the message that what was sent still holds at this time."""
    return _encode({"type": "heartbeat", "at": at})


def compare(old: Parts, new: Parts) -> Parts:
    """Return what is new or has changed."""
    return Parts(
        processes=_changed(old.processes, new.processes),
        sensors=_changed(old.sensors, new.sensors),
        deliveries=_changed(old.deliveries, new.deliveries),
        alerts=_changed(old.alerts, new.alerts),
        engines=_changed(old.engines, new.engines),
    )


def _changed(old: Mapping[K, V], new: Mapping[K, V]) -> dict[K, V]:
    return {key: value for key, value in new.items() if key not in old or old[key] != value}


def _visible(parts: Parts, audience: Audience) -> dict[str, Any]:
    may = audience.parts
    return {
        "processes": [{**vars(row), "id": str(row.id)} for row in parts.processes.values()]
        if "processes" in may
        else [],
        "sensors": parts.sensors if "sensors" in may else {},
        "deliveries": parts.deliveries if "deliveries" in may else {},
        "alerts": [_alert(row, audience.language) for row in parts.alerts.values()] if "alerts" in may else [],
        "engines": parts.engines if "engines" in may else {},
    }


def _alert(row: AlertRow, language: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "title": row.titles[language],
        "status": row.status,
        "last_at": row.last_at,
    }


def _encode(frame: dict[str, Any]) -> str:
    return encode_json(frame).decode()
