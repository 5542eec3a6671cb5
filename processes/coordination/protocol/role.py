"""The base of the three roles: a turn receives messages, acts upon what is due, and publishes rows.

Messages are acknowledged after their effect is committed and their answers are sent. A row that others must hear of is
not published (`is_published`) until its message has been sent. So a crash anywhere leads to a repeat, and every step
is safe to repeat.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop
from prometheus_client import Counter

from notifications.services.alerts import raise_alert
from processes.coordination.bus import Bus
from processes.coordination.models.shared import EventRow
from processes.coordination.protocol.database_errors import FailureKind, classify_error, describe_error
from processes.coordination.protocol.messages import Message, MessageType, OutgoingMessage
from processes.coordination.protocol.transitions import SELF_DRIVEN, RoleKind
from processes.coordination.subjects import subject_of

BATCH = 500
"""Messages of one turn, and rows that one turn publishes."""

log = structlog.get_logger(__name__)
DROPPED = "coordination.dropped"
DROPPED_OF_EVENT = gettext_noop(
    "Change set %(event)s may be stuck: role %(role)s cannot process its message %(message)s: %(reason)s"
)
DROPPED_OF_NONE = gettext_noop("The coordination role %(role)s cannot process the message %(message)s: %(reason)s")
MESSAGES_DROPPED = Counter("postern_coordination_dropped", "Messages that a role could not process", ["role"])
Handler = Callable[[list[Message], datetime], list[OutgoingMessage]]


class Role:
    """One participant, for one thread; two of the same kind take turns by the lock of their state."""

    name: str
    queue: str
    alias: str
    """The database that its state is in."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.continues = False
        """Whether the last turn has made something due that needs no message; `act` and `publish` set it."""

    def run_once(self, wait: float = 0.0) -> bool:
        """Take one turn; return whether there was something to do."""
        # Behind a turn that continues nobody waits for a message. Behind any other the next thing to happen is a
        # message, and looking for work before it comes would only delay it.
        received = self._receive(0.0 if self.continues else wait)
        self.continues = False
        at = timezone.now()
        acted = self.is_due(received, at) and self.act(at)
        published = self.publish(timezone.now())
        return bool(received) or acted or published

    def receive(self, wait: float = 0.0) -> bool:
        """Handle the messages in the queue; return whether there were any."""
        return bool(self._receive(wait))

    def _receive(self, wait: float) -> set[MessageType]:
        received = self.bus.receive(self.queue, most=BATCH, wait=wait)
        try:
            answers = self._handle_all(received.messages)
            if answers:
                self.bus.send(answers)
        except BaseException:
            received.give_back()
            raise
        received.done()  # not before the answers are sent: a crash in between brings the messages again
        return {message.type for message in received.messages}

    def is_due(self, received: set[MessageType], at: datetime) -> bool:
        """Return whether `act` may have something to do after messages of these types."""
        return True

    def act(self, at: datetime) -> bool:
        """Do what is due without a message; return whether there was anything."""
        raise NotImplementedError

    def publish(self, at: datetime) -> bool:
        """Send the messages of unpublished rows, then mark them; return whether there were any."""
        raise NotImplementedError

    def lock_state(self) -> None:
        """Lock the role's state row for the rest of the transaction."""
        raise NotImplementedError

    @property
    def handlers(self) -> Mapping[MessageType, Handler]:
        """The handler of each type, in the order of the steps; types with the same handler come to it together."""
        raise NotImplementedError

    def _handle_all(self, messages: list[Message]) -> list[OutgoingMessage]:
        """Handle all messages at once; if one of them makes that fail, each by itself, so that it harms no other."""
        if not messages:
            return []
        try:
            return self._handle(messages)
        except Exception as error:
            if classify_error(error) is not FailureKind.FINAL:
                raise
            log.exception("coordination.batch_failed", role=self.name)
        return [answer for message in messages for answer in self._handle_alone(message)]

    def _handle_alone(self, message: Message) -> list[OutgoingMessage]:
        try:
            return self._handle([message])
        except Exception as error:
            if classify_error(error) is not FailureKind.FINAL:
                raise
            return self.reject_message(message, error)

    def reject_message(self, message: Message, error: Exception) -> list[OutgoingMessage]:
        """Drop a message that cannot be handled, and tell staff: its sender would repeat it for ever."""
        log.exception("coordination.message_dropped", role=self.name, told=message.type, about=message.event)
        MESSAGES_DROPPED.labels(self.name).inc()
        detail = {"role": self.name, "event": message.event, "message": message.type, "reason": describe_error(error)}
        if message.event:
            raise_alert(DROPPED, subject_of(message.event), DROPPED_OF_EVENT, detail)
        else:
            raise_alert(DROPPED, self.name, DROPPED_OF_NONE, detail)
        return []

    def _handle(self, messages: list[Message]) -> list[OutgoingMessage]:
        handlers = self.handlers
        by_handler: defaultdict[Handler | None, list[Message]] = defaultdict(list)
        for message in messages:
            by_handler[handlers.get(message.type)].append(message)
        answers: list[OutgoingMessage] = []
        at = timezone.now()
        with transaction.atomic(using=self.alias):
            self.lock_state()
            for handle in dict.fromkeys(handlers.values()):
                if handle in by_handler:
                    answers += handle(by_handler[handle], at)
        return answers


def event_ids(messages: Iterable[Message], *types: MessageType) -> list[int]:
    """Return the events of these messages, or of those of them that are of one of the types."""
    return sorted({message.event for message in messages if not types or message.type in types})


def has_follow_up(role: RoleKind, events: Collection[EventRow], payloads: Collection[object] = ()) -> bool:
    """Return whether the role goes on by itself from what it has just published, or may have more to publish."""
    if len(events) >= BATCH or len(payloads) >= BATCH:
        return True
    return any(event.status in SELF_DRIVEN[role] for event in events)


class Pace:
    """A rate limit for repeats, which rises while they lead to something.

    A token bucket: `per_second`, at most `burst` at once; up to `most` at once after repeats that have helped.
    """

    def __init__(
        self, per_second: float, *, burst: int, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second, self._burst, self._most, self._clock = per_second, burst, most, clock
        self._allowed, self._boost, self._since = float(burst), 0, clock()

    def allowed(self) -> int:
        """Return how many may be sent now."""
        now = self._clock()
        self._allowed = min(self._burst, self._allowed + (now - self._since) * self._per_second)
        self._since = now
        return min(self._most, max(int(self._allowed), self._boost))

    def spend(self, count: int) -> None:
        self._allowed = max(0.0, self._allowed - count)
        self._boost = max(0, self._boost - count)

    def speed_up(self, count: int) -> None:
        """Allow twice as many at once as have just led to something."""
        self._boost = min(self._most, self._boost + 2 * count)
