"""Rotate a signing secret: for a day the old one signs beside the new one, so that receivers can change over."""

from datetime import datetime, timedelta

from config.common.encryption import encrypt
from config.common.times import truncate_to_milliseconds
from notifications.models import Endpoint, Theme
from notifications.sending.signing import make_secret

OVERLAP = timedelta(hours=24)


def rotate_secret_of(row: Endpoint | Theme, *, at: datetime) -> str:
    """Set a new secret on a row that the caller has locked, and return it; the row has it encrypted."""
    text = make_secret()
    row.old_secret, row.secret = row.secret, encrypt(text.encode())
    row.old_secret_until = truncate_to_milliseconds(at) + OVERLAP
    row.save(update_fields=["secret", "old_secret", "old_secret_until"])
    return text


def find_old_secret(row: Endpoint | Theme, *, at: datetime) -> bytes | None:
    """Return the encrypted old secret while it still signs, else None."""
    overlaps = row.old_secret_until is not None and row.old_secret_until > at
    return bytes(row.old_secret) if row.old_secret and overlaps else None
