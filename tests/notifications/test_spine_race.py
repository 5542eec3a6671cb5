"""Two sequencers, two relays per follower, eight writers that pause before they commit."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

import pytest
from django.db import connections, transaction
from django.utils import timezone

from config.audit.changes import record_change
from config.records.models import ChangeRecord
from notifications.followers import Following
from notifications.models import Event, Follower
from notifications.services.events import NewEvent, record_event
from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once

WRITERS, EACH, SUBJECTS = 8, 25, 3


@pytest.mark.embedded
def test_every_follower_sees_every_event_once_in_order(
    transactional_db: None, following: Callable[..., Following], in_threads: Callable[..., list[None]]
) -> None:
    Follower.objects.bulk_create(Follower(name=f"subject-{n}") for n in range(SUBJECTS))
    listeners = [following(seer(name), name=name, batch=7) for name in ("first", "second")]
    done = threading.Event()
    threads = [threading.Thread(target=loop, args=(stamp_once, done)) for _ in range(2)]
    threads += [
        threading.Thread(target=loop, args=(lambda f=listener: relay_once(f), done))
        for listener in listeners
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    try:
        in_threads(write, WRITERS)
        wait_until(lambda: all(len(seen(name)) >= WRITERS * EACH for name in ("first", "second")))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    for name in ("first", "second"):
        check(seen(name))


def write(number: int) -> None:
    """Change a subject under its row lock, tell it, pause, commit: as every service does."""
    chance = random.Random(number)
    for _ in range(EACH):
        with transaction.atomic():
            subject = Follower.objects.select_for_update().get(name=f"subject-{chance.randrange(SUBJECTS)}")
            subject.position += 1
            subject.save(update_fields=["position"])
            fact = NewEvent("test.moved", subject.name, timezone.now(), payload={"n": subject.position})
            record_event(fact)
            time.sleep(chance.random() * 0.01)


def seer(name: str) -> Callable[[Sequence[Event]], None]:
    """Write down what arrives, in the relay's transaction; stumble now and then."""
    chance = random.Random(name)

    def handle(events: Sequence[Event]) -> None:
        for event in events:
            record_change(
                kind=name,
                object_id=str(event.position),
                action=ChangeRecord.Action.CREATED,
                before=None,
                after={"subject": event.subject, "n": event.payload["n"]},
                actor="follower",
            )
        if chance.random() < 0.1:
            raise ValueError("stumbled")

    return handle


def loop(run_once: Callable[[], bool], done: threading.Event) -> None:
    try:
        while not done.is_set():
            Follower.objects.filter(failures__gt=0).update(due_at=timezone.now())
            if not run_once():
                time.sleep(0.005)
    finally:
        connections.close_all()


def seen(name: str) -> list[ChangeRecord]:
    return list(ChangeRecord.objects.filter(kind=name).order_by("id"))


def check(rows: list[ChangeRecord]) -> None:
    assert [int(row.object_id) for row in rows] == list(range(1, WRITERS * EACH + 1))
    by_subject = defaultdict(list)
    for row in rows:
        by_subject[row.after["subject"]].append(row.after["n"])
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_subject.values())
    assert sum(map(len, by_subject.values())) == WRITERS * EACH


def wait_until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "the followers did not get there"
        time.sleep(0.05)
