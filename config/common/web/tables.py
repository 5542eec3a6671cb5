"""Tables as files: CSV whose cells no spreadsheet runs, streamed as fast as the caller takes it."""

import csv
import io
import re
from collections.abc import Iterable, Iterator

from django.http import StreamingHttpResponse

from config.common.web.streaming import stream

# Where a cell may begin: at the start, and inside of a text behind whatever another spreadsheet takes for the end of a
# cell or a line. With semicolons between its cells it does not even know our quotes.
_START = r"(?:^|(?<=[;\t\r\n]))"
_FORMULA = r"""["']*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]"""  # the wide forms of the four signs too
_RUNNABLE = re.compile(f"{_START}(?={_FORMULA})")
_ESCAPED = re.compile(f"{_START}'(?={_FORMULA})")


def answer_table(chunks: Iterator[bytes], *, name: str) -> StreamingHttpResponse:
    """Return a CSV file as a response; it is read from the database as fast as the caller takes it."""
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return StreamingHttpResponse(stream(chunks), content_type="text/csv; charset=utf-8", headers=headers)


def write_csv(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows as CSV; no cell of theirs is run by a spreadsheet. For every table that the product hands out."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([protect(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue().encode()


def protect(cell: str) -> str:
    """Escape text that a spreadsheet would run as a formula: with an apostrophe, which `reveal` takes away again."""
    return _RUNNABLE.sub("'", cell)


def reveal(cell: str) -> str:
    return _ESCAPED.sub("", cell)
