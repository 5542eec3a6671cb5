"""A random run of sensors and their clients, beside a model that knows why each client was told or not."""

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
from sensors.models import DeafSpan, SensorState, WayIn
from sensors.services.clients import update_client
from sensors.services.links import link, unlink
from sensors.services.sensors import create_sensor, update_sensor
from tests.notifications.sending.deliveries import answer, claim, make_due
from tests.sensors.registry import hear, make_client

ACTOR = "test"
SENSORS, CLIENTS = ("0xA", "0xB"), ("one", "two")
STATE, CONNECTION = "state", "connection"
BREAKER, ATTEMPTS = 5, 3
FAR = timedelta(days=300)
MODELLED = frozenset(
    {
        Verdict.TOLD,
        Verdict.SENSOR_INACTIVE,
        Verdict.REFUSED,
        Verdict.REPEAT,
        Verdict.UNCHANGED,
        Verdict.LATE,
        Verdict.NOT_LINKED,
        Verdict.UNLINKED,
        Verdict.CLIENT_INACTIVE,
        Verdict.MUTED,
        Verdict.LOSS_UNTOLD,
        Verdict.SUPERSEDED,
        Verdict.DEAD,
        Verdict.PAUSED,
        Verdict.BREAKER_OPEN,
        Verdict.PENDING,
    }
)
"""What the model knows; the others need time to pass, an outage, or an answer of a kind of its own."""


@dataclass
class Message:
    """A delivery of the model."""

    family: str
    verdict: Verdict = Verdict.PENDING
    attempts: int = 0


@dataclass
class Fact:
    """Something that each client should have been told of, or not: a signal or the end of silence."""

    sensor: str
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
    links: set[str] = field(default_factory=set)
    untold: set[str] = field(default_factory=set)
    """The sensors whose loss it was not told."""
    is_active: bool = True
    is_paused: bool = False
    is_muted: bool = False
    failures: int = 0

    @property
    def is_open(self) -> bool:
        return self.failures >= BREAKER


class Door:
    """A sensor of the model."""

    def __init__(self, id: str) -> None:
        self.id = id
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

    @property
    def now(self) -> Verdict | None:
        """The verdict about this minute, in which signals were refused or repeated; None: other things came."""
        if self.has_withdrawal:
            return None
        return self.refusal or (Verdict.REPEAT if self.has_repeat else None)


