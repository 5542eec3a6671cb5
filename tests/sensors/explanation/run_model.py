"""A random run of one sensor and its clients, beside a model that knows why each client was told or not."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from config.common.times import format_time, to_milliseconds, truncate_to_milliseconds
from notifications.models import Delivery
from sensors.explanation.verdict import Verdict
from sensors.heartbeat.sweep import sweep_once
from sensors.ingest.accept import accept_signals
from sensors.ingest.signals import Origin
from sensors.models import Client, DeafSpan, SensorState, WayIn
from sensors.services.clients import update_client
from sensors.services.links import link, unlink
from sensors.services.sensors import create_sensor, update_sensor
from tests.notifications.sending.deliveries import answer, claim, make_due
from tests.sensors.registry import hear, make_client

ACTOR, SENSOR = "test", "0xA"
STATE, CONNECTION = "state", "connection"
BREAKER, ATTEMPTS = 5, 3
FAR = timedelta(days=300)


@dataclass
class Message:
    """A delivery of the model."""

    family: str
    verdict: Verdict = Verdict.PENDING
    attempts: int = 0


@dataclass
class Fact:
    """Something that each client should have been told of, or not: a signal or the end of silence."""

    at: datetime
    about: str
    signal: str = ""
    verdict: Verdict | None = None
    """The same for every client; None where it depends on the client."""
    messages: dict[int, Message] = field(default_factory=dict)


@dataclass
class Customer:
    """A client of the model."""

    pk: int
    is_linked: bool = False
    is_active: bool = True
    is_paused: bool = False
    is_muted: bool = False
    is_untold: bool = False
    failures: int = 0

    @property
    def is_open(self) -> bool:
        return self.failures >= BREAKER


class Run:
    def __init__(self) -> None:
        self.base = truncate_to_milliseconds(timezone.now() - timedelta(minutes=30))
        create_sensor(sensor_id=SENSOR, actor=ACTOR, address="1 Gate Street")
        self.clients = [Client.objects.get(pk=make_client(name).pk) for name in ("one", "two")]
        self.customers = [Customer(client.pk) for client in self.clients]
        self.facts: list[Fact] = []
        self.sent: list[tuple[datetime, str, int]] = []
        self.last: tuple[datetime, str] | None = None
        self.values: dict[tuple[datetime, str], int] = {}
        """The changes of the state, by the time and id of their signals."""
        self.is_active = True
        self.is_muted = False
        self.lost_at: datetime | None = None
        self.refusal: Verdict | None = None
        """Of what was refused last."""
        self.has_repeat = self.has_withdrawal = False

    def step(self, name: str, *arguments: Any) -> None:
        getattr(self, name)(*arguments)

    def signal(self, second: int, data: int) -> None:
        at, id = self.base + timedelta(seconds=second), f"s{len(self.sent):03d}"
        self._post(at, id, data)
        if not self.is_active:
            self.refusal = Verdict.SENSOR_INACTIVE
            return
        self.sent.append((at, id, data))
        key = (at, id)
        before = max((each for each in self.values if each < key), default=None)
        value = None if before is None else self.values[before]
        fact = Fact(at, STATE, id)
        self.facts.append(fact)
        if value == data:
            fact.verdict = Verdict.UNCHANGED
        elif self.last is not None and key < self.last:
            fact.verdict = Verdict.LATE
        else:
            self.values[key] = data
            self._publish(fact)
        self.last = key if self.last is None else max(self.last, key)
        self._end_loss()

    def again(self, place: int) -> None:
        if self.sent:
            at, id, data = self.sent[place % len(self.sent)]
            self._post(at, id, data)
            if self.is_active:
                self.has_repeat = True
            else:
                self.refusal = Verdict.SENSOR_INACTIVE

    def broken(self) -> None:
        self._post(self.base, "broken", 7)
        self.refusal = Verdict.REFUSED

    def lose(self) -> None:
        if not self.is_active or self.last is None or self.lost_at is not None:
            return
        lost = sum(fact.about == CONNECTION for fact in self.facts)
        lost_at = self.base + timedelta(minutes=10, seconds=lost)
        SensorState.objects.update(seen_at=lost_at - timedelta(hours=1), heard_at=None, check_at=lost_at)
        DeafSpan.objects.all().delete()
        WayIn.objects.all().delete()
        hear()
        sweep_once()
        self.lost_at = lost_at
        fact = Fact(lost_at, CONNECTION)
        self.facts.append(fact)
        for customer in self.customers:
            if customer.is_linked:
                customer.is_untold = self.is_muted or customer.is_muted
        self._publish(fact)

    def set_link(self, place: int, is_linked: bool) -> None:
        customer = self.customers[place]
        (link if is_linked else unlink)(sensor_id=SENSOR, client_id=customer.pk, actor=ACTOR)
        if is_linked and not customer.is_linked:
            customer.is_untold = self.lost_at is not None
        if not is_linked:
            self._cancel(customer, Verdict.UNLINKED)
        customer.is_linked = is_linked

    def set_client(self, place: int, name: str, value: bool) -> None:
        """Activate, pause or mute a client, or the opposite."""
        customer = self.customers[place]
        edit: dict[str, Any] = {name: value}
        if name == "muted":
            edit = {"muted_until": timezone.now() + FAR if value else None}
        update_client(client_id=customer.pk, actor=ACTOR, **edit)
        begins_anew = (name == "active" and value and not customer.is_active) or (
            name == "paused" and not value and customer.is_paused
        )
        if begins_anew:
            customer.failures = 0
        if name == "active" and not value and customer.is_active:
            self._cancel(customer, Verdict.CLIENT_INACTIVE)
        setattr(customer, f"is_{name}", value)

    def set_sensor(self, name: str, value: bool) -> None:
        edit: dict[str, Any] = {"active": value} if name == "active" else {}
        if name == "muted":
            edit = {"muted_until": timezone.now() + FAR if value else None}
        update_sensor(sensor_id=SENSOR, actor=ACTOR, **edit)
        if name == "active" and not value and self.is_active:
            for customer in self.customers:
                self._cancel(customer, Verdict.SENSOR_INACTIVE)
        setattr(self, f"is_{name}", value)

    def send(self, status: int) -> None:
        """Let the sender make one round, in which every receiver answers so."""
        make_due(*Delivery.objects.filter(status="pending"))
        claims = claim()
        if claims:
            answer(*claims, status=status)
        for customer in self.customers:
            if not customer.is_active or customer.is_paused or customer.is_open:
                continue
            for message in self._pending(customer):
                message.attempts += 1
                if status == 200:
                    message.verdict, customer.failures = Verdict.TOLD, 0
                    continue
                customer.failures += 1
                if message.attempts >= ATTEMPTS:
                    message.verdict = Verdict.DEAD

    def expect(self, fact: Fact, customer: Customer) -> Verdict:
        """Return the verdict that this client is to be given about a fact."""
        if fact.verdict is not None:
            return fact.verdict
        message = fact.messages.get(customer.pk)
        if message is None:
            return Verdict.NOT_LINKED
        if message.verdict != Verdict.PENDING:
            return message.verdict
        if customer.is_paused:
            return Verdict.PAUSED
        return Verdict.BREAKER_OPEN if customer.is_open else Verdict.PENDING

    def expect_now(self) -> Verdict | None:
        """Return the verdict about this minute, in which signals were refused or repeated; None: other things came."""
        if self.has_withdrawal:
            return None
        return self.refusal or (Verdict.REPEAT if self.has_repeat else None)

    def _publish(self, fact: Fact, *, is_end: bool = False) -> None:
        for customer in self.customers:
            if not customer.is_linked:
                continue
            message = fact.messages[customer.pk] = Message(fact.about)
            if fact.about == CONNECTION and customer.is_untold:
                message.verdict = Verdict.LOSS_UNTOLD if is_end else Verdict.MUTED
            elif not customer.is_active:
                message.verdict = Verdict.CLIENT_INACTIVE
            else:
                for older in self._pending(customer):
                    if older.family == fact.about and older is not message:
                        older.verdict = Verdict.SUPERSEDED

    def _end_loss(self) -> None:
        """Withdraw the loss: every signal of a run is from before it."""
        if self.lost_at is None:
            return
        self.lost_at, self.has_withdrawal = None, True
        at = truncate_to_milliseconds(SensorState.objects.get().seen_at)
        fact = Fact(at, CONNECTION)
        self.facts.append(fact)
        self._publish(fact, is_end=True)
        for customer in self.customers:
            customer.is_untold = False

    def _pending(self, customer: Customer) -> list[Message]:
        found = [fact.messages.get(customer.pk) for fact in self.facts]
        return [message for message in found if message is not None and message.verdict == Verdict.PENDING]

    def _cancel(self, customer: Customer, verdict: Verdict) -> None:
        for message in self._pending(customer):
            message.verdict = verdict

    def _post(self, at: datetime, id: str, data: int) -> None:
        text = f'{{"sensor_id":"{SENSOR}","data":{data},"at":"{format_time(at)}","id":"{id}"}}'
        origin = Origin(received_at=to_milliseconds(timezone.now()), over_rest=True)
        accept_signals(text.encode(), origin, by_queue=False)
