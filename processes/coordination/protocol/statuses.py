"""The document's statuses by its numbers, with those that it forgot: payload 4, event 12 and 13 and, ours, 14."""

from enum import IntEnum


class EventStatus(IntEnum):
    CREATED = 1
    SAVING = 2
    SAVED = 3
    ACTIVATED = 5
    PREPARING = 6
    PREPARED = 7
    COMMITTING = 8
    COMMITTED = 9
    CANCELING = 10
    CANCELED = 11
    PROCESSING = 12
    PROCESSED = 13
    COMPENSATION_FAILED = 14

    @property
    def title(self) -> str:
        """As the document writes it."""
        return _title(self.name)


class PayloadStatus(IntEnum):
    CREATED = 1
    PREPARED = 2
    PROCESSED = 3
    SAVED = 4

    @property
    def title(self) -> str:
        return _title(self.name)


FINAL = (EventStatus.COMMITTED, EventStatus.CANCELED)
"""Of the Coordinator and of a Reader; on the Writer a compensation that failed waits for a person."""
UNDECIDED = (
    EventStatus.ACTIVATED,
    EventStatus.PREPARING,
    EventStatus.PREPARED,
    EventStatus.PROCESSING,
    EventStatus.PROCESSED,
)
"""Under way at the readers, and may still be committed or cancelled."""


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


BY_TITLE = {status.title: status for status in EventStatus}
