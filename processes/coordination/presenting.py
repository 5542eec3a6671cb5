"""Events of coordination as REST shows them."""

from datetime import datetime
from typing import Any

from processes.coordination.reasons import say
from processes.coordination.selectors import EventView
from processes.coordination.transitions import BY_NUMBER


def present_event(view: EventView, *, at: datetime) -> dict[str, Any]:
    return {
        "id": view.event.pk,
        "type": view.type,
        "status": view.status.title,
        "payloads": {"total": view.event.payload_count, "processed": view.processed},
        "readers": [
            {
                "name": reader.name,
                "verdict": reader.verdict,
                "reason": say(reader.reason),
                "lag_seconds": round(reader.lag(view.event.date, at), 3),
            }
            for reader in view.readers
        ],
        "steps": [{"step": number, "at": moment} for number, moment in view.steps if number in BY_NUMBER],
        "correlation_id": view.event.correlation_id,
        "date": view.event.date,
        "reason": say(view.event.reason),
    }
