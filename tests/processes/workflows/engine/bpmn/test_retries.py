"""How often work is tried, as a file says it."""

import pytest

from processes.workflows.engine.bpmn.retries import NotRetries, parse_retries
from processes.workflows.engine.definition import RetryPlan
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.process_files import chain, service


class TestParseRetries:
    @pytest.mark.parametrize(
        ("text", "plan"),
        [
            ("3", RetryPlan(3)),
            ("R3/PT10M", RetryPlan(3, (600.0,))),
            (" PT1M, PT5M ", RetryPlan(3, (60.0, 300.0))),
            ("PT0S", RetryPlan(2, (0.0,))),
        ],
    )
    def test_reads_a_number_a_cycle_and_pauses(self, text: str, plan: RetryPlan) -> None:
        assert parse_retries(text) == plan

    @pytest.mark.parametrize("text", ["", "0", "R0/PT1M", "R/PT1M", "PT1M,", "${n}", "soon", "99999999999"])
    def test_refuses_anything_else(self, text: str) -> None:
        with pytest.raises(NotRetries):
            parse_retries(text)


class TestLimits:
    def test_there_are_so_many_attempts_and_not_one_more(self) -> None:
        assert parse_retries("1000").tries == 1000
        with pytest.raises(NotRetries, match="1 to 1000 attempts"):
            parse_retries("1001")

    def test_there_are_so_many_pauses_and_not_one_more(self) -> None:
        assert len(parse_retries(",".join(["PT1S"] * 20)).pauses) == 20
        with pytest.raises(NotRetries, match="at most 20 pauses"):
            parse_retries(",".join(["PT1S"] * 21))

    def test_a_pause_is_so_long_and_not_a_second_longer(self) -> None:
        assert parse_retries("P30D").pauses == (30 * 86_400.0,)
        with pytest.raises(NotRetries, match="at most 30 days"):
            parse_retries("P30DT1S")


class TestReadRetries:
    def test_what_cannot_be_read_is_a_problem_of_its_task(self) -> None:
        name, task = service("s", "external")
        source = chain("p", (name, task.replace("<serviceTask", '<serviceTask postern:retry="often"')))
        with pytest.raises(InvalidDefinition, match="retries cannot be read"):
            parse_definition(source)
