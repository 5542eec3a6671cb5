import csv
import io
import re
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from config.common.errors import Invalid, TooLarge
from config.common.web.tables import reveal
from sensors.services.sheets import (
    LARGEST_FILE,
    LONGEST_LINE,
    MOST_ROWS,
    protect,
    read_sheet,
    stream_sheet,
    write_csv,
)

HEADER = b"id,address\r\n"


def xlsx(*rows: list[Any]) -> bytes:
    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in rows:
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def refusal(content: bytes) -> str:
    with pytest.raises(Invalid) as error:
        read_sheet(content)
    rule: str = error.value.data["fields"]["file"][0]
    return rule


class TestReadSheet:
    def test_gives_each_line_its_place_in_the_file(self) -> None:
        lines = read_sheet(b'id,address\r\n\r\na,"two\r\nlines"\r\n , \r\nb,x\r\n')
        assert [(line.number, line.cells) for line in lines] == [
            (3, {"id": "a", "address": "two\r\nlines"}),
            (6, {"id": "b", "address": "x"}),
        ]

    def test_takes_columns_in_any_order_and_a_byte_order_mark(self) -> None:
        assert read_sheet("\ufeffAddress,ID\nhere,a\n".encode())[0].cells == {"address": "here", "id": "a"}

    def test_takes_semicolons_where_the_header_has_them(self) -> None:
        assert read_sheet(b'id;clients\na;"1;2"\n')[0].cells == {"id": "a", "clients": "1;2"}

    def test_reads_xlsx_as_it_reads_csv(self) -> None:
        content = xlsx(["id", "active", "heartbeat_timeout", "clients", None], ["a", True, 60.0, 5, None], [7, False])
        assert [line.cells for line in read_sheet(content)] == [
            {"id": "a", "active": "true", "heartbeat_timeout": "60", "clients": "5"},
            {"id": "7", "active": "false", "heartbeat_timeout": "", "clients": ""},
        ]

    def test_notes_cells_beyond_the_header(self) -> None:
        assert [line.has_more for line in read_sheet(b"id\na,b\nc,\n")] == [True, False]

    @pytest.mark.parametrize(
        ("content", "rule"),
        [
            (b"", "first line"),
            (b"address\nhere\n", "“id”"),
            (b"id,id\na,b\n", "no column twice"),
            (b"id,colour\na,b\n", "“colour”"),
            (b'id,address\na,"b"c\n', "Line 2 is not valid CSV"),
            (b'id,address\na,"b\n', "Line 2 is not valid CSV"),
            (b"id\n\xff\n", "UTF-8"),
            (b"PK\x03\x04 no archive", "XLSX"),
        ],
    )
    def test_says_why_a_file_cannot_be_read(self, content: bytes, rule: str) -> None:
        assert rule in refusal(content)

    @pytest.mark.slow
    def test_takes_a_hundred_thousand_rows_and_not_one_more(self) -> None:
        rows = b"".join(b"s%d,x\n" % n for n in range(MOST_ROWS))
        assert len(read_sheet(HEADER + rows)) == MOST_ROWS
        assert "100000 rows" in refusal(HEADER + rows + b"last,x\n")

    def test_takes_ten_megabytes_and_not_one_byte_more(self) -> None:
        row = b"s," + b"x" * 200 + b"\n"
        content = HEADER + row * (LARGEST_FILE // len(row) - 1)
        content += b"," + b"x" * (LARGEST_FILE - len(content) - 1)
        assert len(read_sheet(content)) == LARGEST_FILE // len(row)
        with pytest.raises(TooLarge, match="10485760 bytes"):
            read_sheet(content + b"x")

    def test_takes_a_line_of_the_limit_and_not_a_character_more(self) -> None:
        line = b"s".ljust(LONGEST_LINE, b",")
        assert len(read_sheet(HEADER + line)) == 1
        assert refusal(HEADER + line + b",") == f"Line 2 has more than {LONGEST_LINE} characters."

    def test_takes_a_cell_of_the_limit_and_not_a_character_more(self) -> None:
        line = b"s," + b"x" * csv.field_size_limit()
        assert len(read_sheet(HEADER + line)) == 1
        assert "field larger than field limit (131072)" in refusal(HEADER + line + b"x")

    def test_empty_rows_are_not_read_for_ever(self) -> None:
        assert "100000 rows" in refusal(HEADER + b"\n" * 3_000_000)


class Generated(io.RawIOBase):
    """A file that is made while it is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = next(self._pieces, b"")
        buffer[: len(piece)] = piece
        return len(piece)


def rows_of_csv(rows: int) -> io.BufferedReader:
    def pieces() -> Iterator[bytes]:
        yield HEADER
        for n in range(rows):
            yield b"s%d,x\r\n" % n

    return io.BufferedReader(Generated(pieces()))


class TestStreamSheet:
    def test_reads_what_read_sheet_reads(self) -> None:
        for content in (b'\n\nid;address\r\n\na;"two\r\nlines"\nb;x', xlsx(["id", "address"], ["a", "x"])):
            assert list(stream_sheet(io.BufferedReader(io.BytesIO(content)))) == read_sheet(content)

    def test_takes_more_rows_than_a_call(self) -> None:
        assert sum(1 for _ in stream_sheet(rows_of_csv(MOST_ROWS + 1))) == MOST_ROWS + 1

    def test_memory_does_not_grow_with_the_rows(self) -> None:
        def peak(rows: int) -> int:
            tracemalloc.start()
            try:
                for _ in stream_sheet(rows_of_csv(rows)):
                    pass
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

        peak(10)
        assert peak(20_000) < peak(1000) + 50_000

    def test_a_line_without_an_end_is_not_read_whole(self) -> None:
        endless: io.BufferedReader = io.BufferedReader(Generated(iter([HEADER, *[b"x" * 8000] * 1000])))
        with pytest.raises(Invalid) as error:
            list(stream_sheet(endless))
        assert error.value.data["fields"]["file"] == [f"Line 2 has more than {LONGEST_LINE} characters."]

    def test_a_workbook_keeps_its_limits_and_they_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        content = xlsx(["id"], ["a"], ["b"])
        monkeypatch.setattr("sensors.services.sheets.MOST_ROWS", 1)
        with pytest.raises(Invalid) as error:
            list(stream_sheet(io.BufferedReader(io.BytesIO(content))))
        assert "at most 1 rows" in error.value.data["fields"]["file"][0]
        monkeypatch.setattr("sensors.services.sheets.LARGEST_FILE", 100)
        with pytest.raises(TooLarge, match="100 bytes"):
            list(stream_sheet(io.BufferedReader(io.BytesIO(content))))


class TestProtect:
    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "'=1", "\uff1d1"])
    def test_puts_an_apostrophe_before_what_looks_like_a_formula(self, text: str) -> None:
        assert protect(text) == "'" + text

    @pytest.mark.parametrize(
        ("text", "written"),
        [
            ("a;=1+1", "a;'=1+1"),
            ("a;-1;b;@x", "a;'-1;b;'@x"),
            ("a\n=1+1", "a\n'=1+1"),
            ("a\t+1", "a\t'+1"),
            ('a;"=1+1"', 'a;\'"=1+1"'),
            ("=a;=b", "'=a;'=b"),
        ],
    )
    def test_also_where_another_spreadsheet_begins_a_cell(self, text: str, written: str) -> None:
        """With semicolons between its cells a spreadsheet splits our text there, quoted or not."""
        assert (protect(text), reveal(written)) == (written, text)

    @pytest.mark.parametrize("text", ["", "1 Gate Street", "'quoted'", "a=b", "a; b", "1;2", "a, -1"])
    def test_leaves_other_text_alone(self, text: str) -> None:
        assert protect(text) == text

    @given(st.text("'=+-@\t\r\n;\"\uff1dab", max_size=8))
    def test_is_undone_exactly(self, text: str) -> None:
        assert reveal(protect(text)) == text

    def test_no_table_of_the_product_is_run_by_a_spreadsheet_with_semicolons(self) -> None:
        text = write_csv([("a;=1+1", '"=1', "x\n@y", 5, -5, None)]).decode()
        cells = [cell for line in csv.reader(io.StringIO(text, newline=""), delimiter=";") for cell in line]
        assert not [cell for cell in cells if re.match("[=+@]", cell)]

    def test_a_long_text_of_quotes_is_written_at_once(self) -> None:
        began = time.process_time()
        protect(";'\"" * 100_000 + "'" * 1_000_000)
        assert time.process_time() - began < 2
