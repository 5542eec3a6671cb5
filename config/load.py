"""Load without looking for garbage: what is loaded stays, and each look goes through all that is there already.

That is a quarter of what the start of a process costs. Later looks leave it out as well: each of them would stop every
thread for a tenth of a second, and in processes that were forked it would make their shared pages their own.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Load in here; afterwards it is where no collection of garbage looks."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
