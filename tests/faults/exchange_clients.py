"""Clients of an exchange with several nodes: they call the one that answers, repeat, die and come back."""

import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from config.common.key_text import make_key
from messaging.simulation.calls import Answer, Calls, NoAnswer
from processes.exchange.reference.client import Server
from processes.exchange.reference.erp import Options, Outcome
from processes.exchange.reference.faults import Faults, Rates
from processes.exchange.reference.ledger import open_store
from processes.exchange.reference.loop import Erp

ENTERPRISE, SUBSYSTEM = "acme", "sales"


def register(url: str, *, databases: int, devices: int) -> dict[str, str]:
    """Make an enterprise with so many databases and devices; return the key of each."""
    named = [("database", f"erp-{n}") for n in range(databases)] + [("device", f"phone-{n}") for n in range(devices)]
    made = {id: make_key(kind) for kind, id in named}
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO messaging_enterprise (id, name, active) VALUES (%s, 'Acme', true)", [ENTERPRISE])
        cursor.execute(
            "INSERT INTO messaging_subsystem (id, enterprise_id, name) VALUES (%s, %s, 'Sales')",
            [SUBSYSTEM, ENTERPRISE],
        )
        for kind, id in named:
            table, column, owner = _HOMES[kind]
            cursor.execute(
                f"INSERT INTO {table} (id, {column}, name, active) VALUES (%s, %s, %s, true)", [id, owner, id]
            )
            cursor.execute(
                "INSERT INTO records_accesskey (name, kind, subject, scopes, prefix, digest)"
                " VALUES (%s, %s, %s, '[]', %s, %s)",
                [id, kind, id, made[id].prefix, made[id].digest],
            )
    return {id: key.text for id, key in made.items()}


_HOMES = {
    "database": ("messaging_exchangedatabase", "enterprise_id", ENTERPRISE),
    "device": ("messaging_device", "subsystem_id", SUBSYSTEM),
}


class CallsOfNodes(Calls):
    """Calls one node for as long as it answers, then the next."""

    def __init__(self, urls: Sequence[str], key: str, *, first: int = 0) -> None:
        self._nodes = [Calls(url, key) for url in (*urls[first:], *urls[:first])]

    def call(self, method: str, path: str, body: bytes | None = None) -> Answer:
        try:
            return self._nodes[0].call(method, path, body)
        except NoAnswer:
            self._nodes.append(self._nodes.pop(0))
            raise

    def close(self) -> None:
        for node in self._nodes:
            node.close()


class ServerOfNodes(Server):
    def __init__(self, urls: Sequence[str], key: str, *, first: int = 0) -> None:
        super().__init__(urls[0], key, repeats=8, pause=0.1)
        self._calls = CallsOfNodes(urls, key, first=first)


class Died(BaseException):
    """The ERP's process is gone: nothing of it catches this."""


@dataclass
class RestartingErp:
    """An ERP that dies at random and starts again, which settles what was left open."""

    id: str
    server: Server
    store: Path
    rates: Rates
    away: float
    """For how many seconds it may stay away: longer than the server's patience, so that there is doubt."""
    stop: threading.Event = field(default_factory=threading.Event)
    endings: Counter[str] = field(default_factory=Counter)
    deaths: int = 0

    def __post_init__(self) -> None:
        self.faults = Faults(self.rates, seed=1, die=_die)

    def run(self) -> None:
        chance = random.Random(self.id)
        while not self.stop.is_set():
            try:
                self._live()
            except Died:
                self.deaths += 1
                self.stop.wait(chance.choice([0.0, self.away]))

    def _live(self) -> None:
        store = open_store(str(self.store))
        try:
            erp = Erp(self.server, store, Options(worker=self.id), self.faults, self.stop)
            erp.run_until(lambda outcome: False, every=0.5, report=self._note)
        finally:
            store.close()  # undoes what was not committed, as the end of a process does

    def _note(self, outcome: Outcome) -> None:
        self.endings[outcome.ending] += 1


def _die() -> Any:
    raise Died
