"""How much of a file is translated and told, and not one more."""

import pytest

from processes.workflows.engine.bpmn.outline import MAX_NESTED
from processes.workflows.engine.dialects import process_files, report
from processes.workflows.engine.dialects.report import Report
from processes.workflows.engine.parser import parse_file
from processes.workflows.engine.problems import InvalidDefinition


def write(processes: int) -> bytes:
    body = "".join(
        f'<process id="p{each}" isExecutable="true"><startEvent id="s{each}"/></process>' for each in range(processes)
    )
    return f'<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL">{body}</definitions>'.encode()


class TestProcesses:
    def test_so_many_are_run_and_not_one_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process_files, "MAX_PROCESSES", 3)

        assert [each.key for each in parse_file(write(3)).definitions] == ["p0", "p1", "p2"]
        with pytest.raises(InvalidDefinition):
            parse_file(write(4))


class TestReport:
    def test_a_list_has_so_many_entries_and_the_rest_is_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(report, "MOST_ENTRIES", 2)
        told = Report()

        for line in range(5):
            told.add_run(f"e{line}", line, "", "task")

        assert (len(told.runs), told.more) == (2, 3)


class TestDepth:
    def test_what_nests_too_deep_is_refused_before_it_is_translated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process_files, "complete_process_ids", lambda *_: pytest.fail("it was translated"))
        begin = "".join(f'<subProcess id="n{level}"><startEvent id="s{level}"/>' for level in range(MAX_NESTED + 1))
        body = begin + "</subProcess>" * (MAX_NESTED + 1)
        source = write(1).replace(b'<startEvent id="s0"/>', f'<startEvent id="s"/>{body}'.encode())

        with pytest.raises(InvalidDefinition, match="nested more than"):
            parse_file(source)
