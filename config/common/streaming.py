"""Answers that are read as fast as the caller takes them; under ASGI a synchronous iterator would be gathered whole."""

from collections.abc import AsyncIterator, Callable, Iterator

from asgiref.sync import sync_to_async


async def stream(chunks: Iterator[bytes], when_cut: Callable[[], None] | None = None) -> AsyncIterator[bytes]:
    """Read each piece in the thread of the call.

    `when_cut` is called when the caller did not get all of it: it hung up, or reading failed, which cuts the line.
    """
    read = sync_to_async(lambda: next(chunks, None))
    is_whole = False
    try:
        while (chunk := await read()) is not None:
            yield chunk
        is_whole = True
    finally:
        if not is_whole and when_cut is not None:
            await sync_to_async(when_cut)()
