import io
import zipfile
from datetime import date, datetime

import pytest
from openpyxl import Workbook

from config.common.errors import Invalid, TooLarge
from sensors.services import workbook, workbook_parts
from sensors.services.workbook import LARGEST_PART, LARGEST_UNPACKED, read_workbook

SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PARTS: dict[str, bytes | str] = {
    "_rels/.rels": f'<r><Relationship Id="r" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></r>',
    "xl/workbook.xml": f'<workbook xmlns:r="{RELATIONS}"><sheets><sheet r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'''<r><Relationship Id="r1" Type="{RELATIONS}/worksheet" Target="/{SHEET}"/>
        <Relationship Id="r2" Type="{RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>
        <Relationship Id="r3" Type="{RELATIONS}/styles" Target="styles.xml"/></r>''',
    SHEET: f'<worksheet xmlns="{SPACE}"><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>',
    STRINGS: "<sst/>",
    "xl/styles.xml": "<styleSheet/>",
}
DOCTYPE = '<!DOCTYPE a [<!ENTITY b "b">]>'


def make_book(**parts: bytes | str) -> bytes:
    """Return a workbook of the fewest parts, some of them replaced or added."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in (PARTS | parts).items():
            archive.writestr(name, part)
    return file.getvalue()


def with_rows(rows: str, **parts: bytes | str) -> bytes:
    sheet = f'<worksheet xmlns="{SPACE}"><sheetData>{rows}</sheetData></worksheet>'
    return make_book(**({SHEET: sheet} | parts))


def cell(text: str, place: str = "") -> str:
    return f'<c {place and f"r={place!r}"} t="inlineStr"><is><t>{text}</t></is></c>'.replace("'", '"')


def refusal(content: bytes) -> str:
    with pytest.raises(Invalid) as error:
        list(read_workbook(content))
    rule: str = error.value.data["fields"]["file"][0]
    return rule


class TestReadWorkbook:
    def test_reads_each_kind_of_cell_as_text(self) -> None:
        book, file = Workbook(), io.BytesIO()
        book.active.append(["id", 7, 60.0, 0.5, True, datetime(2024, 5, 1, 6, 30), date(2024, 5, 1), "=1+1", " x "])
        book.save(file)
        assert list(read_workbook(file.getvalue())) == [
            (1, ["id", "7", "60", "0.5", "true", "2024-05-01 06:30:00", "2024-05-01 00:00:00", "", "x"])
        ]

    def test_rows_keep_their_numbers_and_empty_cells_their_places(self) -> None:
        rows = (
            f'<row r="2">{cell("a", "A2")}{cell("c", "C2")}</row><row/><row r="1048576">{cell("x", "B1048576")}</row>'
        )
        assert list(read_workbook(with_rows(rows))) == [
            (2, ["a", "", "c"]),
            (3, ["", "", ""]),
            (1048576, ["", "x", ""]),
        ]

    def test_text_in_several_fonts_is_one_text_and_its_reading_is_left_out(self) -> None:
        runs = "<si><r><t>two </t></r><r><t>fonts</t></r><rPh><t>aloud</t></rPh></si>"
        strings = f'<sst xmlns="{SPACE}">{runs}</sst>'
        content = with_rows('<row><c t="s"><v>0</v></c></row>', **{STRINGS: strings})
        assert list(read_workbook(content)) == [(1, ["two fonts"])]

    @pytest.mark.parametrize(
        "content",
        [
            b"PK\x03\x04 no archive",
            make_book(**{"xl/workbook.xml": "<broken"}),
            make_book(**{"_rels/.rels": "<a/>"}),
            with_rows('<row><c t="s"><v>7</v></c></row>'),
            with_rows('<row><c t="s"><v>-1</v></c></row>'),
            with_rows('<row r="x"/>'),
            with_rows(f'<row r="{"9" * 20}"/>'),
            with_rows("<row><c><v>one</v></c></row>"),
            with_rows("<row>&unknown;</row>"),
            make_book(**{SHEET: b'<?xml version="1.0" encoding="utf-7"?><worksheet/>'}),
        ],
        ids=range(10),
    )
    def test_what_cannot_be_read_is_the_files_fault(self, content: bytes) -> None:
        assert refusal(content) == "Cannot be read as XLSX."


class TestBounds:
    """One past each bound: refused by name; the bound itself is taken."""

    @pytest.mark.parametrize("name", [SHEET, STRINGS, "xl/workbook.xml", "xl/styles.xml", "_rels/.rels"])
    @pytest.mark.parametrize(
        "before", ["", f"<!--{'c' * 1024}-->", f"<?p {'c' * 300_000}?>"], ids=["", "comment", "long"]
    )
    def test_a_document_type_is_refused_wherever_it_begins(self, name: str, before: str) -> None:
        for encoding in ("utf-8", "utf-16"):
            part = f"{before}{DOCTYPE}<a>&b;</a>".encode(encoding)
            assert "document type" in refusal(make_book(**{name: part}))

    def test_what_claims_to_unpack_to_too_much_is_not_unpacked(self) -> None:
        with pytest.raises(TooLarge, match=f"{LARGEST_UNPACKED} bytes"):
            list(read_workbook(make_book(**{"xl/bomb.xml": b" " * LARGEST_UNPACKED})))

    def test_a_part_is_counted_while_it_is_unpacked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workbook, "LARGEST_PART", 200_000)
        assert len(list(read_workbook(with_rows("<row/>" + " " * 199_000)))) == 1
        with pytest.raises(TooLarge, match="200000 bytes"):
            list(read_workbook(with_rows("<row/>" + " " * 200_000)))
        assert LARGEST_PART < LARGEST_UNPACKED

    def test_all_parts_are_counted_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        content = with_rows("<row/>" + " " * 100_000)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive_parts = workbook._Archive(archive)
            monkeypatch.setattr(workbook, "LARGEST_UNPACKED", 100_000)
            archive_parts._left = 100_000  # an archive that lies about its sizes is stopped here
            with pytest.raises(TooLarge, match="100000 bytes"):
                archive_parts.read(SHEET, workbook_parts.Reader())

    def test_parts_are_counted_before_the_archive_is_opened(self, monkeypatch: pytest.MonkeyPatch) -> None:
        content = make_book()
        monkeypatch.setattr(workbook, "MOST_PARTS", content.count(b"PK\x01\x02"))
        assert len(list(read_workbook(content))) == 1
        monkeypatch.setattr("zipfile.ZipFile", None)
        assert "parts" in refusal(content + b"PK\x01\x02")

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_only_what_unpacks_in_little_memory_is_unpacked(self, method: int) -> None:
        file = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(make_book())) as whole,
            zipfile.ZipFile(file, "w", method) as archive,
        ):
            for each in whole.namelist():
                archive.writestr(each, whole.read(each))
        assert "XLSX" in refusal(file.getvalue())

    def test_a_tag_without_an_end_is_not_kept(self) -> None:
        assert "a tag of more than" in refusal(with_rows(f'<row r="{"x" * 1_200_000}"/>'))

    def test_depth(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workbook, "DEEPEST", 10)
        assert len(list(read_workbook(with_rows("<a>" * 8 + "</a>" * 8 + "<row/>")))) == 1
        assert "deeper than 10" in refusal(with_rows("<a>" * 9 + "</a>" * 9))

    def test_cells(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workbook_parts, "MOST_CELLS", 100)
        assert len(list(read_workbook(with_rows(f"<row>{'<c/>' * 100}</row>")))) == 1
        assert "at most 100 cells" in refusal(with_rows(f"<row>{'<c/>' * 101}</row>"))

    def test_columns(self) -> None:
        assert list(read_workbook(with_rows(f"<row>{cell('x', 'AX1')}</row>"))) == [(1, [""] * 49 + ["x"])]
        assert "at most 50 columns" in refusal(with_rows(f"<row>{cell('x', 'AY1')}</row>"))

    def test_length_of_a_cell(self) -> None:
        assert len(list(read_workbook(with_rows(f"<row>{cell('x' * 32_767)}</row>")))) == 1
        assert "32767 characters" in refusal(with_rows(f"<row>{cell('x' * 32_768)}</row>"))

    def test_shared_texts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def book(count: int) -> bytes:
            return with_rows("", **{STRINGS: f'<sst xmlns="{SPACE}">{"<si/>" * count}</sst>'})

        monkeypatch.setattr(workbook_parts, "MOST_STRINGS", 100)
        assert list(read_workbook(book(100))) == []
        assert "at most 100 shared texts" in refusal(book(101))

    @pytest.mark.parametrize("shared", [True, False])
    def test_characters_of_all_cells(self, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """A shared text counts as often as it stands in a cell."""
        monkeypatch.setattr(workbook_parts, "MOST_TEXT", 1000)
        strings = {STRINGS: f'<sst xmlns="{SPACE}"><si><t>{"x" * 100}</t></si></sst>'}
        one = '<c t="s"><v>0</v></c>' if shared else cell("x" * 100)
        assert len(list(read_workbook(with_rows(f"<row>{one * 10}</row>", **strings)))) == 1
        assert "at most 1000 characters" in refusal(with_rows(f"<row>{one * 11}</row>", **strings))

    def test_characters_of_shared_texts_that_no_cell_shows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workbook_parts, "MOST_TEXT", 1000)
        text = "<si><t>" + "x" * 100 + "</t></si>"
        strings = f'<sst xmlns="{SPACE}">{text * 11}</sst>'
        assert "at most 1000 characters" in refusal(with_rows("", **{STRINGS: strings}))
