"""A deployment on a cluster of PostgreSQL and its users, who remember everything that was acknowledged to them."""

import itertools
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from cryptography.fernet import Fernet

from config.common.key_text import make_key
from messaging.simulation.calls import NoAnswer, Refused, encode
from messaging.simulation.devices import Device, make_payload
from messaging.simulation.journal import Journal
from processes.exchange.reference.erp import Ending, Outcome
from processes.exchange.reference.faults import Rates
from tests.faults.exchange_clients import CallsOfNodes, RestartingErp, ServerOfNodes, register
from tests.faults.exchange_deployment import DeployedProcess
from tests.faults.product import Product, migrate
from tests.faults.scripted.handler import LOG
from tests.faults.wait import wait_until
from tests.processes.workflows.process_files import chain, user
from tests.servers.cluster import Cluster
from tests.servers.private_server import HOST
from tests.webhook_receiver import Receiver

DATABASE = "postern"
THEME = 1
FIELD_KEY = Fernet.generate_key().decode()
PATIENCE = 6
"""Seconds that an exchange process is given for each of its steps."""
PAUSE = 0.1
LATER = 86_400.0
PROCESS = chain("drill", user("first"), user("second")).decode()


class Deployment:
    """Two web nodes and a scheduler, which are told of all the hosts once and for all."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.folder, self._cluster = folder, cluster
        self.log = folder / "repeats"
        self._nodes = nodes = [Product(folder, **self._variables()) for _ in range(2)]
        self._product = nodes[0]
        self.urls = [f"http://{HOST}:{node.port}" for node in nodes]
        self._members = [DeployedProcess(f"web-{number}", "run_web", node) for number, node in enumerate(nodes)]
        self._members.append(DeployedProcess("scheduler", "run_scheduler", nodes[0]))

    @property
    def messages(self) -> Path:
        return Path(self._product.environment["DATA_DIR"]) / "messages"

    @property
    def database(self) -> str:
        """The address of the present primary alone, for the drill itself."""
        return f"{self._cluster.primary.url.rpartition('/')[0]}/{DATABASE}"

    def prepare(self) -> None:
        self._cluster.primary.run(f"CREATE DATABASE {DATABASE}")
        migrate(self.database)

    def start(self) -> None:
        for member in self._members:
            member.start()

    def await_start(self) -> None:
        assert wait_until(lambda: all(member.is_up for member in self._members), 120), self.logs()

    def end(self) -> None:
        for member in self._members:
            member.kill()
        for node in self._nodes:
            node.close()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(statement, values).fetchall()

    def logs(self) -> str:
        return "\n".join(log.read_text()[-3000:] for log in self.folder.glob("*.log"))

    def _variables(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self._cluster.url(DATABASE),
            "DJANGO_SETTINGS_MODULE": "tests.faults.scripted.settings",
            "FIELD_KEYS": FIELD_KEY,
            "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.1/32",
            "DELIVERY_BASE_SECONDS": "1",
            "EXCHANGE_STARTED_TIMEOUT": str(PATIENCE),
            "EXCHANGE_READY_TIMEOUT": str(PATIENCE),
            LOG: str(self.log),
        }


class User(ABC):
    """Does the same thing again and again, each time something new; what has no answer may have been done or not."""

    def __init__(self) -> None:
        self.answered = 0

    def run(self, stop: threading.Event) -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            try:
                self.step(number)
                self.answered += 1
            except NoAnswer:
                stop.wait(PAUSE)

    @abstractmethod
    def step(self, number: int) -> None: ...


class Saver(User):
    """Saves sessions, some for a moment later and some for tomorrow."""

    def __init__(self, calls: CallsOfNodes) -> None:
        super().__init__()
        self._calls = calls
        self.acknowledged: dict[int, float] = {}
        """The delay of each session whose saving was answered."""

    def step(self, number: int) -> None:
        made = self._calls.call("POST", "/sessions/", encode({"theme": THEME, "records": ["tell"]})).json
        delay = LATER if number % 3 == 0 else 0.1
        saved = encode({"change": made["change"], "delay": delay})
        try:
            self._calls.call("POST", f"/sessions/{made['id']}/save/", saved)
        except Refused as refused:
            raise NoAnswer("it lay too long, and was saved without being asked for") from refused
        self.acknowledged[made["id"]] = delay


class Signaller(User):
    """Opens one door after the other: each is news to a client."""

    def __init__(self, calls: CallsOfNodes) -> None:
        super().__init__()
        self._calls = calls
        self.acknowledged: set[str] = set()

    def step(self, number: int) -> None:
        sensor = f"s{number}"
        answer = self._calls.call("POST", "/signals/", encode({"sensor_id": sensor, "data": 1}))
        assert answer.json["accepted"] == 1, answer.json
        self.acknowledged.add(sensor)


class Conductor(User):
    """Starts one instance of a process after the other, completes its first task and leaves it at the second."""

    def __init__(self, calls: CallsOfNodes) -> None:
        super().__init__()
        self._calls = calls
        self._is_published = False
        self.acknowledged: dict[str, int] = {}
        """The version of each instance that the last answer about it told."""

    def step(self, number: int) -> None:
        if not self._is_published:
            self._calls.call("POST", "/workflows/definitions/", encode({"source": PROCESS}))
            self._is_published = True
        begun = self._calls.call("POST", "/workflows/instances/", encode({"definition": "drill"})).json
        self.acknowledged[begun["id"]] = begun["version"]
        task = begun["tasks"][0]["id"]
        command = encode({"command": "complete_task", "task": task, "variables": {"number": number}})
        try:
            done = self._calls.call("POST", f"/workflows/instances/{begun['id']}/commands/", command).json
        except Refused as refused:
            raise NoAnswer("it was done, and the answer was lost") from refused
        self.acknowledged[begun["id"]] = done["version"]


class Sender(User):
    """Devices that send messages to the ERPs, repeat what was not answered, and fetch the replies."""

    def __init__(self, devices: Sequence[Device], databases: Sequence[str]) -> None:
        super().__init__()
        self._devices, self._databases = devices, databases
        self._chance = random.Random(3)

    def step(self, number: int) -> None:
        device = self._devices[number % len(self._devices)]
        if not device.resend() or not device.send(self._chance.choice(self._databases), make_payload(self._chance)):
            raise NoAnswer("the message is sent again")
        if number % 5 == 0:
            device.collect()

    def finish(self) -> None:
        for device in self._devices:
            device.resend()
            device.collect()


class RecordingErp(RestartingErp):
    """An ERP that remembers which of its processes it was told are done."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.done: set[str] = set()

    def _note(self, outcome: Outcome) -> None:
        super()._note(outcome)
        if outcome.ending == Ending.DONE:
            self.done.add(outcome.process_id)


