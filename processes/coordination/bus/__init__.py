"""The queues between the roles: RabbitMQ where there is one, else the memory of this process."""

from typing import Protocol

from django.conf import settings

from processes.coordination.protocol.messages import Message, OutgoingMessage


class Received(Protocol):
    @property
    def messages(self) -> list[Message]: ...

    def done(self) -> None:
        """Acknowledge the messages: they have taken effect, and their answers are sent."""

    def give_back(self) -> None:
        """Return the messages to the queue: they have not taken effect, through no fault of theirs."""


class Bus(Protocol):
    def send(self, messages: list[OutgoingMessage]) -> None:
        """Put messages into their queues; raise unless all of them have arrived there."""

    def receive(self, queue: str, *, most: int, wait: float) -> Received:
        """Take what lies in a queue; if there is nothing, wait so many seconds for it."""

    def close(self) -> None: ...


def open_bus() -> Bus:
    """Return a bus for one role: a connection of its own to the broker, or the queues of this process."""
    if settings.AMQP_URL:
        from processes.coordination.bus.amqp import AmqpBus

        return AmqpBus()
    from processes.coordination.bus.memory import bus

    return bus
