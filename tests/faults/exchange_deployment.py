"""A deployment that serves an exchange: two web nodes, two workers and a scheduler, killed and started at will."""

import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.forkserver import ForkedProcess
from tests.faults.product import Product
from tests.faults.wait import wait_until
from tests.servers.private_server import HOST

# What each says when it has started.
GREETINGS = {"run_web": "web.started", "run_worker": " ready.", "run_scheduler": "scheduler.started"}


class DeployedProcess:
    """One process under a name; after a restart it has the same port and the same folder."""

    def __init__(self, name: str, command: str, product: Product) -> None:
        self.name, self._command, self._product = name, command, product
        self._log = product.folder / f"{name}.log"
        self._process: ForkedProcess | None = None
        self._said_before = 0

    def start(self) -> None:
        self._said_before = self._log.stat().st_size if self._log.exists() else 0
        self._process = self._product.fork(self._command, log=self._log)

    @property
    def is_up(self) -> bool:
        with self._log.open() as log:
            log.seek(self._said_before)
            return GREETINGS[self._command] in log.read()

    def kill(self) -> None:
        """Kill it and what it has started at one stroke."""
        assert self._process is not None
        for pid in (self._process.pid, *_children(self._process.pid)):
            _kill(pid)
        self._process.wait()

    def kill_a_child(self, chance: random.Random) -> bool:
        """Kill one of the processes that it has started, if there are any; it goes on itself."""
        assert self._process is not None
        children = _children(self._process.pid)
        if children:
            _kill(chance.choice(children))
        return bool(children)


class Deployment:
    """Two web nodes, two workers and a scheduler."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.database = variables["DATABASE_URL"]
        self.folder = folder
        self._nodes = nodes = [Product(folder, **variables) for _ in range(2)]
        self.urls = [f"http://{HOST}:{node.port}" for node in nodes]
        self.members = [DeployedProcess(f"web-{number}", "run_web", node) for number, node in enumerate(nodes)]
        self.members += [DeployedProcess(f"worker-{number}", "run_worker", nodes[0]) for number in range(2)]
        self.members.append(DeployedProcess("scheduler", "run_scheduler", nodes[0]))
        self.kills: Counter[str] = Counter()

    @property
    def messages(self) -> Path:
        return Path(self._nodes[0].environment["DATA_DIR"]) / "messages"

    def start(self) -> None:
        for member in self.members:
            member.start()
        assert self.is_up_within(120), self.logs()

    def is_up_within(self, seconds: float) -> bool:
        return wait_until(lambda: all(member.is_up for member in self.members), seconds)

    def strike(self, chance: random.Random) -> None:
        """Kill a random one as `kill -9` does, and start it again; sometimes two, sometimes only a worker's child."""
        for member in chance.sample(self.members, chance.choice([1, 1, 1, 2])):
            kind = member.name.partition("-")[0]
            if chance.random() < 0.3 and member.kill_a_child(chance):
                self.kills[f"{kind}'s child"] += 1
                continue
            member.kill()
            member.start()
            self.kills[kind] += 1

    def end(self) -> None:
        for member in self.members:
            member.kill()
        for node in self._nodes:
            node.close()

    def manage(self, *arguments: str) -> None:
        self._nodes[0].run(*arguments)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(statement, values).fetchall()

    def logs(self) -> str:
        return "\n".join(log.read_text()[-1500:] for log in self.folder.glob("*.log"))


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it has ended by itself: a child of one that was killed a moment before
