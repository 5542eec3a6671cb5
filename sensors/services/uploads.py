"""Store an uploaded table between its preview and its import: a file for its owner alone, for at most an hour."""

import secrets
import time
from pathlib import Path

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner

from config.common.errors import NotFound
from config.common.files import make_folder, write_durably

LIFETIME_SECONDS = 3600

_signer = TimestampSigner(salt="sensors.uploads")


class UploadGone(NotFound):
    """This file has already been imported, or has waited for more than an hour. Upload it again."""


def save_upload(content: bytes, *, owner: str) -> str:
    """Store the file; return the token by which this owner alone finds it again."""
    make_folder(_folder())
    _delete_expired()
    name = secrets.token_hex(16)
    write_durably(_path(name), [content])
    # Signed: nobody can make up a token for the file of another, and it expires by itself.
    return _signer.sign_object([owner, name])


def read_upload(token: str, *, owner: str) -> bytes:
    path = _find(token, owner)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UploadGone from error


def drop_upload(token: str, *, owner: str) -> None:
    _find(token, owner).unlink(missing_ok=True)


def _find(token: str, owner: str) -> Path:
    try:
        stored_for, name = _signer.unsign_object(token, max_age=LIFETIME_SECONDS)
    except BadSignature as error:
        raise UploadGone from error
    if stored_for != owner:
        raise UploadGone
    return _path(name)


def _delete_expired() -> None:
    limit = time.time() - LIFETIME_SECONDS
    for path in _folder().iterdir():
        if path.lstat().st_mtime < limit:
            path.unlink(missing_ok=True)


def _path(name: str) -> Path:
    return _folder() / f"{name}.table"


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "uploads"
