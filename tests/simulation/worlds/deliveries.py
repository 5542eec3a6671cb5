"""Producers enqueue deliveries, two senders send them: each message once, in order for its key, none lost."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import inf

from django.db import transaction
from django.test import override_settings

from notifications.models import Delivery
from notifications.sending import claims
from notifications.sending.sender import Sender
from notifications.services.deliveries import NewDelivery, enqueue_deliveries
from tests.notifications.sending.deliveries import make_endpoint
from tests.simulation.ledger import Ledger
from tests.simulation.receiver import Arrival, Receiver
from tests.simulation.scheduler import Scheduler
from tests.simulation.world import World

SUBJECTS = 2
LEASE = claims.LEASE.total_seconds()
FAMILIES = {"state": Delivery.Family.STATE, "notice": Delivery.Family.NOTICE}


class DeliveriesWorld(World):
    name = "deliveries"
    seconds = 90.0
    seeds = range(32, 40)

    def __init__(self, scheduler: Scheduler, size: int) -> None:
        super().__init__(scheduler, size)
        self.receiver = Receiver(scheduler)
        self.ledger = Ledger()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        limits = {"DELIVERY_SLOTS": 2, "DELIVERY_SLOTS_PER_CLIENT": 2, "DELIVERY_BASE_SECONDS": 1.0}
        with self.receiver.in_place(), override_settings(DELIVERY_ATTEMPTS=30, **limits):
            yield

    def begin(self) -> None:
        self.endpoint = make_endpoint("http://receiver.example/hook").pk
        for number in range(SUBJECTS):
            self.scheduler.start(f"producer-{number}", lambda number=number: self._produce(number))  # type: ignore[misc]
        for number in (1, 2):
            self.scheduler.start(f"sender-{number}", _send)

    def _produce(self, number: int) -> None:
        """Tell one subject's states, one after the other, for as long as there are any left."""
        subject = f"thing/{number}"
        while (data := self.ledger.next_number(subject)) <= self.size:
            family = FAMILIES["notice" if data % 3 == 0 else "state"]
            new = NewDelivery(self.endpoint, "thing.changed", family, subject, {"subject": subject, "data": data})
            with self.ledger.attempt((subject, data)), transaction.atomic():
                enqueue_deliveries([new])
            time.sleep(self.scheduler.chance("pause") ** 2 * 15)

    def is_quiet(self) -> bool:
        return not Delivery.objects.filter(status="pending").exists()

    def check(self) -> Iterator[str]:
        yield from self._check_rows()
        yield from self._check_order()
        yield from self._check_once()

    def _check_rows(self) -> Iterator[str]:
        """What was accepted is delivered or superseded by something newer of its key, which is delivered."""
        rows = {(each.body["subject"], each.body["data"]): each for each in Delivery.objects.all()}
        yield from self.ledger.check(rows)
        arrived = {arrival.id for arrival in self.receiver.arrivals if arrival.status == 200}
        delivered = {key for key, row in rows.items() if row.status == "delivered"}
        for (subject, data), row in rows.items():
            if row.status == "delivered" and str(row.message_id) not in arrived:
                yield f"{subject} {data} is marked delivered and never arrived"
            newer = any(name == subject and later > data and later % 3 for name, later in delivered)
            if row.status == "superseded" and not (row.family == "state" and newer):
                yield f"{subject} {data} is superseded by nothing that was delivered"
            if row.status not in ("delivered", "superseded"):
                yield f"{subject} {data} is {row.status}: {row.reason}"

    def _check_order(self) -> Iterator[str]:
        """No older state arrives behind a newer one of its subject."""
        if self.was_disturbed(0.0, inf, kinds=("step",)):
            return  # a clock that is set forth ends leases early: nobody can promise an order then
        newest: dict[str, int] = {}
        for arrival in self.receiver.arrivals:
            subject, data = arrival.body["subject"], arrival.body["data"]
            if data % 3 == 0:
                continue
            if data < newest.get(subject, 0):
                yield f"{subject}: {data} came at {arrival.at:.3f} behind {newest[subject]}"
            newest[subject] = max(data, newest.get(subject, 0))

    def _check_once(self) -> Iterator[str]:
        """A message comes again only where its sender failed, or the answer; never while it is under way."""
        by_id = defaultdict[str, list[Arrival]](list)
        for arrival in self.receiver.arrivals:
            by_id[arrival.id].append(arrival)
        for arrivals in by_id.values():
            for earlier, later in pairwise(arrivals):
                yield from self._check_repeat(earlier, later)

    def _check_repeat(self, earlier: Arrival, later: Arrival) -> Iterator[str]:
        what, ended = f"{earlier.body['subject']} {earlier.body['data']}", earlier.ended_at or later.at
        if later.at < ended:
            stopped = self.was_disturbed(earlier.at - LEASE, ended, process=earlier.sender, kinds=("stop",))
            if not stopped and not self.was_disturbed(earlier.at - LEASE, later.at, kinds=("step",)):
                yield f"{what} was sent at {later.at:.3f} while it was under way since {earlier.at:.3f}"
        elif earlier.was_heard and earlier.status == 200:
            failed = self.was_disturbed(earlier.at - LEASE, later.at, process=earlier.sender)
            if not failed and not self.was_disturbed(earlier.at - LEASE, later.at, kinds=("step",)):
                yield f"{what} came again at {later.at:.3f}, and had been taken at {earlier.at:.3f}"


def _send() -> None:
    sender = Sender(slots=2)
    while True:
        sender.wake()
        time.sleep(2.0)
