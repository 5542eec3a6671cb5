"""The text of a bearer key: `ps_<prefix>_<secret>`. The prefix finds its row; of the rest only the digest is kept.

The secret is 32 random bytes, so one round of SHA-256 is enough: there is nothing to guess, and a slow hash would cap
the whole API.
"""

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass, field

BEGINNINGS = {"service": "ps", "client": "pc", "device": "pd", "database": "pb"}

_ALPHABET = string.ascii_lowercase + string.digits
_TEXT = re.compile(r"(p[scdb]_[a-z0-9]{8})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class KeyText:
    prefix: str
    digest: bytes
    text: str = field(repr=False)


def make_key(kind: str) -> KeyText:
    prefix = f"{BEGINNINGS[kind]}_" + "".join(secrets.choice(_ALPHABET) for _ in range(8))
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    return KeyText(prefix=prefix, digest=_digest(text), text=text)


def find_prefix(text: str) -> str | None:
    """Return the part that finds the key's row, or nothing when the text cannot be a key."""
    found = _TEXT.fullmatch(text)
    return found[1] if found else None


def is_key_of(text: str, digest: bytes) -> bool:
    return hmac.compare_digest(_digest(text), digest)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
