"""Encryption of stored secrets by `FIELD_KEYS`: the first key encrypts, all of them decrypt."""

from dataclasses import dataclass
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from config.common.errors import Conflict

_columns: dict[str, "Encrypted"] = {}


class Undecipherable(Conflict):
    """This was encrypted with a key that is no longer in FIELD_KEYS. Ask the operator to put that key back."""


def encrypt(plain: bytes) -> bytes:
    return _keys(tuple(settings.FIELD_KEYS)).encrypt(plain)


def decrypt(secret: bytes) -> bytes:
    try:
        return _keys(tuple(settings.FIELD_KEYS)).decrypt(secret)
    except InvalidToken as error:
        raise Undecipherable from error


@dataclass(frozen=True)
class Encrypted:
    """The columns of a table that hold what `encrypt` returned."""

    model: str
    fields: tuple[str, ...]


def register_encrypted(model: str, *fields: str) -> None:
    """Register the encrypted columns of a model, so that `reencrypt` finds them."""
    _columns[model] = Encrypted(model, fields)


def encrypted_columns() -> list[Encrypted]:
    return [_columns[model] for model in sorted(_columns)]


def is_current(secret: bytes) -> bool:
    """Return whether the first key encrypted this."""
    try:
        _keys(tuple(settings.FIELD_KEYS[:1])).decrypt(secret)
    except InvalidToken:
        return False
    return True


def rotate(secret: bytes) -> bytes:
    """Encrypt under the first key what any of them opens."""
    return encrypt(decrypt(secret))


@cache
def _keys(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
