"""Detect at the start that the database was restored: the volume of the messages has the numbers it had issued.

The volume is not restored with the database. A sequence that stands lower than the file says would give numbers to
others that outside parties have seen already.
"""

import msgspec
import structlog
from django.utils import timezone

from config.common.database.sequences import advance_sequences, last_issued_numbers
from config.common.errors import ApplicationError
from config.common.files import write_durably
from messaging.files.paths import root
from messaging.files.volume import check_volume

FILE = ".numbers"
EVERY_SECONDS = 10.0
"""What is given between the last look and the loss of a database that had given nothing since its copy is not known."""

log = structlog.get_logger(__name__)
_kept: dict[str, int] = {}


def save_issued_numbers() -> bool:
    """Write the issued numbers to the volume, if they have changed; return False: there is never more to do at once."""
    numbers = last_issued_numbers()
    if numbers != _kept:
        try:
            check_volume()
            write_durably(root() / FILE, [msgspec.json.encode(numbers)])
        except ApplicationError as error:  # the disk has an alert of its own
            log.warning("numbers.not_kept", error=str(error))
            return False
        _kept.clear()
        _kept.update(numbers)
    return False


def detect_restore() -> bool:
    """Advance all sequences if one of them has fallen back; return whether one had."""
    given, kept = last_issued_numbers(), _read()
    fallen = sorted(table for table, number in kept.items() if given.get(table, number) < number)
    if fallen:
        advance_sequences(at=timezone.now(), known=kept)
        log.warning("database.restored", tables=fallen)
    save_issued_numbers()
    return bool(fallen)


def _read() -> dict[str, int]:
    """Return the numbers stored on the volume; none where the file cannot be read."""
    check_volume()
    try:
        return msgspec.json.decode((root() / FILE).read_bytes(), type=dict[str, int])
    except (OSError, msgspec.MsgspecError) as error:
        if not isinstance(error, FileNotFoundError):
            log.warning("numbers.not_read", error=repr(error))
        return {}
