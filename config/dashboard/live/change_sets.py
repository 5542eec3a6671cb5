"""The change sets of the live page: the newest, and how far each reader is behind."""

from typing import Any

from django.urls import reverse

from config.common.database.row_lists import Lists, Questions
from processes.coordination.models import AppEvent, WriterEvent
from processes.coordination.schema.routing import reader_names
from processes.coordination.selectors import shown_status, unended_of

MOST_CHANGE_SETS = 6


def ask_change_sets() -> Questions:
    """Return, for each reader, the query for the oldest event that it has not ended."""
    # By the column: by the relation it would be the order of the other table, newest first.
    return {
        f"oldest_{name}": unended_of(name).order_by("writer_event_id").values("writer_event__date")[:1]
        for name in reader_names()
    }


def read_change_sets(counts: dict[str, int], lists: Lists) -> dict[str, Any]:
    """Return the part `changes`."""
    return {
        "under_way": counts["under_way"],
        "failed": counts["compensations"],
        "readers": [_reader(name, counts, lists) for name in reader_names()],
        "newest": _newest(),
    }


def _reader(name: str, counts: dict[str, int], lists: Lists) -> dict[str, Any]:
    """Return how many events a reader has not ended, and when the oldest of them was made."""
    since = next((row["writer_event__date"] for row in lists[f"oldest_{name}"]), None)
    return {"key": name, "name": name, "waiting": counts[f"waiting_{name}"], "since": since}


def _newest() -> list[dict[str, Any]]:
    events = list(AppEvent.objects.defer("changes").order_by("-id")[:MOST_CHANGE_SETS])
    known = WriterEvent.objects.in_bulk([event.pk for event in events])
    return [
        {
            "key": event.pk,
            "type": f"type-{event.app_event_type_id}",
            "payloads": event.payload_count,
            "status": shown_status(event, known.get(event.pk)).name.lower(),
            "at": event.ended_at or event.date,
            "page": reverse("admin:coordination_appevent_change", args=[event.pk]),
        }
        for event in events
    ]
