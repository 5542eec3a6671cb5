"""Ids that others see: unique for ever, also after a database was restored and its sequences count anew."""

import os
import threading
import time
from datetime import datetime
from uuid import UUID

from config.common.times import from_milliseconds

_lock = threading.Lock()
_last = 0
_LATEST = 253_000_000_000_000
"""Milliseconds: in the year 9987, for a text that only looks like an id of ours may name any time."""


def new_id() -> UUID:
    """Make a UUID of version 7: ordered by time, random for the rest. Those of one process rise strictly."""
    global _last
    stamp = (time.time_ns() // 1_000_000) & 0xFFFF_FFFF_FFFF
    rest = int.from_bytes(os.urandom(10), "big")
    number = stamp << 80 | 0x7 << 76 | (rest >> 68 & 0xFFF) << 64 | 0b10 << 62 | rest & 0x3FFF_FFFF_FFFF_FFFF
    with _lock:
        if number <= _last:
            # The same millisecond, or a clock that was set back: the next number after the last one. The random part
            # has 62 bits below the variant; it is not run over in the lifetime of a process.
            number = _last + 1
        _last = number
    return UUID(int=number)


def find_time(text: str) -> datetime | None:
    """Return when an id of `new_id` was made, as it says itself; None for any other text."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return from_milliseconds(found.int >> 80) if found.version == 7 and found.int >> 80 < _LATEST else None


def _start_anew() -> None:
    """A fork must not go on counting where its parent does, and may have inherited the lock taken."""
    global _lock, _last
    _lock, _last = threading.Lock(), 0


# Not a `PerProcess`, which takes a lock and makes an object: an id is made for every row, and its one lock is above.
os.register_at_fork(after_in_child=_start_anew)
