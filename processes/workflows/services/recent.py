"""The heads that this process has just written: the next command of the same instance need not read it again.

What is remembered may be out of date at once, and nothing rests on it: a step is written only if the head, and the
number of open incidents, are still what it was made from; and whatever would be refused is looked at afresh. A head is
remembered when its transaction has committed, for a moment, and only if it is small.
"""

import threading
import time
from collections import OrderedDict
from uuid import UUID

from django.db import transaction

from processes.workflows.heads import Head

SECONDS = 1.0
MOST = 256
LARGEST = 16_384
"""Bytes of variables."""

_heads: OrderedDict[UUID, tuple[float, Head]] = OrderedDict()
_lock = threading.Lock()


def cache_head(head: Head) -> None:
    """Keep a head once it is committed."""
    if head.state is not None and head.state.get("size", 0) <= LARGEST and not head.open_incidents:
        transaction.on_commit(lambda: _keep(head))


def take_cached_head(instance_id: UUID) -> Head | None:
    """Give the head of an instance if it was written a moment ago; it is not given twice."""
    with _lock:
        found = _heads.pop(instance_id, None)
    if found is None or time.monotonic() - found[0] > SECONDS:
        return None
    return found[1]


def _keep(head: Head) -> None:
    with _lock:
        _heads[head.id] = (time.monotonic(), head)
        while len(_heads) > MOST:
            _heads.popitem(last=False)


def clear_head_cache() -> None:
    with _lock:
        _heads.clear()
