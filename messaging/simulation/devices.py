"""Devices as they behave in the field: they send, repeat what was not answered, fetch, confirm and ask for receipts."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from messaging.simulation.calls import Calls, Message, NoAnswer, Refused, encode
from messaging.simulation.journal import Journal, Sent

FETCH_SHARE, RECEIPT_SHARE = 0.2, 0.05
AWAY_PAUSE, LINGER_PAUSE = 0.2, 0.5
_WRONG_KEY = (401, 403)


@dataclass
class Device:
    """One device with its key. For one thread at a time."""

    id: str
    calls: Calls
    journal: Journal

    def send(self, to: str, payload: Any, *, at: datetime | None = None) -> bool:
        """Send a new message; say whether the server answered. If not, `resend` repeats it."""
        return self._post(self.journal.write(self.id, to, payload, at=at or datetime.now(UTC)))

    def resend(self) -> bool:
        """Send again what was not answered, the same ids with the same bodies; say whether all is answered now."""
        return all(self._post(sent) for sent in self.journal.unanswered(self.id))

    def fetch(self) -> list[Message]:
        """Fetch what waits for this device, the oldest first."""
        messages: list[Message] = self.calls.call("GET", "/messages/").json["messages"]
        self.journal.record_fetched(self.id, messages)
        return messages

    def confirm(self, message_id: str) -> None:
        self.calls.call("POST", f"/messages/{message_id}/confirm/", encode({"version": 1}))
        self.journal.mark_confirmed(self.id, message_id)

    def collect(self) -> bool:
        """Fetch and confirm until nothing waits; say whether the server answered every call."""
        try:
            self._confirm_fetched()
            while self.fetch() and self._confirm_fetched():
                continue
        except NoAnswer:
            return False
        return True

    def ask_receipt(self, message_id: str) -> str:
        """Ask what became of a message of this device."""
        status = str(self.calls.call("GET", f"/messages/{message_id}/receipt/").json["status"])
        self.journal.record_receipt(message_id, status)
        return status

    def close(self) -> None:
        self.calls.close()

    def _post(self, sent: Sent) -> bool:
        try:
            self.calls.call("POST", "/messages/", sent.body)
        except NoAnswer:
            return False
        except Refused as refused:
            if refused.status in _WRONG_KEY:
                raise
            self.journal.mark_refused(sent.id, str(refused))
            return True
        self.journal.mark_accepted(sent.id)
        return True

    def _confirm_fetched(self) -> int:
        waiting = self.journal.unconfirmed(self.id)
        for message_id in waiting:
            self.confirm(message_id)
        return len(waiting)


@dataclass(frozen=True)
class Plan:
    """How much the devices send, all together."""

    to: Sequence[str]
    rate: float = 10.0
    """Messages a second; 0 is as fast as it goes."""
    messages: int | None = None
    """How many the journal is to hold in the end: a simulator started again sends the rest."""
    seconds: float | None = None
    payload_bytes: int = 0
    linger: float = 0.0
    """For how many seconds to go on fetching after the last message."""
    seed: int = 1
    threads: int = 4


@dataclass
class Crowd:
    """Many devices at once, each served by one of a few threads."""

    devices: Sequence[Device]
    journal: Journal
    plan: Plan
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._left = float("inf") if self.plan.messages is None else self.plan.messages - self.journal.count_written()

    def run(self, report: Callable[[], None] = lambda: None) -> None:
        """Carry out the plan; raise the first error of a thread after all have stopped."""
        self._ends_at = time.monotonic() + (self.plan.seconds or float("inf"))
        threads = max(1, min(self.plan.threads, len(self.devices)))
        with ThreadPoolExecutor(threads) as pool:
            work = [pool.submit(self._serve, number, threads) for number in range(threads)]
            while wait(work, timeout=0.25).not_done:
                report()
                if any(future.done() and future.exception() for future in work):
                    self.stop.set()
        report()
        for future in work:
            future.result()

    def close(self) -> None:
        for device in self.devices:
            device.close()

    def _serve(self, number: int, threads: int) -> None:
        """Let every n-th device send its share, then fetch for as long as is asked."""
        devices = self.devices[number::threads]
        chance = random.Random(f"{self.plan.seed}/{number}")
        pause = threads / self.plan.rate if self.plan.rate else 0.0
        due_at = time.monotonic()
        while self._may_send():
            self._take_turn(chance.choice(devices), chance)
            due_at = max(due_at + pause, time.monotonic() - 1)  # A slow server is not flooded afterwards.
            self.stop.wait(max(0.0, min(due_at, self._ends_at) - time.monotonic()))
        self._linger(devices)

    def _may_send(self) -> bool:
        if self.stop.is_set() or time.monotonic() >= self._ends_at:
            return False
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def _take_turn(self, device: Device, chance: random.Random) -> None:
        if not device.resend():
            self._give_turn_back()
            return
        device.send(chance.choice(self.plan.to), make_payload(chance, self.plan.payload_bytes))
        if chance.random() < FETCH_SHARE:
            device.collect()
        if chance.random() < RECEIPT_SHARE:
            self._ask(device, chance.random())

    def _give_turn_back(self) -> None:
        """Send nothing new while the old is not answered: a server that is away does not fill the journal."""
        with self._lock:
            self._left += 1
        self.stop.wait(AWAY_PAUSE)

    def _ask(self, device: Device, share: float) -> None:
        message_id = self.journal.find_sent(device.id, share)
        if message_id is None:
            return
        try:
            device.ask_receipt(message_id)
        except NoAnswer:
            return

    def _linger(self, devices: Sequence[Device]) -> None:
        """Repeat and fetch once more, and then until the time is over."""
        until = time.monotonic() + self.plan.linger
        while True:
            for device in devices:
                device.resend()
                device.collect()
            if self.stop.is_set() or time.monotonic() >= until:
                return
            self.stop.wait(LINGER_PAUSE)


def make_payload(chance: random.Random, size: int = 0) -> dict[str, Any]:
    """Make a booking as the reference ERP understands it, filled up to about `size` bytes."""
    booking = {"account": f"account-{chance.randrange(10)}", "amount": chance.randint(1, 1000)}
    return booking | ({"filler": "x" * max(0, size - 48)} if size else {})
