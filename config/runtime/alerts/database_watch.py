"""Mail and text about the database itself: when it is away no alert can be raised, for alerts are rows in it.

It is away as well when its disk takes no writes: it still answers, and can keep nothing. SQLite is on a disk of ours;
PostgreSQL's is asked for by a statement that needs room there.

The mail and the SMS leave directly. What could not be sent is tried again with every look; when the database is back
before that, the message that it was away takes the place of the message that it is.
"""

import asyncio
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp
import psycopg
import structlog
from django.conf import settings
from django.db import connection
from django.utils.translation import gettext_noop

from config.common.background.daemon import Daemon
from config.common.times import format_time
from config.engines import postgresql
from config.runtime.alerts.storage import write_probe
from config.runtime.health import check_database
from notifications.sending.mail import send_mail_blocking
from notifications.sending.sms import send_sms
from notifications.sending.webhook import Answer

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 30.0
EVERY_SECONDS = 5.0

Message = dict[str, Any]
Send = Callable[[str, Message], Answer]


def has_recipient() -> bool:
    return bool(settings.ADMIN_EMAIL or settings.ADMIN_PHONE)


class DiskRefuses(Exception):
    """The disk under the database takes no writes; the text says where and why."""


def check_writes() -> None:
    """Raise unless the database answers and its disk can be written."""
    check_database()
    if connection.vendor == "postgresql":
        try:
            postgresql.probe_disk()
        except psycopg.errors.DiskFull as error:
            raise DiskRefuses(f"PostgreSQL: {error} ({error.sqlstate})") from error
        return
    path = settings.DATA_DIR / f".probe-database-{socket.gethostname()}"
    try:
        write_probe(path)
    except OSError as error:
        raise DiskRefuses(f"{path.parent}: {error.strerror} (errno {error.errno})") from error


def watch_daemon() -> Daemon:
    return Daemon(DatabaseWatch().run_once, EVERY_SECONDS, "watch")


class DatabaseWatch:
    def __init__(self, check: Callable[[], None] = check_writes, clock: Callable[[], float] = time.monotonic) -> None:
        self._check = check
        self._clock = clock
        self._away_since: float | None = None
        self._first_at = datetime.now(UTC)
        self._is_reported = False
        self._is_full = False
        """Whether it is the disk under it that refuses."""
        self._pending: dict[str, Message] = {}
        """The newest message by whom it is for; what is sent leaves."""

    def run_once(self) -> bool:
        """Ask the database, and send what there is to tell. There is never more to do at once."""
        error = self._ask()
        if error:
            self._is_away(error)
        elif self._away_since is not None:
            self._is_back()
        self._send()
        return False

    def _ask(self) -> str:
        try:
            self._check()
        except Exception as error:  # noqa: BLE001  (each engine has errors of its own; all mean the same here)
            self._is_full = isinstance(error, DiskRefuses)
            return f"{type(error).__name__}: {error}"
        return ""

    def _is_away(self, error: str) -> None:
        now = self._clock()
        if self._away_since is None:
            self._away_since, self._first_at = now, datetime.now(UTC)
            log.warning("database.away", error=error)
        if now - self._away_since >= PATIENCE_SECONDS and not self._is_reported:
            self._is_reported = True
            title = gettext_noop("The database is not responding")
            if self._is_full:
                title = gettext_noop("The database can be read, but its disk is not writable")
            self._queue_message("database.away", title, {"error": error[:300]})

    def _is_back(self) -> None:
        assert self._away_since is not None
        seconds = round(self._clock() - self._away_since)
        log.info("database.back", away_seconds=seconds)
        if self._is_reported:
            title = gettext_noop("The database is back after %(seconds)s s")
            self._queue_message("database.back", title, {"seconds": seconds})
        self._away_since, self._is_reported = None, False

    def _queue_message(self, type: str, title: str, detail: dict[str, Any]) -> None:
        first_at, at = format_time(self._first_at), format_time(datetime.now(UTC))
        body = {"version": 1, "type": type, "title": title, "detail": detail, "first_at": first_at, "at": at}
        self._pending = {channel: body for channel, address in _addresses().items() if address}

    def _send(self) -> None:
        for channel, body in list(self._pending.items()):
            answer = _SENDERS[channel](_addresses()[channel], body)
            log.info("database.told", channel=channel, type=body["type"], status=answer.status, error=answer.error)
            if answer.ok:
                del self._pending[channel]


def _addresses() -> dict[str, str]:
    return {"email": settings.ADMIN_EMAIL or "", "sms": settings.ADMIN_PHONE or ""}


def _text_to(number: str, body: Message) -> Answer:
    async def send() -> Answer:
        async with aiohttp.ClientSession(trust_env=False) as session:
            return await send_sms(session, number, body)

    return asyncio.run(send())


_SENDERS: dict[str, Send] = {"email": send_mail_blocking, "sms": _text_to}
