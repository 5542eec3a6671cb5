"""Wait for what another process or thread brings about."""

import time
from collections.abc import Callable


def wait_until(is_true: Callable[[], object], seconds: float = 60.0) -> bool:
    """Poll until the condition holds; return whether it did in time.

    The bound is for a busy machine: it costs nothing where the condition holds soon. The longer it takes, the rarer the
    looks: they cost whoever is waited for.
    """
    began = time.monotonic()
    while (waited := time.monotonic() - began) < seconds:
        if is_true():
            return True
        time.sleep(min(0.25, 0.02 + waited / 20))
    return bool(is_true())
