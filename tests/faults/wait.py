"""Wait for what another process or thread brings about."""

import time
from collections.abc import Callable


def wait_until(is_true: Callable[[], object], seconds: float = 10.0) -> bool:
    """Poll until the condition holds; return whether it did in time.

    The bound is for a busy machine: it costs nothing where the condition holds soon.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_true():
            return True
        time.sleep(0.02)
    return False
