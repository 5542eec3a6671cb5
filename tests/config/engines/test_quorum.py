"""What a client may take for done on a server whose standbys do not confirm."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection as product_connection
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from config.common.database.failures import OUTCOME_UNKNOWN
from config.engines import postgresql, quorum
from config.engines.quorum import NotConfirmed, QuorumConnection
from tests.faults.wait import wait_until
from tests.servers.postgres import PostgresServer
from tests.servers.private_server import HOST, find_free_port

pytestmark = pytest.mark.xdist_group("quorum")

# What a session says that does not want to wait; so the server can be prepared, and a connection pass the proof.
IMPATIENT = "-c synchronous_commit=local"


class DeafServer(PostgresServer):
    """A primary whose commits wait for a standby that there is not."""

    def __init__(self) -> None:
        super().__init__(fsync=False)
        self._settings = {**self._settings, "synchronous_standby_names": "nobody"}

    @property
    def address(self) -> dict[str, Any]:
        return {"host": HOST, "port": str(self.port), "user": "postgres", "dbname": "postgres", "autocommit": True}

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(**self.address, options=IMPATIENT) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def waits(self, pid: int | None = None) -> bool:
        of_one = "" if pid is None else f" AND pid = {pid}"
        return bool(self.run(f"SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'{of_one}"))

    def later(self, function: str, pid: int) -> threading.Thread:
        """Call a function about a session as soon as it waits."""

        def call() -> None:
            assert wait_until(lambda: self.waits(pid), 60)
            self.run(f"SELECT {function}(%s)", pid)

        thread = threading.Thread(target=call)
        thread.start()
        return thread


@pytest.fixture(scope="module")
def server() -> Iterator[DeafServer]:
    with DeafServer() as server:
        server.run("CREATE TABLE done (number int)")
        yield server


@pytest.fixture
def connection(server: DeafServer) -> Iterator[QuorumConnection]:
    """One that was opened while a standby still confirmed."""
    connection = QuorumConnection.connect(**server.address, options=IMPATIENT)
    connection.execute("SET synchronous_commit = on")
    yield connection
    connection.close()
    server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    server.run("TRUNCATE done")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum, "PROOF_SECONDS", 0.2)
    monkeypatch.setattr(quorum, "SILENCE_SECONDS", 0.3)


@pytest.mark.usefixtures("impatient")
class TestConnect:
    def test_a_server_whose_standbys_do_not_confirm_is_none_and_keeps_no_session(self, server: DeafServer) -> None:
        with pytest.raises(NotConfirmed):
            QuorumConnection.connect(**server.address)
        assert wait_until(lambda: not server.waits(), 60)

    def test_hosts_are_tried_in_turn_and_the_last_good_one_first(self, server: DeafServer) -> None:
        ports = f"{find_free_port()},{server.port}"
        address = {**server.address, "host": f"{HOST},{HOST}", "port": ports, "options": IMPATIENT}
        QuorumConnection.connect(**address).close()
        assert quorum._in_order((address["host"], ports))[0] == (HOST, str(server.port))

    def test_the_error_names_every_host(self, server: DeafServer) -> None:
        dead = find_free_port()
        with pytest.raises(psycopg.OperationalError, match=rf":{dead}: .*refused(.|\n)*:{server.port}: no standby"):
            QuorumConnection.connect(**{**server.address, "host": f"{HOST},{HOST}", "port": f"{dead},{server.port}"})


def write(connection: QuorumConnection) -> None:
    connection.execute("INSERT INTO done VALUES (1)")


def commit(connection: QuorumConnection) -> None:
    connection.autocommit = False
    connection.execute("INSERT INTO done VALUES (1)")
    connection.commit()


@pytest.mark.parametrize("work", [write, commit])
class TestCommit:
    def test_a_cancelled_wait_is_no_success(
        self, work: Callable[[QuorumConnection], None], server: DeafServer, connection: QuorumConnection
    ) -> None:
        """PostgreSQL reports success and a warning, and the row is there: a driver alone would call it done."""
        other = server.later("pg_cancel_backend", connection.info.backend_pid)
        with pytest.raises(NotConfirmed):
            work(connection)
        other.join()
        assert connection.closed
        assert server.run("SELECT number FROM done") == [(1,)]

    def test_a_session_that_is_ended_while_it_waits_is_no_success(
        self, work: Callable[[QuorumConnection], None], server: DeafServer, connection: QuorumConnection
    ) -> None:
        other = server.later("pg_terminate_backend", connection.info.backend_pid)
        with pytest.raises(psycopg.OperationalError):
            work(connection)
        other.join()

    @pytest.mark.usefixtures("impatient")
    def test_a_wait_without_end_is_given_up_and_not_cancelled(
        self, work: Callable[[QuorumConnection], None], server: DeafServer, connection: QuorumConnection
    ) -> None:
        pid = connection.info.backend_pid
        with pytest.raises(NotConfirmed):
            work(connection)
        assert connection.closed
        assert server.waits(pid)
        assert server.run("SELECT number FROM done") == [], "nobody can take it for done"


@pytest.mark.usefixtures("impatient")
class TestWait:
    def test_a_statement_that_only_takes_long_is_left_alone(self, connection: QuorumConnection) -> None:
        assert connection.execute("SELECT 1 FROM pg_sleep(0.8)").fetchone() == (1,)

    def test_a_server_that_has_become_read_only_is_left(self, connection: QuorumConnection) -> None:
        connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(psycopg.OperationalError, match="read-only"):
            write(connection)
        assert connection.closed

    def test_the_idle_ones_of_the_pool_are_left_with_it_and_those_opened_since_are_kept(
        self, server: DeafServer
    ) -> None:
        address = {**server.address, "options": IMPATIENT}
        with ConnectionPool(kwargs=address, connection_class=QuorumConnection, min_size=0, max_size=4) as pool:
            first, second, idle = (pool.getconn() for _ in range(3))
            pool.putconn(idle)
            lose(first)
            assert idle.closed
            with pool.connection() as new:
                pass
            lose(second)
            assert not new.closed
            for each in (first, second):
                pool.putconn(each)


def lose(connection: QuorumConnection) -> None:
    connection.execute("SET default_transaction_read_only = on")
    with pytest.raises(psycopg.OperationalError):
        write(connection)


@pytest.mark.django_db
@pytest.mark.skipif(product_connection.vendor != "postgresql", reason="about PostgreSQL")
class TestProduct:
    def test_its_connections_are_such_ones(self) -> None:
        product_connection.ensure_connection()
        assert isinstance(product_connection.connection, QuorumConnection)
        with postgresql.connect() as own:
            assert isinstance(own, QuorumConnection)


class TestExecute:
    """A pool asks by the empty statement whether a connection lives."""

    @pytest.fixture
    def line(self, servers: Any) -> Iterator[QuorumConnection]:
        with psycopg.connect(servers.database) as plain:
            address = plain.info.get_parameters()
        with QuorumConnection.connect(**address, autocommit=True) as made:
            yield made

    def test_a_live_one_is_not_asked(self, line: QuorumConnection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(psycopg.Connection, "execute", lambda *args, **options: pytest.fail("asked"))
        ConnectionPool.check_connection(line)

    def test_one_that_the_server_has_ended_is_found(self, line: QuorumConnection, servers: Any) -> None:
        with psycopg.connect(servers.database, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [line.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            ConnectionPool.check_connection(line)

    def test_one_that_is_closed_is_found(self, line: QuorumConnection) -> None:
        line.close()
        with pytest.raises(psycopg.OperationalError):
            ConnectionPool.check_connection(line)


def connect_to(url: str) -> QuorumConnection:
    return QuorumConnection.connect(**{name: str(value) for name, value in conninfo_to_dict(url).items()})


class TestOutcome:
    def test_a_commit_that_is_lost_is_marked_as_unknown(self, servers: Any) -> None:
        session = connect_to(servers.database)
        session.execute("SELECT 1")
        with psycopg.connect(servers.database) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [session.info.backend_pid])
        with pytest.raises(psycopg.OperationalError) as caught:
            session.commit()
        assert getattr(caught.value, OUTCOME_UNKNOWN)

    def test_one_that_the_server_refuses_is_known(self, servers: Any) -> None:
        session = connect_to(servers.database)
        session.execute("CREATE TEMP TABLE a (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        session.execute("INSERT INTO a VALUES (1), (1)")
        with pytest.raises(psycopg.IntegrityError) as caught:
            session.commit()
        session.close()
        assert not hasattr(caught.value, OUTCOME_UNKNOWN)
