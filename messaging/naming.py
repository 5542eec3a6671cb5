"""What a message is called in events, alerts and the log: its id is unique within its enterprise alone."""

from messaging.models import Message


def subject_of(message: Message) -> str:
    return f"message/{message.enterprise_id}/{message.public_id}"
