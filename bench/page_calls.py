"""Who opens the pages and makes the calls: an administrator in a browser, and a key of every kind."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client as Browser

from bench.page_addresses import Page
from config.access.keys import create_key
from config.access.scopes import Scope
from messaging.models import ExchangeDatabase, Message
from processes.coordination.reader import models as reader
from sensors.models import Client

SERVER = "127.0.0.1"
REFUSED = frozenset({400, 401, 403, 404, 405})
FAILED = 400
NO_ROW = 0
"""In place of a status: the page was not asked for."""


@dataclass(frozen=True)
class Refusal:
    status: int


@dataclass(frozen=True)
class Callers:
    staff: Browser
    keys: list[Browser]
    """Of a service with every scope, a device, a database and a client."""

    def find(self, page: Page) -> "Browser | Refusal":
        """Return who may open the page, or how the last who tried was refused. An error of the page is raised."""
        if not page.address:
            return Refusal(NO_ROW)
        status = 0
        for caller in [self.staff] if page.is_for_people else self.keys:
            answer = caller.get(page.address)
            read_first(answer)
            status = answer.status_code
            if status < FAILED:
                return caller
            if status not in REFUSED:
                raise RuntimeError(f"{page.address} answered {status}")
        return Refusal(status)


def make_callers() -> Callers:
    """Return callers with new keys; also the one row that a reader is asked for."""
    row = {"name": "Crate", "correlation_id": UUID(int=1)}
    reader.TABLES["DummyItem"].objects.using("reader_main").update_or_create(pk=1, defaults=row)
    staff = Browser(SERVER_NAME=SERVER)
    staff.force_login(User.objects.create_superuser("measuring"))
    subjects = {
        "device": Message.objects.order_by("pk")[0].device_id,
        "database": ExchangeDatabase.objects.order_by("pk")[0].pk,
        "client": str(Client.objects.order_by("pk")[0].pk),
    }
    keys = [create_key(name="measuring", actor="bench", scopes=[scope.value for scope in Scope])[1]]
    keys += [
        create_key(name="measuring", actor="bench", kind=kind, subject=subject)[1] for kind, subject in subjects.items()
    ]
    return Callers(staff, [Browser(SERVER_NAME=SERVER, headers={"Authorization": f"Bearer {key}"}) for key in keys])


def read_first(answer: Any) -> None:
    """Take the first piece of an answer that is streamed: that is what its caller waits for.

    The answer is not closed: that would end the connection to the database, which the caller may have in a transaction.
    """
    if not answer.streaming:
        return
    if answer.is_async:
        async_to_sync(_first_piece)(answer)
    else:
        next(iter(answer.streaming_content), None)


async def _first_piece(answer: Any) -> None:
    async for _piece in answer.streaming_content:
        return