class Run:
    """Each sensor begins with a link: the first to the first client, the second to the second."""

    def __init__(self) -> None:
        self.base = truncate_to_milliseconds(timezone.now() - timedelta(minutes=30))
        self.doors = [Door(id) for id in SENSORS]
        for door in self.doors:
            create_sensor(sensor_id=door.id, actor=ACTOR, address="1 Gate Street")
        self.customers = [Customer(make_client(name).pk) for name in CLIENTS]
        self.facts: list[Fact] = []
        for place in range(len(self.doors)):
            self.set_link(place, place, True)

    def step(self, name: str, *arguments: Any) -> None:
        getattr(self, name)(*arguments)

    def move(self, sensor: int) -> None:
        """Let a door move: a signal that is later than all, with the other value."""
        door = self.doors[sensor]
        latest = max((at for at, _, _ in door.sent), default=self.base)
        value = door.values[max(door.values)] if door.values else 0
        self.signal(sensor, int((latest - self.base).total_seconds()) + 1, 1 - value)

    def signal(self, sensor: int, second: int, data: int) -> None:
        door = self.doors[sensor]
        at, id = self.base + timedelta(seconds=second), f"s{len(door.sent):03d}"
        self._post(door, at, id, data)
        if not door.is_active:
            door.refusal = Verdict.SENSOR_INACTIVE
            return
        door.sent.append((at, id, data))
        key = (at, id)
        before = max((each for each in door.values if each < key), default=None)
        value = None if before is None else door.values[before]
        fact = Fact(door.id, at, STATE, id)
        self.facts.append(fact)
        if value == data:
            fact.verdict = Verdict.UNCHANGED
        elif door.last is not None and key < door.last:
            fact.verdict = Verdict.LATE
        else:
            door.values[key] = data
            self._publish(fact)
        door.last = key if door.last is None else max(door.last, key)
        self._end_loss(door)

    def again(self, sensor: int, place: int) -> None:
        door = self.doors[sensor]
        if door.sent:
            self._post(door, *door.sent[place % len(door.sent)])
            if door.is_active:
                door.has_repeat = True
            else:
                door.refusal = Verdict.SENSOR_INACTIVE

    def broken(self, sensor: int) -> None:
        self._post(self.doors[sensor], self.base, "broken", 7)
        self.doors[sensor].refusal = Verdict.REFUSED

    def lose(self, sensor: int) -> None:
        door = self.doors[sensor]
        if not door.is_active or door.last is None or door.lost_at is not None:
            return
        lost = sum(fact.about == CONNECTION for fact in self.facts)
        lost_at = self.base + timedelta(minutes=10, seconds=lost)
        long_ago = lost_at - timedelta(hours=1)
        SensorState.objects.filter(pk=door.id).update(seen_at=long_ago, heard_at=None, check_at=lost_at)
        DeafSpan.objects.all().delete()
        WayIn.objects.all().delete()
        hear()
        sweep_once()
        door.lost_at = lost_at
        fact = Fact(door.id, lost_at, CONNECTION)
        self.facts.append(fact)
        for customer in self.customers:
            if door.id in customer.links and (door.is_muted or customer.is_muted):
                customer.untold.add(door.id)
        self._publish(fact)

    def set_link(self, sensor: int, place: int, is_linked: bool) -> None:
        door, customer = self.doors[sensor], self.customers[place]
        (link if is_linked else unlink)(sensor_id=door.id, client_id=customer.pk, actor=ACTOR)
        if not is_linked:
            self._cancel(customer, Verdict.UNLINKED, of=door.id)
            customer.links.discard(door.id)
        elif door.id not in customer.links:
            customer.links.add(door.id)
            (customer.untold.add if door.lost_at is not None else customer.untold.discard)(door.id)

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

    def set_sensor(self, sensor: int, name: str, value: bool) -> None:
        door = self.doors[sensor]
        edit: dict[str, Any] = {"active": value} if name == "active" else {}
        if name == "muted":
            edit = {"muted_until": timezone.now() + FAR if value else None}
        update_sensor(sensor_id=door.id, actor=ACTOR, **edit)
        if name == "active" and not value and door.is_active:
            for customer in self.customers:
                self._cancel(customer, Verdict.SENSOR_INACTIVE, of=door.id)
        setattr(door, f"is_{name}", value)

    def send(self, status: int, rounds: int = 1) -> None:
        """Let the sender make some rounds, in which every receiver answers so."""
        for _ in range(rounds):
            make_due(*Delivery.objects.filter(status="pending"))
            claims = claim()
            if claims:
                answer(*claims, status=status)
            for customer in self.customers:
                if customer.is_active and not customer.is_paused and not customer.is_open:
                    self._answer(customer, is_ok=status == 200)

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

    def _answer(self, customer: Customer, *, is_ok: bool) -> None:
        for message in self._pending(customer):
            message.attempts += 1
            if is_ok:
                message.verdict, customer.failures = Verdict.TOLD, 0
                continue
            customer.failures += 1
            if message.attempts >= ATTEMPTS:
                message.verdict = Verdict.DEAD

    def _publish(self, fact: Fact, *, is_end: bool = False) -> None:
        for customer in self.customers:
            if fact.sensor not in customer.links:
                continue
            message = fact.messages[customer.pk] = Message(fact.about)
            if fact.about == CONNECTION and fact.sensor in customer.untold:
                message.verdict = Verdict.LOSS_UNTOLD if is_end else Verdict.MUTED
            elif not customer.is_active:
                message.verdict = Verdict.CLIENT_INACTIVE
            else:
                for older in self._pending(customer, of=fact.sensor):
                    if older.family == fact.about and older is not message:
                        older.verdict = Verdict.SUPERSEDED

    def _end_loss(self, door: Door) -> None:
        """Withdraw the loss: every signal of a run is from before it."""
        if door.lost_at is None:
            return
        door.lost_at, door.has_withdrawal = None, True
        at = truncate_to_milliseconds(SensorState.objects.get(pk=door.id).seen_at)
        fact = Fact(door.id, at, CONNECTION)
        self.facts.append(fact)
        self._publish(fact, is_end=True)
        for customer in self.customers:
            customer.untold.discard(door.id)

    def _pending(self, customer: Customer, *, of: str = "") -> list[Message]:
        """Return what still waits for a client: of one sensor, or of all."""
        found = [fact.messages.get(customer.pk) for fact in self.facts if of in ("", fact.sensor)]
        return [message for message in found if message is not None and message.verdict == Verdict.PENDING]

    def _cancel(self, customer: Customer, verdict: Verdict, *, of: str = "") -> None:
        for message in self._pending(customer, of=of):
            message.verdict = verdict

    def _post(self, door: Door, at: datetime, id: str, data: int) -> None:
        text = f'{{"sensor_id":"{door.id}","data":{data},"at":"{format_time(at)}","id":"{id}"}}'
        origin = Origin(received_at=to_milliseconds(timezone.now()), over_rest=True)
        accept_signals(text.encode(), origin, by_queue=False)
