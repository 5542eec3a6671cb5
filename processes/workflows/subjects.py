"""What events, alerts and log entries about an instance have as their subject: `workflow/{id}`."""

from uuid import UUID

PREFIX = "workflow/"


def subject_of(instance_id: UUID | str) -> str:
    return f"{PREFIX}{instance_id}"