@dataclass
class _Wait:
    """For answers to one user."""

    user: User
    until: int
    answered_at: float
    first_at: float = 0.0

    def __post_init__(self) -> None:
        self._last = self.user.answered

    def is_over(self) -> bool:
        if self.user.answered > self._last:
            self._last, self.answered_at = self.user.answered, time.monotonic()
            self.first_at = self.first_at or self.answered_at
        return self._last >= self.until

    def is_short(self, seconds: float) -> bool:
        return self._last >= self.until or time.monotonic() - self.answered_at < seconds


class Scenario:
    """All who use the product, in threads of this process."""

    def __init__(self, app: Deployment, receiver: Receiver, *, databases: int, devices: int, sensors: int) -> None:
        self.deployment, self.receiver = app, receiver
        self.journal = Journal(app.folder / "journal")
        keys = register(app.database, databases=databases, devices=devices)
        service = register_service(app.database)
        register_sensors(app.database, receiver.url("/200/a"), sensors)
        register_theme(app.database)
        self._calls = [CallsOfNodes(app.urls, service, first=first) for first in (0, 1, 0)]
        self.saver, self.signaller = Saver(self._calls[0]), Signaller(self._calls[1])
        self.conductor = Conductor(self._calls[2])
        phones = [
            Device(id, CallsOfNodes(app.urls, key), self.journal) for id, key in keys.items() if id.startswith("phone")
        ]
        erps = [id for id in keys if id.startswith("erp")]
        self.sender = Sender(phones, erps)
        self._devices = phones
        self.erps = [
            RecordingErp(id, ServerOfNodes(app.urls, keys[id], first=1), app.folder / id, Rates(), away=0.0)
            for id in erps
        ]
        self._stop = threading.Event()
        self._threads = ThreadPoolExecutor(len(self.users) + len(self.erps))
        self._work: list[Future[None]] = []

    @property
    def users(self) -> list[User]:
        return [self.saver, self.signaller, self.sender, self.conductor]

    def start(self) -> None:
        self._work = [self._threads.submit(user.run, self._stop) for user in self.users]
        self._work += [self._threads.submit(erp.run) for erp in self.erps]

    def go_on(self, times: int, seconds: float) -> float:
        """Wait until each user was answered so many times more, each time within so long; say how long the first took.

        How long it takes them all depends on the machine.
        """
        began = time.monotonic()
        waits = [_Wait(user, user.answered + times, began) for user in self.users]
        while not all([wait.is_over() for wait in waits]):
            self._raise_errors()
            assert all(wait.is_short(seconds) for wait in waits), (waits, self.deployment.logs())
            time.sleep(0.02)
        return max(wait.first_at for wait in waits) - began

    def come_to_rest(self, seconds: float, unsettled: str) -> None:
        """Start nothing new, and wait until everything that was begun is over."""
        self._stop.set()
        for work in self._work[: len(self.users)]:
            work.result(60)
        assert wait_until(lambda: self._is_at_rest(unsettled), seconds), (self._open(unsettled), self.deployment.logs())
        for erp in self.erps:
            erp.stop.set()
        for work in self._work:
            work.result(60)

    def close(self) -> None:
        self._stop.set()
        with ExitStack() as last:
            last.callback(self.journal.close)
            for erp in self.erps:
                erp.stop.set()
                last.callback(erp.server.close)
            for calls in self._calls:
                last.callback(calls.close)
            for device in self._devices:
                last.callback(device.close)
            last.callback(self._threads.shutdown)

    def _is_at_rest(self, unsettled: str) -> bool:
        self._raise_errors()
        self.sender.finish()
        return not any(self._open(unsettled).values())

    def _open(self, unsettled: str) -> dict[str, int]:
        totals = self.journal.totals()
        statements = {
            "exchange": unsettled,
            "sessions": "SELECT count(*) FROM notifications_repeatsession WHERE due_at < now() + interval '1 hour'",
            "deliveries": "SELECT count(*) FROM notifications_delivery WHERE status = 'pending'",
        }
        counts = {name: self.deployment.rows(statement)[0][0] for name, statement in statements.items()}
        return {
            **counts,
            "unanswered": totals.written - totals.accepted - totals.refused,
            "unconfirmed": totals.fetched - totals.confirmed,
        }

    def _raise_errors(self) -> None:
        for work in self._work:
            if work.done():
                work.result()


