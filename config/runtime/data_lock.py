"""Who uses the folder of the data: those who serve hold its lock together, who replaces the data holds it alone."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

UNFINISHED = "restore.unfinished"
"""Names the backup that is being put back; until that is done nobody serves."""


class InUse(Exception):
    """Somebody else holds the folder of the data."""


class RestoreUnfinished(Exception):
    """A restore was interrupted: what is here is neither the old nor the new."""


@contextmanager
def serving() -> Iterator[None]:
    """Hold the folder as one of those who serve; the lock ends with the last process that was forked from this one."""
    with _locked(fcntl.LOCK_SH):
        marker: Path = settings.DATA_DIR / UNFINISHED
        if marker.exists():
            raise RestoreUnfinished(
                f"A restore was interrupted. Run it again: manage.py restore {marker.read_text().strip()}"
            )
        yield


@contextmanager
def stopped() -> Iterator[None]:
    """Hold the folder of the data alone."""
    with _locked(fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(kind: int) -> Iterator[None]:
    # The folder itself is locked: a file for it could not be made on a disk that is full or read-only.
    folder = os.open(settings.DATA_DIR, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(folder, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUse(f"{settings.DATA_DIR} is in use.") from error
        yield
    finally:
        os.close(folder)
