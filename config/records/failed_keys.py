"""Wrong keys, counted by where they come from: past the rate the database is not asked about them any more.

A key that was right a moment ago is still asked about, so that whoever guesses behind the same address as others, a
gateway or a proxy, locks nobody out but newcomers.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from rest_framework.exceptions import Throttled

from config.common.rates import MemoryRates, seconds_left

MOST_KNOWN = 10_000
"""Keys that this process remembers as right."""
MOST_ADDRESSES = 10_000
"""Addresses that are counted one by one in a minute; those beyond them share a count."""
IPV6_PREFIX = 64
"""One caller has that much of a network to itself."""


class FailedKeys:
    """The counts of one process."""

    def __init__(self) -> None:
        self._rates = MemoryRates(most_names=MOST_ADDRESSES)
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def check(self, address: str, text: str) -> None:
        """Refuse a key that is not known to be right, from where too many wrong ones have come within the minute."""
        at = time.time()
        if self._rates.read(_network(address), at) >= settings.FAILED_KEY_RATE and _digest(text) not in self._known:
            raise Throttled(wait=seconds_left(at))

    def note_wrong(self, address: str, text: str) -> None:
        self._rates.count(_network(address), time.time())
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


def _network(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(ip_network((found, IPV6_PREFIX), strict=False))
    return str(found.ipv4_mapped or found) if isinstance(found, IPv6Address) else str(found)


failed_keys = FailedKeys()
