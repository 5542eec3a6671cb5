"""Writer, Coordinator and Reader as processes of their own over RabbitMQ, killed at random while two callers write:
both sides end equal, each change set has one end, and the reader never shows part of one."""

import http.client
import json
import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.engines.amqp import connect
from tests.conftest import ServerAddresses
from tests.faults.forkserver import ForkedProcess
from tests.faults.product import Product, migrated_database, own_database
from tests.faults.wait import wait_until
from tests.servers.private_server import HOST

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
SETS = max(30, int(1500 * SCALE))
ROLES = ("writer", "coordinator", "reader/main")
pytestmark = [pytest.mark.broker, pytest.mark.timeout(1800)]
ROWS = "SELECT id, name, correlation_id FROM {} ORDER BY id"
UNENDED = "SELECT id, app_event_status_id, is_published, reason, steps FROM {} WHERE app_event_status_id NOT IN (9, 11)"
UNDER_WAY = "SELECT count(*) FROM coordination_appevent WHERE app_event_status_id NOT IN (9, 11)"


class Deployment:
    """The processes, and those who write and watch."""

    def __init__(self, folder: Path, database: str, reader: str, amqp: str) -> None:
        self.database, self.reader = database, reader
        variables = {"DATABASE_URL": database, "READER_DATABASE_URL": reader, "AMQP_URL": amqp}
        self.product = Product(folder, COORDINATION_PARALLEL="20", **variables)
        self.product.copy_template()
        self.product.run("prepare", "--skip-checks")
        self.key = self.product.manage("create_key", "deployment", "--scope", "coordination").stdout.strip()
        self.roles: dict[str, ForkedProcess] = {}
        self.web = self.product.fork("run_web", log=folder / "web.log")
        for role in ROLES:
            self.start(role)
        assert wait_until(lambda: self.product.get("/healthz")[0] == 200, 60), (folder / "web.log").read_text()

    def start(self, role: str) -> None:
        log = self.product.folder / f"{role.partition('/')[0]}.log"
        self.roles[role] = self.product.fork("run_coordination", "--role", role, log=log)

    def kill(self, role: str) -> None:
        self.roles[role].kill()
        self.roles[role].wait()

    def end(self) -> None:
        for child in (self.web, *self.roles.values()):
            child.kill()
            child.wait()
        self.product.close()

    def write(self, seed: int) -> None:
        """Make pairs, rename pairs, delete pairs: both rows of a pair always change in one set."""
        choice = random.Random(seed)
        pairs: list[list[int]] = []
        for number in range(SETS // 2):
            kind = choice.choice(["insert", "update", "delete"]) if len(pairs) > 3 else "insert"
            if kind == "insert":
                changes = [{"entity": "dummy-items", "op": "insert", "fields": {"name": f"{seed}-{number}"}}] * 2
                pairs.append(self._change(changes, f"{seed}-{number}"))
                continue
            pair = choice.choice(pairs)
            fields = {"fields": {"name": f"{seed}-{number}"}} if kind == "update" else {}
            self._change([{"entity": "dummy-items", "op": kind, "id": pk, **fields} for pk in pair], f"{seed}-{number}")
            if kind == "delete":
                pairs.remove(pair)

    def _change(self, changes: list[dict[str, Any]], key: str) -> list[int]:
        caller = http.client.HTTPConnection(HOST, self.product.port, timeout=120)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", "Idempotency-Key": key}
        caller.request("POST", "/api/v1/coordination/writer/changes/", json.dumps({"changes": changes}), headers)
        answer = caller.getresponse()
        body = json.loads(answer.read())
        caller.close()
        assert answer.status == 202, body
        return list(body["id"])

    def rows(self, database: str, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(database) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
def _empty_queues(servers: ServerAddresses, settings: Any) -> None:
    settings.AMQP_URL = servers.amqp
    connection = connect()
    for queue in ("writer", "coordinator", "reader.main"):
        connection.channel().queue_delete(f"coordination.{queue}")
    connection.close()


@pytest.fixture
def deployment(tmp_path: Path, servers: ServerAddresses, _empty_queues: None) -> Iterator[Deployment]:
    with migrated_database(servers.database) as database, own_database(servers.database) as reader:
        deployment = Deployment(tmp_path, database, reader, servers.amqp)
        try:
            yield deployment
        finally:
            deployment.end()


def test_killed_roles_lose_nothing_and_do_nothing_twice(deployment: Deployment) -> None:
    torn: list[tuple[Any, ...]] = []
    over = threading.Event()
    with ThreadPoolExecutor() as threads:
        watching = threads.submit(watch, deployment, over, torn)
        writing = [threads.submit(deployment.write, seed) for seed in (1, 2)]
        kills = kill_until(deployment, lambda: all(each.done() for each in writing))
        for each in writing:
            each.result()
        assert wait_until(lambda: deployment.rows(deployment.database, UNDER_WAY) == [(0,)], 120), logs(deployment)
        over.set()
        looks = watching.result()
    committed, events = deployment.rows(
        deployment.database,
        "SELECT count(*) FILTER (WHERE app_event_status_id = 9), count(*) FROM coordination_appevent",
    )[0]
    print(f"{events} events, {kills} kills, {looks} looks at the reader")
    assert committed == events == 2 * (SETS // 2)
    assert torn == []
    assert deployment.rows(deployment.database, ROWS.format("coordination_dummyitem")) == deployment.rows(
        deployment.reader, ROWS.format("coordination_reader_dummyitem")
    )
    told = "SELECT count(*), count(DISTINCT subject) FROM notifications_event WHERE type = 'coordination.committed'"
    assert deployment.rows(deployment.database, told) == [(events, events)]
    assert kills > 0


def kill_until(deployment: Deployment, is_over: Any) -> int:
    choice, kills = random.Random(3), 0
    while not is_over() or kills < len(ROLES):
        time.sleep(choice.uniform(0.2, 1.0))
        role = ROLES[kills % len(ROLES)] if kills < len(ROLES) else choice.choice(ROLES)
        deployment.kill(role)
        deployment.start(role)
        kills += 1
    return kills


def watch(deployment: Deployment, over: threading.Event, torn: list[tuple[Any, ...]]) -> int:
    """Look for pairs of which the reader shows one half."""
    looks = 0
    statement = "SELECT name, count(*) FROM coordination_reader_dummyitem GROUP BY name HAVING count(*) <> 2"
    with psycopg.connect(deployment.reader, autocommit=True) as connection:
        while not over.wait(0.005):
            torn += connection.execute(statement).fetchall()
            looks += 1
    return looks


def logs(deployment: Deployment) -> str:
    """Say what has not ended and how far each side is with it, and what the processes said last."""
    of_writer = deployment.rows(deployment.database, UNENDED.format("coordination_appevent"))
    of_coordinator = deployment.rows(deployment.database, UNENDED.format("coordination_writerevent"))
    of_reader = deployment.rows(deployment.reader, UNENDED.format("coordination_reader_appevent"))
    said = [log.read_text()[-3000:] for log in sorted(deployment.product.folder.glob("*.log"))]
    return "\n".join([*map(str, (of_writer, of_coordinator, of_reader)), *said])
