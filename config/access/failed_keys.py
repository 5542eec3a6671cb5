"""Wrong keys, counted by where they come from: past the rate the database is not asked about them any more.

A key that was right a moment ago is still asked about, so that whoever guesses behind the same address as others, a
gateway or a proxy, locks nobody out but newcomers.
"""

import hashlib
import threading
import time
from collections import OrderedDict

from django.conf import settings
from rest_framework.exceptions import Throttled

from config.common.web.networks import network_of
from config.common.web.rates import MemoryRates, seconds_left

MOST_KNOWN = 10_000
"""Keys that this process remembers as right."""
MOST_ADDRESSES = 10_000
"""Addresses that are counted one by one in a minute; those beyond them share a count."""


class FailedKeys:
    """The counts of one process."""

    def __init__(self) -> None:
        self._rates = MemoryRates(most_names=MOST_ADDRESSES)
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def check(self, address: str, text: str) -> None:
        """Raise `Throttled` for an unknown key from an address that has sent too many wrong ones within the minute."""
        at = time.time()
        if self._rates.read(network_of(address), at) >= settings.FAILED_KEY_RATE and _digest(text) not in self._known:
            raise Throttled(wait=seconds_left(at))

    def note_wrong(self, address: str, text: str) -> None:
        self._rates.count(network_of(address), time.time())
        with self._lock:
            self._known.pop(_digest(text), None)

    def note_right(self, text: str) -> None:
        digest = _digest(text)
        with self._lock:
            self._known[digest] = None
            self._known.move_to_end(digest)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


failed_keys = FailedKeys()
