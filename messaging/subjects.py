"""What a message is called in events, alerts and the log: its id is unique within its enterprise alone."""

from messaging.models import Message

PREFIX = "message/"


def subject_of(message: Message) -> str:
    return f"{PREFIX}{message.enterprise_id}/{message.public_id}"
