"""Rows of messages that no database need know."""

from datetime import UTC, datetime
from typing import Any

from messaging.files.envelope import size_of
from messaging.models import Message

AT = datetime(2026, 1, 31, 23, 59, 59, 123000, tzinfo=UTC)


def row(id: str = "m1", payload: bytes = b"{}", **fields: Any) -> Message:
    """Return a request of a device to a database, or with `direction` a reply."""
    values = {
        "enterprise_id": "acme",
        "public_id": id,
        "direction": "request",
        "database_id": "erp",
        "device_id": "phone",
        "subsystem_id": "sales",
        "created_at": AT,
        "correlation_id": "call-0001",
        "folder": "Messages",
        "status": "waiting",
    }
    message = Message(**{**values, **fields})
    message.size = size_of(message, payload)
    return message
