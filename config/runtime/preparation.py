"""What a node needs before it starts: the database in shape, static files, the schedule, someone who may sign in."""

import fcntl
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import OperationalError, connection, transaction

from config.access.accounts import record_account_change, values_of
from config.common.errors import ApplicationError, VolumeAway
from config.engines import postgresql
from config.environment.rules import BadVariable
from config.runtime.restore_detection import detect_restore
from config.runtime.static import collect_static
from config.runtime.upkeep import load_schedule, run_upkeep_when_prepared
from messaging.files.volume import check_volume
from processes.coordination.maintenance.rebuild import build_new_reader
from processes.coordination.schema.entities import ENTITIES
from processes.coordination.schema.routing import READER_APP, reader_alias, reader_names

Say = Callable[[str], Any]

ADMIN = "admin"
DATABASE_PATIENCE_SECONDS = 60.0
# Any number that no other program on the server uses for an advisory lock of the same database.
LOCK = 7_016_538_221


class DatabaseUnreachable(Exception):
    """The database could not be reached for as long as it was worth waiting."""


def prepare(say: Say) -> str | None:
    """Prepare the node and the database; return the password of the first admin user if one was made up.

    Safe to run on several nodes at once: one after the other they hold the lock of the database.
    """
    with (settings.DATA_DIR / "prepare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time on this node
        if collect_static():
            say("Static files are collected.")
        with _alone_on_the_database(say):
            call_command("migrate", interactive=False, verbosity=0)
            _prepare_readers(say)
            _check_message_volume(say)
            load_schedule()
            run_upkeep_when_prepared()
            return _ensure_admin()


def _check_message_volume(say: Say) -> None:
    """Adopt the folder of the messages, or see that it is the one; without it the rest of the product starts."""
    try:
        check_volume()
        if detect_restore():
            say(
                "The database was restored: its numbers go on past those that it had issued before."
                " Run `manage.py reindex_messages --after-restore`."
            )
    except VolumeAway as away:
        say(away.words)
    except ApplicationError as error:
        say(f"{settings.DATA_DIR}: {error.message}")


def _prepare_readers(say: Say) -> None:
    """Bring the readers' databases in shape; one that is away holds up nobody, and is prepared by the next start."""
    for name in reader_names():
        try:
            for app in (READER_APP, *sorted({entity.app for entity in ENTITIES if entity.app})):
                call_command("migrate", app, database=reader_alias(name), interactive=False, verbosity=0)
            build_new_reader(name, say)
        except OperationalError as error:
            say(f"The database of reader {name} cannot be reached: {_first_line(error)}")


@contextmanager
def _alone_on_the_database(say: Say) -> Iterator[None]:
    """Take an advisory lock of the whole database on a connection of its own; it ends with the connection."""
    if connection.vendor != "postgresql":
        yield
        return
    with _wait_for_postgresql(say) as own:
        if not _try_lock(own):
            say("Another node is preparing the database: waiting for it.")
            while not _try_lock(own):
                time.sleep(0.5)
        yield


def _wait_for_postgresql(say: Say) -> psycopg.Connection[Any]:
    deadline = time.monotonic() + DATABASE_PATIENCE_SECONDS
    said = ""
    while True:
        try:
            return postgresql.connect()
        except psycopg.OperationalError as error:
            reason = _first_line(error)
        if time.monotonic() > deadline:
            raise DatabaseUnreachable(f"DATABASE_URL: the database cannot be reached: {reason}")
        if reason != said:
            say(f"Waiting for the database: {reason}")
            said = reason
        time.sleep(1)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _try_lock(own: psycopg.Connection[Any]) -> bool:
    row = own.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone()
    return bool(row and row[0])


def _ensure_admin() -> str | None:
    """Create the first admin user; return its password only if nobody has chosen one."""
    accounts = get_user_model()._default_manager
    if accounts.filter(is_superuser=True).exists():
        return None
    chosen = settings.ENV.admin_password
    if chosen:
        _check_password(chosen)
    password = chosen or secrets.token_urlsafe(12)
    with transaction.atomic():
        admin = accounts.create_superuser(username=ADMIN, password=password)
        record_account_change(
            subject=admin, object_id=str(admin.pk), before=None, after=values_of(admin), actor="command:prepare"
        )
    return None if chosen else password


def _check_password(chosen: str) -> None:
    """Check the password of the first admin by the rules of every account."""
    try:
        validate_password(chosen, get_user_model()(username=ADMIN))
    except ValidationError as weak:
        raise BadVariable("ADMIN_PASSWORD", " ".join(weak.messages)) from weak
