"""The names of message files: time, id, sender, addressee and subsystem."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from messaging.models.message import Message
from messaging.models.parties import PARTY_ID

_NAME = re.compile(
    rf"(?P<at>[0-9]{{8}}T[0-9]{{9}}Z)_(?P<id>{PARTY_ID})_(?P<sender>{PARTY_ID})_(?P<to>{PARTY_ID})"
    rf"_(?P<subsystem>{PARTY_ID})\.json"
)


@dataclass(frozen=True)
class FileName:
    created_at: datetime
    id: str
    sender: str
    to: str
    subsystem: str

    def __str__(self) -> str:
        at = f"{self.created_at:%Y%m%dT%H%M%S}{self.created_at.microsecond // 1000:03d}Z"
        return f"{at}_{self.id}_{self.sender}_{self.to}_{self.subsystem}.json"


def parse_name(text: str) -> FileName | None:
    """Parse the name of a message file; return None for that of any other file."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    try:
        created_at = datetime.strptime(found["at"][:-4], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    name = FileName(
        created_at.replace(microsecond=int(found["at"][-4:-1]) * 1000),
        found["id"],
        found["sender"],
        found["to"],
        found["subsystem"],
    )
    return name if str(name) == text else None


def name_of(message: Message) -> str:
    sender, to = parties_of(message)
    return str(FileName(message.created_at.astimezone(UTC), message.public_id, sender, to, message.subsystem_id))


def parties_of(message: Message) -> tuple[str, str]:
    """Return the ids of the sender and of the addressee of a message."""
    if message.direction == Message.Direction.REQUEST:
        return message.device_id, message.database_id
    return message.database_id, message.device_id
