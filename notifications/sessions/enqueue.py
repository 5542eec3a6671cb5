"""Enqueue sessions from Python: each is created and saved at once, and threads that do so together share a commit."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, Generic, TypedDict, TypeVar

import msgspec
import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.utils.translation import gettext

from config.common.background.per_process import PerProcess
from config.common.correlation import correlation_id
from config.common.database.sql import load_sql, postgresql_cursor
from config.common.errors import Invalid
from notifications.models import RepeatSession, Theme
from notifications.sessions.lifecycle import saved_columns
from notifications.sessions.storage import (
    check_length,
    database_time_in,
    encode_records,
    insert_records,
    length_of,
    wake_scheduler,
)

LONGEST_TOGETHER = 65_536
"""The bytes of a session; a longer one has a round trip of its own."""

MOST_AT_ONCE = 200
GATHER_SECONDS = 0.0002

log = structlog.get_logger(__name__)

AskedT = TypeVar("AskedT")
AnswerT = TypeVar("AnswerT")


def enqueue_session(*, theme: int, records: Sequence[Any], delay: float | None = None) -> int:
    """Create and save a session, to be repeated after a delay, by default its theme's; return its id.

    Inside a transaction it is part of it. Outside of one, it shares a round trip and a commit with sessions that other
    threads enqueue at the same time.
    """
    bodies = encode_records(records)
    if connection.vendor != "postgresql":
        return _insert_one_by_one(theme, [bodies], delay)[0]
    [session] = _describe(theme, [bodies], delay)
    is_alone = connection.in_atomic_block or session["length"] > LONGEST_TOGETHER
    found = _insert([session])[0] if is_alone else _together.get().ask(session)
    return _insert_one_by_one(theme, [bodies], delay)[0] if found is None else found


def enqueue_sessions(*, theme: int, sessions: Sequence[Sequence[Any]], delay: float | None = None) -> list[int]:
    """Create and save sessions of one theme, all or none, in their order; return their ids."""
    encoded = [encode_records(records) for records in sessions]
    if not encoded:
        return []
    if connection.vendor == "postgresql":
        ids = [found for found in _insert(_describe(theme, encoded, delay)) if found is not None]
        if ids:
            return ids
    return _insert_one_by_one(theme, encoded, delay)


class _Session(TypedDict):
    """One session as `enqueue_sessions.postgresql.sql` reads it."""

    theme: int
    delay: float | None
    chain: str
    length: int
    longest: int
    """The longest of those that are enqueued all or none: the theme must allow it."""
    bodies: Sequence[str]


def _describe(theme: int, sessions: Sequence[Sequence[str]], delay: float | None) -> list[_Session]:
    lengths = [length_of(bodies) for bodies in sessions]
    longest, chain = max(lengths), correlation_id()
    # JSON has no infinity: the encoder would make it null.
    seconds = None if delay is None else timedelta(seconds=delay).total_seconds()
    return [
        {"theme": theme, "delay": seconds, "chain": chain, "length": length, "longest": longest, "bodies": bodies}
        for bodies, length in zip(sessions, lengths, strict=True)
    ]


def _insert_for_all(sessions: Sequence[_Session]) -> list[int | None]:
    """Insert the sessions of several callers; if that fails, return None for each, whose caller inserts it alone."""
    try:
        return _insert(sessions)
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError as error:
        log.warning("sessions.apart", sessions=len(sessions), error=str(error))
        return [None] * len(sessions)


def _insert(sessions: Sequence[_Session]) -> list[int | None]:
    """Return the new ids; None for a session that its theme does not allow, or without such a theme."""
    with postgresql_cursor(commits=True) as cursor:
        statement = load_sql("notifications", "enqueue_sessions.postgresql")
        # One JSON parameter: to spread it over arrays takes the client longer than the server needs to parse it.
        cursor.execute(statement, [msgspec.json.encode(sessions).decode()], prepare=True)
        found = dict(cursor.fetchall())
    _wake_for_nearest(session["delay"] for session in sessions)
    return [found.get(place) for place in range(1, len(sessions) + 1)]


def _insert_one_by_one(theme: int, sessions: Sequence[Sequence[str]], delay: float | None) -> list[int]:
    """Insert on SQLite; on PostgreSQL this raises the reason why the statement inserted nothing."""
    with transaction.atomic():
        found = Theme.objects.filter(pk=theme).first()
        if found is None:
            raise Invalid({"theme": [gettext("Theme not found.")]})
        _wake_for_nearest([delay])
        return [_insert_one(found, bodies, found.delay if delay is None else delay) for bodies in sessions]


def _insert_one(theme: Theme, bodies: Sequence[str], delay: float) -> int:
    length = length_of(bodies)
    check_length(theme, length)
    session = RepeatSession.objects.create(
        theme=theme,
        length=length,
        record_count=len(bodies),
        correlation_id=correlation_id(),
        **saved_columns(database_time_in(delay)),
    )
    insert_records(session.pk, bodies)
    return session.pk


def _wake_for_nearest(delays: Iterable[float | None]) -> None:
    """Wake the scheduler for the nearest session."""
    # The delay of the theme is not known here: a look too many is cheaper than a read each time.
    wake_scheduler(seconds=min(delay or 0.0 for delay in delays))


class GroupCommit(Generic[AskedT, AnswerT]):
    """Group commit: requests that come while a round trip is under way make up the next one; a lone one never waits.

    One of the threads leads: it carries out all waiting requests, in their order, by its own connection. After that the
    first of those that came meanwhile leads.
    """

    def __init__(self, do: Callable[[Sequence[AskedT]], Sequence[AnswerT]]) -> None:
        self._do = do
        self._lock = threading.Lock()
        self._waiting: list[_Asked[AskedT, AnswerT]] = []
        self._is_led = False
        self._is_busy = False
        """Whether the last round trip was for several."""

    def ask(self, asked: AskedT) -> AnswerT:
        """Return the answer; a failure is raised to all of a round trip, which may have been committed all the same."""
        mine: _Asked[AskedT, AnswerT] = _Asked(asked)
        with self._lock:
            self._waiting.append(mine)
            mine.leads = not self._is_led
            self._is_led = True
        if not mine.leads:
            self._wait(mine)
        if mine.leads:
            self._lead(mine)
        if mine.error is not None:
            raise OperationalError(f"asked together with others: {mine.error}") from mine.error
        return mine.answer[0]

    def _wait(self, mine: "_Asked[AskedT, AnswerT]") -> None:
        try:
            mine.news.acquire()
        except BaseException:
            # Interrupted: the request must neither be carried out later nor, if it leads, keep the others waiting.
            with self._lock:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                if mine.leads:
                    self._appoint()
            raise

    def _lead(self, mine: "_Asked[AskedT, AnswerT]") -> None:
        batch: list[_Asked[AskedT, AnswerT]] = []
        try:
            batch = self._gather()
            for each, answer in zip(batch, self._do([each.asked for each in batch]), strict=True):
                each.answer.append(answer)
        except BaseException as error:
            for each in batch:
                each.error = error
            raise
        finally:
            # The next leader is appointed last, so that requests of the threads just released can join it.
            for each in batch:
                if each is not mine:
                    each.news.release()
            with self._lock:
                self._is_busy = len(batch) > 1
                self._appoint()

    def _gather(self) -> "list[_Asked[AskedT, AnswerT]]":
        if self._is_busy:
            # The threads of the last round trip are about to ask again: without a pause most would come too late.
            time.sleep(GATHER_SECONDS)
        with self._lock:
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        return batch

    def _appoint(self) -> None:
        self._is_led = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].news.release()


class _Asked(Generic[AskedT, AnswerT]):
    def __init__(self, asked: AskedT) -> None:
        self.asked = asked
        self.answer: list[AnswerT] = []
        self.error: BaseException | None = None
        self.leads = False
        self.news = threading.Lock()
        """Released once it is over, or its turn to lead."""
        self.news.acquire()


_together = PerProcess(lambda: GroupCommit(_insert_for_all))
