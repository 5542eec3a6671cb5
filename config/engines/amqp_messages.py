"""A message of RabbitMQ as our consumers see it: any bytes in its properties have become text that can be kept."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pika.spec import BasicProperties
from prometheus_client import Counter

from config.common.text import clean_text

REJECTED = Counter("postern_amqp_rejected", "Messages that could not be used", ["queue"])

_KEPT = ("content_type", "correlation_id", "reply_to", "message_id", "type", "app_id")


@dataclass(frozen=True, eq=False)
class AmqpMessage:
    """One message of a queue, with what its properties say; headers are none of ours and are left out."""

    queue: str
    body: bytes
    properties: dict[str, str | int]
    was_delivered: bool
    """Somebody had it before and did not acknowledge it: it may be what that one died of."""
    tag: int = 0

    @cached_property
    def digest(self) -> str:
        """Name the message by what is in it: the broker gives it no name that survives a redelivery."""
        said = "\x1f".join(f"{name}={self.properties[name]}" for name in sorted(self.properties))
        return hashlib.sha256(said.encode() + b"\x1e" + self.body).hexdigest()

    def text(self, name: str) -> str:
        """Return a property of text; empty where the message has none."""
        return str(self.properties.get(name, ""))


def read_message(queue: str, method: Any, properties: BasicProperties, body: bytes) -> AmqpMessage:
    """Read what pika hands out for a delivery or an answer to `basic_get`."""
    kept: dict[str, str | int] = {}
    for name in _KEPT:
        text = property_text(getattr(properties, name))
        if text:
            kept[name] = text
    if properties.timestamp is not None:
        kept["timestamp"] = properties.timestamp
    return AmqpMessage(queue, body, kept, bool(method.redelivered), method.delivery_tag or 0)


def property_text(value: str | bytes | None) -> str:
    r"""Return a property as text that can be kept: bytes that are no text, and NUL, are written as `\x00`.

    They are escaped, not replaced: two ids that differ stay different, and neither is taken for the other's repeat.
    """
    if not value:
        return ""
    if type(value) is str and value.isprintable():
        return value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return clean_text(value.replace("\x00", r"\x00"))


def properties_of(kept: dict[str, str | int]) -> BasicProperties:
    """Return the properties for sending a kept message once more; what escaping made too long is left out."""
    fitting = {name: value for name, value in kept.items() if len(str(value).encode()) <= 255}
    return BasicProperties(delivery_mode=2, **fitting)
