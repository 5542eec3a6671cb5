"""The reference ERP at the fake message server, with deaths and new lives on one database of its own."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pytest

from processes.exchange.reference.client import Server
from processes.exchange.reference.erp import Options, Outcome, exchange_once, recover
from processes.exchange.reference.hooks import Hooks, Point
from processes.exchange.reference.ledger import count_effects, open_store, read_balances
from processes.exchange.reference.store import Store
from tests.processes.exchange.reference.fake_server import FakeServer


class Crashed(BaseException):
    """Stands for the death of the ERP's process."""


class CrashAt(Hooks):
    """Die once, at one point."""

    def __init__(self, point: Point) -> None:
        self._point: Point | None = point

    def reached(self, point: Point, process_id: str) -> None:
        if point == self._point:
            self._point = None
            raise Crashed


@dataclass
class Bench:
    fake: FakeServer
    url: str
    address: str

    def __post_init__(self) -> None:
        self._open()

    def exchange(
        self, hooks: Hooks | None = None, stopped: Callable[[], bool] = lambda: False, **options: object
    ) -> Outcome:
        return exchange_once(self.server, self.store, Options(**options), hooks, stopped)  # type: ignore[arg-type]

    def crash(self, point: Point) -> None:
        """Exchange, die at the point, and begin a new life."""
        with pytest.raises(Crashed):
            self.exchange(CrashAt(point))
        self.restart()

    def restart(self) -> None:
        """Drop what the old life had not committed, and heal."""
        self.close()
        self._open()
        recover(self.server, self.store)

    def effects(self) -> dict[str, int]:
        return dict(count_effects(self.store))

    def balance(self) -> int:
        return read_balances(self.store).get("cash", 0)

    def close(self) -> None:
        self.store.close()
        self.server.close()

    def _open(self) -> None:
        self.store: Store = open_store(self.address)
        self.server = Server(self.url, "erp", timeout=20, repeats=3, pause=0.01)


@contextmanager
def schema_of_its_own(database: str) -> Iterator[str]:
    """Yield the address of an empty schema on a PostgreSQL server."""
    name = f"erp_{uuid.uuid4().hex}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"')
        try:
            yield f"{database}?options=-csearch_path%3D{name}"
        finally:
            connection.execute(f'DROP SCHEMA "{name}" CASCADE')
