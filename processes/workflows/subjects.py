"""What events, alerts and log entries about an instance have as their subject: `workflow/{id}`."""

from uuid import UUID

PREFIX = "workflow/"


def say_record(record: str) -> str:
    """Return what an instance is about as people know it: where that is a subject, without the word for its kind."""
    kind, slash, name = record.partition("/")
    return name if slash and name and kind.isalpha() else record


def subject_of(instance_id: UUID | str) -> str:
    return f"{PREFIX}{instance_id}"
