"""Signatures by Standard Webhooks: the receiver knows by its secret who has sent, what, and when."""

import base64
import binascii
import hashlib
import hmac
import secrets as randomness
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

SECRET_BEGINNING = "whsec_"


def sign(secrets: Sequence[str], message_id: str, at: datetime | int, body: bytes) -> dict[str, str]:
    """Return the three headers; each secret signs, so that both are good while one replaces the other."""
    if not secrets:
        raise ValueError("a webhook needs a secret to be signed with")
    seconds = str(int(at.timestamp()) if isinstance(at, datetime) else at)
    signed = f"{message_id}.{seconds}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join([_signature(secret, signed) for secret in secrets]),
    }


def make_secret() -> str:
    return SECRET_BEGINNING + base64.b64encode(randomness.token_bytes(32)).decode()


def _signature(secret: str, signed: bytes) -> str:
    code = _keyed(secret).copy()
    code.update(signed)
    return "v1," + binascii.b2a_base64(code.digest(), newline=False).decode()


@lru_cache(maxsize=1024)
def _keyed(secret: str) -> hmac.HMAC:
    """Return the code that a secret begins; making it anew is most of the price of a signature."""
    return hmac.new(_key(secret), digestmod=hashlib.sha256)


def _key(secret: str) -> bytes:
    """Return the bytes of a secret; what is wrong with it is said without it."""
    try:
        key = binascii.a2b_base64(secret.removeprefix(SECRET_BEGINNING), strict_mode=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key or not secret.startswith(SECRET_BEGINNING):
        raise ValueError(f"a webhook secret is {SECRET_BEGINNING} and base64")
    return key
