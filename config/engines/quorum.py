"""A PostgreSQL connection for a primary with synchronous standbys: what they have not confirmed is no success.

PostgreSQL itself leaves three gaps. A commit whose wait for the standbys is cancelled is reported as done, with nothing
but a warning. A primary that was cut off, or started again after another one took its place, still takes statements:
its commits wait for ever, and what it had committed without a standby can be read there and be taken for done. And a
server that has become read-only refuses a statement but keeps the connection.
"""

import select
import time
from functools import partial
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

import psycopg
import structlog
from psycopg.abc import PQGen
from psycopg.errors import Diagnostic, ReadOnlySqlTransaction
from psycopg_pool import ConnectionPool

from config.common.database.failures import mark_if_lost

log = structlog.get_logger(__name__)

ValueT = TypeVar("ValueT")
Place = tuple[str, str]
"""A host and its port."""

PROOF_SECONDS = 2.0
SILENCE_SECONDS = 10.0
"""How long a server may be silent, on a new connection and later, before a look is taken at what it waits for."""
LOOK_SECONDS = 2
_INTERVAL = 0.1

# A commit that waits for the standbys; where there are none to wait for, nothing is written.
_PROOF = "SELECT pg_logical_emit_message(true, 'postern', '') WHERE current_setting('synchronous_standby_names') <> ''"
_WAITS = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event = 'SyncRep'"
# Names the place in PostgreSQL's source; the text of the warning depends on the server's language.
_CANCELLED_WAIT = "SyncRepWaitForLSN"

_last_good: dict[Place, Place] = {}
"""By all the hosts and ports of an address, those that last took writes."""


_drained_at: "WeakKeyDictionary[ConnectionPool[Any], float]" = WeakKeyDictionary()


class NotConfirmed(psycopg.OperationalError):
    """No standby has confirmed the commit: it would be lost with this server."""


class ServerSilent(psycopg.OperationalError):
    """The server has said nothing for longer than whoever asks may wait."""


