import subprocess
import sys
from pathlib import Path

import pytest

from processes.workflows.engine.bpmn.file import MAX_EXPRESSION_TEXT, MAX_EXPRESSIONS
from processes.workflows.engine.bpmn.outline import MAX_FLOWS, MAX_NODES
from processes.workflows.engine.bpmn.xml import MAX_ATTRIBUTES, MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS, parse_xml
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.engine.bpmn.hostile_files import FILES, HARMLESS, TRUSTED
from tests.processes.workflows.engine.bpmn.source_files import find_problems, wrap

DOCTYPES = [name for name in FILES if any(word in name for word in ("DOCTYPE", "laughs", "external"))]
TOO_DEEP = b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1)
TOP = Path(__file__).parents[5]


class TestHostileFiles:
    @pytest.mark.slow
    def test_none_is_read_none_takes_two_seconds_or_100_megabytes(self) -> None:
        command = [sys.executable, "-m", "tests.processes.workflows.engine.bpmn.hostile_files"]
        output = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True, timeout=240).stdout
        rows = [line.split("\t") for line in output.splitlines()]
        *files, (megabytes, _, _) = rows
        assert len(files) == len(FILES)
        assert {name for _, name, outcome in files if outcome == "read"} == HARMLESS
        assert [name for seconds, name, _ in files if float(seconds) >= 2] == []
        assert int(megabytes) < 100

    @pytest.mark.parametrize("name", DOCTYPES)
    def test_a_doctype_is_refused_wherever_it_hides(self, name: str) -> None:
        with pytest.raises(InvalidDefinition, match="A DOCTYPE is not allowed"):
            parse_definition(FILES[name]())

    def test_the_line_of_what_is_malformed_is_told(self) -> None:
        with pytest.raises(InvalidDefinition) as refused:
            parse_definition(b"<a>\n<b>\n</a>")
        assert [(problem.element, problem.line) for problem in refused.value.problems] == [("", 3)]

    @pytest.mark.parametrize(
        ("source", "line", "message"),
        [
            ('<a>\n<!-- &x; -->\n<b c="x&nbsp;"/></a>', 3, "XML has no entity “&nbsp;”: write the character itself."),
            ("<a>\n\n&auml;&ouml;</a>", 3, "XML has no entity “&auml;”: write the character itself."),
            ("", 1, "The file is empty."),
            (" \n", 1, "The file is empty."),
        ],
    )
    def test_what_the_parser_leaves_open_is_told_too(self, source: str, line: int, message: str) -> None:
        with pytest.raises(InvalidDefinition) as refused:
            parse_definition(source.encode())
        assert [(problem.line, problem.message) for problem in refused.value.problems] == [(line, message)]

    def test_every_problem_has_a_line_of_the_file(self) -> None:
        whole = b'<a x="1">\n<b>&lt;</b>\n<c/></a>'
        for end in range(len(whole)):
            with pytest.raises(InvalidDefinition) as refused:
                parse_definition(whole[:end])
            assert all(1 <= problem.line <= 3 for problem in refused.value.problems)

    def test_cmmn_is_told_apart_from_what_is_no_definition(self) -> None:
        with pytest.raises(InvalidDefinition, match="The file has no case"):
            parse_definition(FILES["CMMN"]())


class TestParseXml:
    def test_reads_up_to_the_limits(self) -> None:
        deep = parse_xml(b"<a>" * MAX_DEPTH + b"</a>" * MAX_DEPTH)
        large = parse_xml(b"<a>" + b"x" * (MAX_BYTES - 7) + b"</a>")
        assert (len(deep.children), len(large.text)) == (1, MAX_BYTES - 7)

    @pytest.mark.parametrize("source", [TOO_DEEP, b"<a/>".ljust(MAX_BYTES + 1)], ids=["deep", "large"])
    def test_reads_nothing_beyond_them(self, source: bytes) -> None:
        with pytest.raises(InvalidDefinition, match=r"deep|larger"):
            parse_xml(source)

    @pytest.mark.slow
    def test_reads_so_many_elements_and_not_one_more(self) -> None:
        assert len(parse_xml(b"<a>" + b"<b/>" * (MAX_ELEMENTS - 1) + b"</a>").children) == MAX_ELEMENTS - 1
        with pytest.raises(InvalidDefinition, match="more than 50000 elements"):
            parse_xml(b"<a>" + b"<b/>" * MAX_ELEMENTS + b"</a>")

    def test_reads_so_many_attributes_and_not_one_more(self) -> None:
        attributes = [b"a%d=''" % number for number in range(MAX_ATTRIBUTES + 1)]
        assert len(parse_xml(b"<a %s/>" % b" ".join(attributes[1:])).attributes) == MAX_ATTRIBUTES
        with pytest.raises(InvalidDefinition, match="more than 200 attributes"):
            parse_xml(b"<a %s/>" % b" ".join(attributes))

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1251", "koi8-r"])
    def test_reads_the_encoding_that_the_file_declares(self, encoding: str) -> None:
        text = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n<a>Заявка</a>'
        assert (parse_xml(text.encode(encoding)).text, parse_xml(text.encode(encoding)).line) == ("Заявка", 2)

    def test_leaves_comments_and_instructions_out_and_texts_whole(self) -> None:
        root = parse_xml(b"<a>one<!-- two --> three<?four five?><![CDATA[ <six>]]></a>")
        assert (root.text, root.children) == ("one three <six>", ())

    def test_a_doctype_in_a_text_is_only_text(self) -> None:
        assert parse_xml(b"<!-- <!DOCTYPE a> --><a><![CDATA[<!DOCTYPE a>]]></a>").text == "<!DOCTYPE a>"


class TestSize:
    """One past each bound is refused; the bound itself is not what is wrong with the file."""

    @pytest.mark.parametrize(
        ("unit", "most"),
        [
            ("<task id='t%d'/>", MAX_NODES - 1),  # beside the start event
            ("<sequenceFlow id='f%d' sourceRef='s' targetRef='t'/>", MAX_FLOWS),
        ],
        ids=["elements", "flows"],
    )
    def test_of_a_process(self, unit: str, most: int) -> None:
        refusal = f"A process has at most {MAX_NODES} elements and {MAX_FLOWS} sequence flows."
        body = "<task id='t'/>" if "sequenceFlow" in unit else ""
        assert refusal not in messages(wrap(body + "".join(unit % number for number in range(most))))
        assert refusal in messages(wrap(body + "".join(unit % number for number in range(most + 1)) + "<task id='z'/>"))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("text", "most"),
        [("1", MAX_EXPRESSIONS), (f"'{'x' * 1998}'", MAX_EXPRESSION_TEXT // 2000)],
        ids=["number", "text"],
    )
    def test_of_all_expressions(self, text: str, most: int) -> None:
        def conditions(count: int) -> bytes:
            condition = f"<conditionExpression>{text}</conditionExpression>"
            flow = f"<sequenceFlow id='f%d' sourceRef='s' targetRef='t'>{condition}</sequenceFlow>"
            return wrap("<task id='t'/>" + "".join(flow % number for number in range(count)))

        refusal = f"The file has over {MAX_EXPRESSIONS} expressions, or {MAX_EXPRESSION_TEXT} characters of them."
        assert refusal not in messages(conditions(most))
        assert refusal in messages(conditions(most + 1))


def messages(source: bytes) -> list[str]:
    return [problem.message for problem in find_problems(source)]


class TestParseDefinition:
    def test_reads_bpmn_by_its_namespace(self) -> None:
        assert parse_definition(TRUSTED.encode()).key == parse_definition(wrap("")).key == "p"
