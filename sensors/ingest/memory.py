"""What a sensor has sent already: digests of its latest signals, so that one which comes again is recognised.

The newest stand in the state row, which every batch writes anyway. When they are more than a page, the page goes into a
row of its own, over the oldest one of that sensor: nothing here grows with time. So at least the last 512 signals of a
sensor are known (`PAGE * PAGES`), and a list that came as one batch, however long, takes the place of a single page.

A signal that is older than all that is taken for new: it is seen, and ends a loss. Taken for repeats, the signals of a
sensor whose clock has fallen back for good would count for nothing: it would be called lost for as long as it talks.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

from sensors.ingest.signals import Signal

DIGEST_BYTES = 4
PAGE = 32
PAGES = 16


@dataclass(slots=True)
class Memory:
    """The digests of one sensor's latest signals, while its state row is locked."""

    recent: bytes = b""
    """The page that is being filled."""
    page: int = 0
    """How many pages have been filled before it."""
    _known: set[bytes] | None = field(default=None, repr=False)

    def holds(self, signal: Signal) -> bool:
        if self._known is None:
            self._known = set(_split(self.recent))
        return _digest(signal) in self._known

    def add(self, signal: Signal) -> None:
        digest = _digest(signal)
        self.recent += digest
        if self._known is not None:
            self._known.add(digest)

    def recall(self, page: bytes) -> None:
        """Add the digests of an older page."""
        if self._known is None:
            self._known = set(_split(self.recent))
        self._known.update(_split(page))

    @property
    def is_page_full(self) -> bool:
        return len(self.recent) >= PAGE * DIGEST_BYTES

    def turn_page(self) -> tuple[int, bytes]:
        """Begin a new page; return the number and the content of the full one."""
        full = self.page % PAGES, self.recent
        self.page, self.recent = self.page + 1, b""
        return full


def _digest(signal: Signal) -> bytes:
    # Four bytes are enough: of a million late signals one is taken for a repeat, and history has it all the same.
    return crc32(f"{signal.at}:{signal.id}".encode()).to_bytes(DIGEST_BYTES)


def _split(page: bytes) -> Iterable[bytes]:
    return (page[start : start + DIGEST_BYTES] for start in range(0, len(page), DIGEST_BYTES))
