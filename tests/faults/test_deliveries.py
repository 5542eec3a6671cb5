"""Deliveries under fire: receivers that misbehave in every way, senders killed at random. Each ends as it should."""

import itertools
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography.fernet import Fernet

from tests.faults.inside_product import enqueue_states
from tests.faults.process_group import ProcessGroup
from tests.faults.product import migrated_database
from tests.faults.wait import wait_until
from tests.mail_server import mail_server
from tests.servers.private_server import find_free_port
from tests.webhook_receiver import Receiver, run_receiver

pytestmark = [pytest.mark.timeout(1800)]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
MESSAGES = int(20_000 * SCALE)
SENSORS = 40
KILLS = max(3, int(20 * SCALE))
PATIENCE = 120 + 900 * SCALE
ATTEMPTS = 3

# What a receiver does, and what its messages come to.
GOOD = {"200": "delivered", "204": "delivered", "big": "delivered"}
BAD = {"500": "dead", "301": "dead", "429": "dead"}
WORST = {"hang": "dead", "drip": "dead"}
SECRET = "whsec_" + "A" * 43 + "="


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with run_receiver() as receiver:
        yield receiver


@pytest.fixture
def group(tmp_path: Path, servers: Any) -> Iterator[ProcessGroup]:
    with migrated_database(servers.database) as database:
        made = ProcessGroup(
            tmp_path,
            DATABASE_URL=database,
            FIELD_KEYS=KEY,
            WEBHOOK_ALLOWED_NETWORKS="127.0.0.1/32",
            DELIVERY_BASE_SECONDS="1",
            DELIVERY_ATTEMPTS=str(ATTEMPTS),
        )
        yield made
        made.end()


KEY = Fernet.generate_key().decode()


class Clients:
    """Clients at a receiver, and messages to them in order."""

    def __init__(self, group: ProcessGroup, receiver: Receiver) -> None:
        self._group, self._receiver = group, receiver

    def register(self, path: str) -> int:
        secret = Fernet(KEY).encrypt(SECRET.encode())
        with psycopg.connect(self._group.database) as connection:
            [endpoint] = connection.execute(
                "INSERT INTO notifications_endpoint (url, secret, active, paused, off_reason, failures, is_back) "
                "VALUES (%s, %s, true, false, '', 0, false) RETURNING id",
                [self._receiver.url(path), secret],
            ).fetchall()[0]
        return int(endpoint)

    def enqueue(self, subjects: dict[int, list[str]], value: int) -> None:
        self._group.call(enqueue_states, subjects, value)


def statuses(group: ProcessGroup, endpoint: int) -> Counter[str]:
    rows = group.rows(f"SELECT status FROM notifications_delivery WHERE endpoint_id = {endpoint}")
    return Counter(status for (status,) in rows)


def is_over(group: ProcessGroup) -> bool:
    [(left,)] = group.rows("SELECT count(*) FROM notifications_delivery WHERE status = 'pending'")
    return bool(left == 0)


def check_what_was_received(group: ProcessGroup, receiver: Receiver) -> None:
    """What is delivered was taken, under one id; what else was taken lost its answer on the way."""
    delivered = set(numbers_of(group, "status = 'delivered'"))
    taken = Counter(call.id for call in receiver.taken())
    assert delivered <= set(taken)
    bodies = defaultdict(set)
    for call in receiver.calls:
        bodies[call.id].add(call.body)
    assert all(len(each) == 1 for each in bodies.values())
    assert set(taken) - delivered <= set(numbers_of(group, "status <> 'delivered'"))


def numbers_of(group: ProcessGroup, those: str = "true") -> dict[str, int]:
    """Return the numbers of deliveries by the ids that receivers see."""
    return dict(group.rows(f"SELECT message_id::text, id FROM notifications_delivery WHERE {those}"))


def check_order(group: ProcessGroup, receiver: Receiver) -> None:
    """The messages about one thing to one client came in the order in which they were owed."""
    by_thing, numbers = defaultdict(list), numbers_of(group)
    for call in receiver.taken():
        by_thing[call.path, call.json["subject"]].append(numbers[call.id])
    for ids in by_thing.values():
        assert ids == sorted(ids)


