"""Ids that others see: unique for ever, also after a database was restored and its sequences count anew."""

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


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


def _start_anew() -> None:
    """A fork must not go on counting where its parent does, and may have inherited the lock taken."""
    global _lock, _last
    _lock, _last = threading.Lock(), 0


os.register_at_fork(after_in_child=_start_anew)
