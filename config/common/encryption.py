"""Encrypts what is kept but must not be readable in the database: the first key encrypts, all of them decrypt."""

from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from config.common.errors import Conflict


class Undecipherable(Conflict):
    """This was encrypted with a key that FIELD_KEYS no longer holds. Tell the operator to put that key back."""


def encrypt(plain: bytes) -> bytes:
    return _keys(tuple(settings.FIELD_KEYS)).encrypt(plain)


def decrypt(secret: bytes) -> bytes:
    try:
        return _keys(tuple(settings.FIELD_KEYS)).decrypt(secret)
    except InvalidToken as error:
        raise Undecipherable from error


@cache
def _keys(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