def register_service(url: str) -> str:
    """Make a key for signals, sessions and workflows."""
    key = make_key("service")
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO records_accesskey (name, kind, subject, scopes, prefix, digest)"
            """ VALUES ('drill', 'service', '', '["signals:write", "sessions", "workflows:write"]', %s, %s)""",
            [key.prefix, key.digest],
        )
    return key.text


def register_sensors(url: str, webhook: str, count: int) -> None:
    """Make closed doors, and a client that is told about each."""
    secret = Fernet(FIELD_KEY).encrypt(f"whsec_{'A' * 43}=".encode())
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO notifications_endpoint (id, url, secret, active, paused, off_reason, failures, is_back) "
            "VALUES (1, %s, %s, true, false, '', 0, false)",
            [webhook, secret],
        )
        connection.execute("INSERT INTO sensors_client (id, name, endpoint_id, active) VALUES (1, 'a', 1, true)")
        connection.execute(
            "INSERT INTO sensors_sensor (id, address, notes, active, heartbeat_timeout) "
            "SELECT 's' || n, 'x', '', true, 3600 FROM generate_series(0, %s) AS n",
            [count - 1],
        )
        connection.execute("INSERT INTO sensors_sensorclient (sensor_id, client_id) SELECT id, 1 FROM sensors_sensor")
        connection.execute(
            "INSERT INTO sensors_sensorstate (sensor_id, value, changed_at, last_at, last_id) "
            "SELECT id, 0, now() - interval '1 hour', now() - interval '1 hour', '' FROM sensors_sensor"
        )


def register_theme(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO notifications_theme "
            "(number, timeout, repeat_limit, length_limit, delay, jitter, handler, url) "
            "VALUES (%s, 3, 1000, 500, 0.5, 0.5, 'scripted', '')",
            [THEME],
        )
