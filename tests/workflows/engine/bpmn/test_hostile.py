import subprocess
import sys
from pathlib import Path

import pytest

from processes.workflows.engine.bpmn.xml import MAX_BYTES, MAX_DEPTH, read_xml
from processes.workflows.engine.problems import NotExecutable
from processes.workflows.engine.reading import read_definition
from tests.workflows.engine.bpmn.hostile import FILES, TRUSTED
from tests.workflows.engine.bpmn.sources import wrap

DOCTYPES = [name for name in FILES if any(word in name for word in ("DOCTYPE", "laughs", "external"))]
TOO_DEEP = b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1)
TOP = Path(__file__).parents[4]


class TestHostileFiles:
    def test_none_is_read_none_takes_a_second_or_100_megabytes(self) -> None:
        command = [sys.executable, "-m", "tests.workflows.engine.bpmn.hostile"]
        output = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True, timeout=110).stdout
        rows = [line.split("\t") for line in output.splitlines()]
        *files, (megabytes, _, _) = rows
        assert len(files) == len(FILES)
        assert [name for seconds, name, outcome in files if outcome == "read" or float(seconds) >= 1] == []
        assert int(megabytes) < 100

    @pytest.mark.parametrize("name", DOCTYPES)
    def test_a_doctype_is_refused_wherever_it_hides(self, name: str) -> None:
        with pytest.raises(NotExecutable, match="A DOCTYPE is not allowed"):
            read_definition(FILES[name]())

    def test_the_line_of_what_is_malformed_is_told(self) -> None:
        with pytest.raises(NotExecutable) as refused:
            read_definition(b"<a>\n<b>\n</a>")
        assert [(problem.element, problem.line) for problem in refused.value.problems] == [("", 3)]

    def test_cmmn_is_told_apart_from_what_is_no_definition(self) -> None:
        with pytest.raises(NotExecutable, match="The file has no case"):
            read_definition(FILES["CMMN"]())


class TestReadXml:
    def test_reads_up_to_the_limits(self) -> None:
        deep = read_xml(b"<a>" * MAX_DEPTH + b"</a>" * MAX_DEPTH)
        large = read_xml(b"<a>" + b"x" * (MAX_BYTES - 7) + b"</a>")
        assert (len(deep.children), len(large.text)) == (1, MAX_BYTES - 7)

    @pytest.mark.parametrize("source", [TOO_DEEP, b"<a/>" + b" " * MAX_BYTES])
    def test_reads_nothing_beyond_them(self, source: bytes) -> None:
        with pytest.raises(NotExecutable, match=r"deep|larger"):
            read_xml(source)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1251", "koi8-r"])
    def test_reads_the_encoding_that_the_file_declares(self, encoding: str) -> None:
        text = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n<a>Заявка</a>'
        assert (read_xml(text.encode(encoding)).text, read_xml(text.encode(encoding)).line) == ("Заявка", 2)

    def test_leaves_comments_and_instructions_out_and_texts_whole(self) -> None:
        root = read_xml(b"<a>one<!-- two --> three<?four five?><![CDATA[ <six>]]></a>")
        assert (root.text, root.children) == ("one three <six>", ())

    def test_a_doctype_in_a_text_is_only_text(self) -> None:
        assert read_xml(b"<!-- <!DOCTYPE a> --><a><![CDATA[<!DOCTYPE a>]]></a>").text == "<!DOCTYPE a>"


class TestReadDefinition:
    def test_reads_bpmn_by_its_namespace(self) -> None:
        assert read_definition(TRUSTED.encode()).key == read_definition(wrap("")).key == "p"