class QuorumConnection(psycopg.Connection[Any]):
    """Closes itself, and the idle ones of its pool, once its server turns out not to be the one to write to."""

    silence_limit: float | None = None
    """How many seconds the server may say nothing to a statement; None: for as long as it works."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._opened_at = time.monotonic()
        self._is_new = True
        self._has_standbys = True
        self._cancelled_waits: list[Diagnostic] = []
        # Not a method: a connection that holds itself is not freed when it is let go.
        self.add_notice_handler(partial(_note, self._cancelled_waits))

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Connect to the first host whose commits are confirmed, beginning with the one that was last found so."""
        address = str(options.get("host", "")), str(options.get("port", ""))
        failures: list[str] = []
        for host, port in (places := _in_order(address)):
            try:
                connection = cls._connect_to(conninfo, **{**options, "host": host, "port": port})
            except psycopg.OperationalError as error:
                if len(places) == 1:
                    raise
                failures.append(f"{host}:{port}: {error}")
            else:
                _last_good[address] = host, port
                return connection
        raise psycopg.OperationalError("no server takes writes: " + "; ".join(failures))

    def execute(self, query: Any, params: Any = None, **options: Any) -> psycopg.Cursor[Any]:
        """Execute a statement. The empty one is how a pool asks whether the connection lives, for each call anew.

        A socket with nothing to read is one that the other side has neither closed nor complained about: that is as
        much as the answer to an empty statement would say, and costs no round trip.
        """
        if query == "" and not self.closed and self._has_nothing_to_read():
            return self.cursor()
        return super().execute(query, params, **options)

    def commit(self) -> None:
        """Commit; where the answer is lost, say that nobody knows. What the server refuses has not happened."""
        try:
            super().commit()
        except psycopg.OperationalError as error:
            if not self._is_new:
                mark_if_lost(error)
            raise

    def wait(self, gen: PQGen[ValueT], interval: float = _INTERVAL, timeout: float | None = None) -> ValueT:
        """Judge every answer of the server, to a commit as to any statement that commits by itself."""
        gen = self._watched(gen) if self._has_standbys else gen
        if self.silence_limit is not None:
            gen = self._leave_in_silence(gen, self.silence_limit)
        try:
            answer = super().wait(gen, interval, timeout)
        except ReadOnlySqlTransaction as error:
            self._abandon()
            raise psycopg.OperationalError(f"the server has become read-only: {error}") from error
        if self._cancelled_waits:
            self._abandon()
            raise NotConfirmed("no standby has confirmed the commit: the wait for one was cancelled")
        return answer

    def _has_nothing_to_read(self) -> bool:
        look = select.poll()
        look.register(self.fileno(), select.POLLIN)
        return not look.poll(0)

    @classmethod
    def _connect_to(cls, conninfo: str, **options: Any) -> Self:
        """Connect and commit once: then whatever can be read there has been confirmed before it."""
        connection = super().connect(conninfo, **options)
        try:
            # Without any to wait for, to watch every statement would only cost; a pool connects anew now and then.
            connection._has_standbys = connection.execute(_PROOF).fetchone() is not None
            connection.commit()
        except BaseException:
            connection.close()
            raise
        connection._is_new = False
        return connection

    def _watched(self, gen: PQGen[ValueT]) -> PQGen[ValueT]:
        """Pass the answers on; where there is none for a while, see whether that is for want of a standby."""
        silent_since = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() - silent_since >= (
                    PROOF_SECONDS if self._is_new else SILENCE_SECONDS
                ):
                    self._require_standby()
                    silent_since = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as end:
            value: ValueT = end.value
            return value

    def _leave_in_silence(self, gen: PQGen[ValueT], limit: float) -> PQGen[ValueT]:
        """Pass the answers on; where there is none for so long, leave the server without a farewell.

        A time-out of the server's own is no help: one that is frozen keeps none.
        """
        silent_until = time.monotonic() + limit
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    silent_until = time.monotonic() + limit
                elif time.monotonic() >= silent_until:
                    self._abandon()
                    raise ServerSilent(f"the server has not answered within {limit:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            value: ValueT = end.value
            return value

    def _require_standby(self) -> None:
        """Cancel the session if it waits for a standby. Its outcome is then unknown, as after any lost connection.

        It is left waiting, for to cancel its wait is to make it readable; that of a new one has made nothing.
        """
        if not self._waits_for_standby():
            return
        if self._is_new:
            self._cancel()
        self._abandon()
        raise NotConfirmed("no standby confirms the commit")

    def _waits_for_standby(self) -> bool:
        """Ask over another connection; where it fails, the server is away and this one will fail by itself."""
        mine = self.info
        try:
            with psycopg.connect(mine.dsn, password=mine.password, connect_timeout=LOOK_SECONDS) as other:
                return other.execute(_WAITS, [mine.backend_pid]).rowcount > 0
        except psycopg.Error as error:
            log.warning("quorum.not_seen", host=mine.host, port=mine.port, error=str(error))
            return False

    def _cancel(self) -> None:
        try:
            self.cancel_safe(timeout=LOOK_SECONDS)
        except psycopg.Error as error:
            log.warning("quorum.not_cancelled", host=self.info.host, port=self.info.port, error=str(error))

    def _abandon(self) -> None:
        log.warning("quorum.left", host=self.info.host, port=self.info.port)
        pool: ConnectionPool[Any] | None = getattr(self, "_pool", None)
        self.close()
        # Once for all that were opened before: the others are those of the server that was found then.
        if pool is not None and self._opened_at >= _drained_at.get(pool, 0.0):
            _drained_at[pool] = time.monotonic()
            pool.drain()


def _note(cancelled_waits: list[Diagnostic], notice: Diagnostic) -> None:
    if notice.source_function == _CANCELLED_WAIT:
        cancelled_waits.append(notice)


def _in_order(address: Place) -> list[Place]:
    hosts, ports = (part.split(",") for part in address)
    places = list(zip(hosts, ports, strict=True))
    last = _last_good.get(address)
    return sorted(places, key=lambda place: place != last)
