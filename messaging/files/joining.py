"""Join message files into one list without parsing them, in pieces of bounded size."""

from collections.abc import Iterator, Sequence

from messaging.files.reader import CHUNK, read_chunks
from messaging.models.message import Message


def join_files(before: bytes, messages: Sequence[Message], after: bytes) -> Iterator[bytes]:
    """Yield `before`, the files with commas between them, and `after`; small files share a piece."""
    pieces, size = [before], len(before)
    for number, message in enumerate(messages):
        if number:
            pieces.append(b",")
        for chunk in read_chunks(message):
            pieces.append(chunk)
            size += len(chunk)
            if size >= CHUNK:
                yield b"".join(pieces)
                pieces, size = [], 0
    pieces.append(after)
    yield b"".join(pieces)
