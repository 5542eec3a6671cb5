"""The messages of the live page: a snapshot of all parts, then what changed of them; a heartbeat while nothing does.

The first two have the same keys. In a delta a list holds the items that are new or have changed, an object the values
that have; what has ended is told once, with its end. A part that the reader may not see is always empty.
"""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from django.utils.translation import gettext, override

from config.common.web.json_codec import encode_json
from config.dashboard.live.admission import Audience
from config.dashboard.live.inbox import InboxRow, visible_rows
from config.dashboard.live.page_state import AlertRow, Parts
from config.version import VERSION


def snapshot(parts: Parts, audience: Audience, *, at: datetime) -> str:
    # A page that is left open for months reloads itself when a newer product speaks to it.
    whole = {"version": VERSION, "parts": sorted(audience.parts), **_visible(parts, audience)}
    return _encode({"type": "snapshot", "at": at, **whole})


def delta(changes: Parts, audience: Audience, *, at: datetime) -> str | None:
    """Return what this audience may see of the changes; nothing if that is nothing."""
    visible = _visible(changes, audience)
    return _encode({"type": "delta", "at": at, **visible}) if any(visible.values()) else None


def heartbeat(*, at: datetime) -> str:
    """Return the message that what was sent still holds at this time."""
    return _encode({"type": "heartbeat", "at": at})


def watching(audience: Audience, *, at: datetime) -> str:
    """Return the message that begins the watch of rows: what the page shows must be fetched anew, once."""
    with override(audience.language):
        words = {
            "live": gettext("live"),
            "again": gettext("reconnecting…"),
            "lost": gettext("connection lost, showing TIME"),
            "out": gettext("signed out: reload the page"),
        }
    return _encode({"type": "watching", "at": at, "zone": audience.zone, "words": words})


def touched(rows: Sequence[str], *, at: datetime) -> str:
    """Return the message that these rows have changed; an empty id stands for a new row."""
    return _encode({"type": "touched", "at": at, "rows": rows})


def compare(old: Parts, new: Parts) -> Parts:
    """Return what is new or has changed."""
    changes: dict[str, Any] = {}
    for part in fields(Parts):
        before, now = getattr(old, part.name), getattr(new, part.name)
        changes[part.name] = {key: value for key, value in now.items() if key not in before or before[key] != value}
    return Parts(**changes)


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
        "inbox": {
            part: [_inbox_row(row, audience.language) for row in rows]
            for part, rows in visible_rows(parts.inbox, may).items()
        },
        "beyond": {part: count for part, count in parts.beyond.items() if part in may},
        **{part: getattr(parts, part) if part in may else {} for part in ("workflows", "sessions", "changes")},
        "runtime": {name: value for name, value in parts.runtime.items() if name != "followers" or name in may},
    }


def _inbox_row(row: InboxRow, language: str) -> dict[str, Any]:
    return {
        "key": row.key,
        "kind": row.kind,
        "severity": row.level.code,
        "title": row.titles[language],
        "page": row.page,
        "since": row.since,
        "alert": row.alert,
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
