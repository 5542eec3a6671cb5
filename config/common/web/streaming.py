"""Answers that are read as fast as the caller takes them; under ASGI a synchronous iterator would be gathered whole."""

from collections.abc import AsyncIterator, Callable, Iterator

import structlog
from asgiref.sync import sync_to_async

from config.common.background.daemon import release_connections

READ_AHEAD = 65_536

log = structlog.get_logger(__name__)


def stream(chunks: Iterator[bytes], when_cut: Callable[[], None] | None = None) -> "Stream":
    """Read each piece in a thread of its own turn: nothing that belongs to a thread may stay open between two pieces.

    What comes first is read at once, in the thread of the view: an answer that is small waits for no other turn.
    `when_cut` is called when the caller did not get all of it: it hung up, or reading failed, which cuts the line.
    """
    answer = Stream(chunks, when_cut)
    answer.read_ahead()
    return answer


class Stream:
    """The content of a streamed answer.

    A caller that hangs up leaves the iterator to the garbage collector, which ends it after the thread of the call
    has been lent to another one. So it is `close` that tells of the cut: Django calls it before the call ends.
    """

    def __init__(self, chunks: Iterator[bytes], when_cut: Callable[[], None] | None) -> None:
        self._chunks = chunks
        self._when_cut = when_cut
        self._ahead = b""
        self._is_read = False

    def read_ahead(self) -> None:
        """Read the first pieces, or all if they are few."""
        pieces, size = list[bytes](), 0
        while size < READ_AHEAD and (chunk := self._read()) is not None:
            pieces.append(chunk)
            size += len(chunk)
        self._ahead = b"".join(pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._ahead:
            yield self._ahead
        read = sync_to_async(self._read)
        while not self._is_read and (chunk := await read()) is not None:
            yield chunk
        self._when_cut = None

    def close(self) -> None:
        when_cut, self._when_cut = self._when_cut, None
        if when_cut is None:
            return
        try:
            when_cut()
        except Exception as error:  # noqa: BLE001 (Django passes over whatever fails here, in silence)
            log.error("stream.cut", exc_info=error)

    def _read(self) -> bytes | None:
        try:
            chunk = next(self._chunks, None)
        except BaseException:
            self.close()  # Django does not close an answer that fails
            raise
        finally:
            release_connections(broken=False)  # the thread goes to another call until the next piece is asked for
        self._is_read = chunk is None
        return chunk
