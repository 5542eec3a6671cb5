"""Signatures by Standard Webhooks: with its secret the receiver checks sender, content and time."""

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
    """Return the three headers; each secret signs, so that old and new are valid during a rotation."""
    if not secrets:
        raise ValueError("a webhook needs a secret to be signed with")
    seconds = str(int(at.timestamp()) if isinstance(at, datetime) else at)
    signed = f"{message_id}.{seconds}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join([_sign_with(secret, signed) for secret in secrets]),
    }


def make_secret() -> str:
    return SECRET_BEGINNING + base64.b64encode(randomness.token_bytes(32)).decode()


def _sign_with(secret: str, signed: bytes) -> str:
    code = _keyed(secret).copy()
    code.update(signed)
    return "v1," + binascii.b2a_base64(code.digest(), newline=False).decode()


@lru_cache(maxsize=1024)
def _keyed(secret: str) -> hmac.HMAC:
    """Return the HMAC of a secret without a message; cached, because making it is most of the cost of a signature."""
    return hmac.new(_key(secret), digestmod=hashlib.sha256)


def _key(secret: str) -> bytes:
    """Return the bytes of a secret; an error does not contain it."""
    try:
        key = binascii.a2b_base64(secret.removeprefix(SECRET_BEGINNING), strict_mode=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key or not secret.startswith(SECRET_BEGINNING):
        raise ValueError(f"a webhook secret is {SECRET_BEGINNING} and base64")
    return key
