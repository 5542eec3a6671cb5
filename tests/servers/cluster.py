"""A PostgreSQL primary with two standbys, each of which can be cut off, promoted, killed and made anew."""

import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import psycopg

from tests.servers.packages import get_program
from tests.servers.postgres import SETTINGS, SUPERUSER, WITHOUT_FSYNC, PostgresServer
from tests.servers.private_server import HOST, ServerFailed

NAMES = ("one", "two", "three")
NOWHERE = "host=127.0.0.1 port=1"
# The same for whoever is primary: its own name is in the list and never calls.
QUORUM = f"ANY 1 ({', '.join(NAMES)})"
OF_A_NODE = {
    "wal_retrieve_retry_interval": "200ms",
    # Whoever is copied or was cut off finds here what it has missed.
    "wal_keep_size": "1GB",
    "shared_buffers": "32MB",
    "max_connections": "100",
}
READY_SECONDS = 120


class Node(PostgresServer):
    """One server of a cluster: made by itself, or as a copy of another one that it follows."""

    def __init__(self, label: str) -> None:
        super().__init__(fsync=False)
        self.label = label
        self._source: Node | None = None
        self._settings = SETTINGS | WITHOUT_FSYNC | OF_A_NODE

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement outside of a transaction."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def set(self, name: str, value: str) -> None:
        """Change a setting of the running server."""
        self.run(f"ALTER SYSTEM SET {name} = '{value}'")
        self.run("SELECT pg_reload_conf()")

    def follow(self, source: "Node | None") -> None:
        """Receive from that server from now on, or from nobody, as when the line to it is cut."""
        self.set("primary_conninfo", NOWHERE if source is None else self._address_of(source))
        _await(lambda: self.is_receiving == (source is not None), f"{self.label} does not follow")

    @property
    def is_receiving(self) -> bool:
        return bool(self.run("SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'"))

    @property
    def received(self) -> int:
        """How far the log has come here, in bytes."""
        [(bytes_,)] = self.run("SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')")
        return int(bytes_)

    def become_copy_of(self, source: "Node") -> None:
        """Have the next start begin with a copy of that server."""
        self._source, self._is_prepared = source, False
        if self._data.exists():
            shutil.rmtree(self._data)

    def promote(self) -> None:
        assert self.run("SELECT pg_promote(true, 60)") == [(True,)]

    def _prepare(self) -> None:
        super()._prepare()
        self._data.chmod(0o700)

    def _initdb(self) -> list[str]:
        if self._source is None:
            return super()._initdb()
        program = get_program("/usr/lib/postgresql/*/bin/pg_basebackup", "pg_basebackup")
        copy = ["-D", str(self._data), "--wal-method=stream", "--checkpoint=fast", "--no-sync"]
        return [program, *copy, "--write-recovery-conf", "-d", self._address_of(self._source)]

    def _address_of(self, source: "Node") -> str:
        return f"host={HOST} port={source.port} user={SUPERUSER} application_name={self.label}"


class Cluster:
    """Three nodes, the first of which is the primary at first. A commit is done when one standby has it."""

    def __init__(self, *, standby_names: str = QUORUM) -> None:
        self.nodes = [Node(name) for name in NAMES]
        self.primary = self.nodes[0]
        self._standby_names = standby_names

    @property
    def standbys(self) -> list[Node]:
        return [node for node in self.nodes if node is not self.primary]

    def url(self, database: str = "postgres") -> str:
        """Give the address of all three; clients find the one that takes writes."""
        return f"postgresql://{SUPERUSER}@{','.join(f'{HOST}:{node.port}' for node in self.nodes)}/{database}"

    def replicate(self) -> None:
        """Copy the primary, which has been started and filled, and from now on wait for the standbys."""
        self.primary.run(f"ALTER SYSTEM SET synchronous_standby_names = '{self._standby_names}'")
        for node in self.standbys:
            node.become_copy_of(self.primary)
        with ThreadPoolExecutor() as threads:
            list(threads.map(Node.start, self.standbys))
        self.primary.run("SELECT pg_reload_conf()")
        self.await_standbys(2)

    def await_standbys(self, count: int) -> None:
        streaming = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
        _await(lambda: len(self.primary.run(streaming)) >= count, "the standbys do not follow")

    def fail_over(self, *, kill: bool = True) -> Node:
        """Kill the primary, promote whom it has told most, let the other follow; return the old one.

        Where it is not killed, the standbys must have been cut off: then it goes on alone.
        """
        old, standbys = self.primary, self.standbys
        if kill:
            old.kill()
        _await(lambda: not any(node.is_receiving for node in standbys), "a standby still receives")
        other, self.primary = sorted(standbys, key=lambda node: node.received)
        self.primary.promote()
        other.follow(self.primary)
        return old

    def renew(self, node: Node) -> None:
        """Make a standby of a former primary: a copy of the present one in the place of its own data."""
        node.stop()
        node.become_copy_of(self.primary)
        node.start()
        self.await_standbys(2)

    def close(self) -> None:
        with ThreadPoolExecutor() as threads:
            list(threads.map(Node.close, self.nodes))

    def __enter__(self) -> Self:
        try:
            self.primary.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _await(is_true: Callable[[], bool], problem: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not is_true():
        if time.monotonic() > deadline:
            raise ServerFailed(problem)
        time.sleep(0.02)