def test_every_kind_of_receiver_ends_as_it_should(group: ProcessGroup, receiver: Receiver) -> None:
    clients = Clients(group, receiver)
    endpoints = {kind: clients.register(f"/{kind}/a") for kind in [*GOOD, *BAD, *WORST]}
    gone = clients.register("/410/a")
    each = max(2, MESSAGES // len(GOOD))
    wanted = {
        endpoint: [f"thing/{kind}-{n}" for n in range(each if kind in GOOD else min(each, 40))]
        for kind, endpoint in endpoints.items()
    }
    clients.enqueue({**wanted, gone: [f"thing/gone-{n}" for n in range(5)]}, 1)
    group.start("one", "run_scheduler")
    group.start("two", "run_scheduler")
    assert wait_until(lambda: all(set(statuses(group, endpoints[kind])) == {"delivered"} for kind in GOOD), PATIENCE)
    assert statuses(group, gone) == {"cancelled": 5}
    assert group.rows(f"SELECT active FROM notifications_endpoint WHERE id = {gone}") == [(False,)]
    for kind in [*BAD, *WORST]:
        assert set(statuses(group, endpoints[kind])) <= {"pending", "dead"}
        assert not [call for call in receiver.taken() if call.path == f"/{kind}/a"]
    assert not [call for call in receiver.calls if call.path == "/200/moved"], "a redirect was followed"
    check_what_was_received(group, receiver)


def test_senders_killed_at_random_leave_nothing_undone(group: ProcessGroup, receiver: Receiver) -> None:
    clients = Clients(group, receiver)
    endpoints = [clients.register(f"/200/{n}") for n in range(10)]
    subjects = [f"thing/{n}" for n in range(SENSORS)]
    chance = random.Random(7)
    group.start("one", "run_scheduler")
    group.start("two", "run_scheduler")
    rounds = max(3, MESSAGES // (len(endpoints) * SENSORS))
    for number in range(rounds):
        clients.enqueue(dict.fromkeys(endpoints, subjects), number)
        if number % max(1, rounds // KILLS) == 0:
            name = chance.choice(["one", "two"])
            group.kill(name)
            group.start(name, "run_scheduler")
    assert wait_until(lambda: is_over(group), PATIENCE), group.logs()
    check_what_was_received(group, receiver)
    check_order(group, receiver)
    newest = group.rows(
        "SELECT DISTINCT ON (endpoint_id, subject) status, body->>'value' FROM notifications_delivery "
        "ORDER BY endpoint_id, subject, id DESC"
    )
    assert Counter(newest) == {("delivered", str(rounds - 1)): len(endpoints) * SENSORS}


def test_a_receiver_that_was_down_gets_only_the_newest(group: ProcessGroup, receiver: Receiver) -> None:
    clients = Clients(group, receiver)
    endpoint = clients.register("/500/door")
    group.product.environment["DELIVERY_ATTEMPTS"] = "30"  # on a slow machine the next message may be long in coming
    group.start("one", "run_scheduler")
    for value in (0, 1, 0, 1):
        clients.enqueue({endpoint: ["thing/door"]}, value)
    receiver.status["/500/door"] = 200
    assert wait_until(lambda: is_over(group), 60)
    assert [call.json["value"] for call in receiver.taken()] == [1]
    rows = group.rows("SELECT id, status, superseded_by_id FROM notifications_delivery ORDER BY id")
    assert [status for _, status, _ in rows] == ["superseded"] * 3 + ["delivered"]
    assert all(successor == following for (_, _, successor), (following, _, _) in itertools.pairwise(rows))


def test_without_a_broker_deliveries_and_the_alert_about_it_still_go_out(
    group: ProcessGroup, receiver: Receiver
) -> None:
    endpoint = (clients := Clients(group, receiver)).register("/200/a")
    with mail_server() as server:
        group.product.environment |= {
            "AMQP_URL": f"amqp://guest:guest@127.0.0.1:{find_free_port()}/",
            "EMAIL_URL": f"smtp://127.0.0.1:{server.port}",
            "ADMIN_EMAIL": "ops@example.org",
        }
        group.start("one", "run_scheduler")
        clients.enqueue({endpoint: ["thing/1"]}, 1)
        assert wait_until(lambda: statuses(group, endpoint) == {"delivered": 1}, 60), group.logs()
        assert wait_until(lambda: bool(server.inbox), 90), group.logs()
    [(to, message), *_] = server.inbox
    assert to == "ops@example.org"
    assert "RabbitMQ" in str(message["subject"])
