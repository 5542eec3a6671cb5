"""What the three roles have in common: take messages in, act, tell. Each turn may be the last one of its process.

Messages are acknowledged after what they did is committed and what it answers has been sent; what a row owes to others
is told from the row (`is_published`) and marked after it was sent. So a crash anywhere repeats, and every step may be
repeated.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

import structlog
from django.db import transaction
from django.utils import timezone

from processes.coordination.bus import Bus
from processes.coordination.models.shared import EventRow
from processes.coordination.protocol.database_errors import FailureKind, classify_error
from processes.coordination.protocol.messages import Message, MessageType, OutgoingMessage
from processes.coordination.protocol.transitions import SELF_DRIVEN, RoleKind

BATCH = 500
"""Messages of one turn, and rows that one turn tells of."""

log = structlog.get_logger(__name__)
Handler = Callable[[list[Message], datetime], list[OutgoingMessage]]


class Role:
    """One participant, for one thread; two of the same kind take turns by the lock of their state."""

    name: str
    queue: str
    alias: str

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.leads_on = False
        """Whether what was done last has made something due that needs no message; acting and telling say so."""

    def run_once(self, wait: float = 0.0) -> bool:
        """Take one turn; return whether there was something to do.

        Nobody waits for a message behind a turn whose work leads on by itself; behind any other one the next thing to
        happen is a message, and looking for more before it comes would only be in its way.
        """
        heard = self._hear(0.0 if self.leads_on else wait)
        self.leads_on = False
        at = timezone.now()
        acted = self.may_act(heard, at) and self.act(at)
        told = self.tell(timezone.now())
        return bool(heard) or acted or told

    def receive(self, wait: float = 0.0) -> bool:
        """Let the messages that have come take effect; return whether there were any."""
        return bool(self._hear(wait))

    def _hear(self, wait: float) -> set[MessageType]:
        received = self.bus.receive(self.queue, most=BATCH, wait=wait)
        try:
            answers = self._take(received.messages)
            if answers:
                self.bus.send(answers)
        except BaseException:
            received.give_back()
            raise
        received.done()
        return {message.told for message in received.messages}

    def may_act(self, heard: set[MessageType], at: datetime) -> bool:
        """Say whether something may be due now that these messages have been heard."""
        return True

    def act(self, at: datetime) -> bool:
        """Do what is due without a message; return whether there was anything."""
        raise NotImplementedError

    def tell(self, at: datetime) -> bool:
        """Send what the rows owe, then mark them; return whether there was anything."""
        raise NotImplementedError

    def hold(self) -> None:
        """Lock the state of the role for the rest of the transaction."""
        raise NotImplementedError

    @property
    def handlers(self) -> Mapping[MessageType, Handler]:
        """What to do upon each message, in the order of the steps; kinds with the same handler come to it together."""
        raise NotImplementedError

    def _take(self, messages: list[Message]) -> list[OutgoingMessage]:
        """Handle all at once; if that fails for what one of them says, each by itself, so that it harms no other."""
        if not messages:
            return []
        try:
            return self._handle(messages)
        except Exception as error:
            if classify_error(error) is not FailureKind.FINAL:
                raise
            log.exception("coordination.batch_failed", role=self.name)
        return [letter for message in messages for letter in self._take_alone(message)]

    def _take_alone(self, message: Message) -> list[OutgoingMessage]:
        try:
            return self._handle([message])
        except Exception as error:
            if classify_error(error) is not FailureKind.FINAL:
                raise
            return self.refuse(message, error)

    def refuse(self, message: Message, error: Exception) -> list[OutgoingMessage]:
        """Drop a message that cannot be used, with a word: it is told again if it matters."""
        log.exception("coordination.message_dropped", role=self.name, told=message.told, about=message.event)
        return []

    def _handle(self, messages: list[Message]) -> list[OutgoingMessage]:
        handlers = self.handlers
        taken: defaultdict[Handler | None, list[Message]] = defaultdict(list)
        for message in messages:
            taken[handlers.get(message.told)].append(message)
        answers: list[OutgoingMessage] = []
        at = timezone.now()
        with transaction.atomic(using=self.alias):
            self.hold()
            for handle in dict.fromkeys(handlers.values()):
                if handle in taken:
                    answers += handle(taken[handle], at)
        return answers


def event_ids(messages: Iterable[Message], *kinds: MessageType) -> list[int]:
    """Return the events that these messages are about, or those of them that are of one of the kinds."""
    return sorted({message.event for message in messages if not kinds or message.told in kinds})


def has_follow_up(role: RoleKind, events: Collection[EventRow], payloads: Collection[object] = ()) -> bool:
    """Say whether what was just told is what the role acts upon next, or may not be all that it has to tell."""
    if len(events) >= BATCH or len(payloads) >= BATCH:
        return True
    return any(event.status in SELF_DRIVEN[role] for event in events)
