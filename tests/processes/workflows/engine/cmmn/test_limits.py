from collections.abc import Callable
from functools import reduce

import pytest

from processes.workflows.engine.cmmn.outline import MAX_FILE_ITEMS, MAX_ITEMS, MAX_STAGES_DEEP
from processes.workflows.engine.cmmn.sentries import MAX_AWAITED, MAX_ON_PARTS
from tests.processes.workflows.case_files import case, human, stage
from tests.processes.workflows.engine.cmmn.source_files import ON_A, SENTRY, item, list_problems, wrap


class TestLimits:
    def test_as_many_plan_items_as_are_allowed_are_read(self) -> None:
        items = "".join(f'<planItem id="i{number}" definitionRef="A_def" />' for number in range(MAX_ITEMS - 1))
        assert list_problems(wrap(items)) == []
        more = '\n<planItem id="last" definitionRef="A_def" />'
        assert list_problems(wrap(items + more)) == [("last", 5, f"A case has at most {MAX_ITEMS} plan items.")]

    @pytest.mark.parametrize("write", [lambda stages: nested(stages), lambda stages: chained(stages)])
    def test_stages_as_deep_as_is_allowed_are_read(self, write: Callable[[int], bytes]) -> None:
        assert list_problems(write(MAX_STAGES_DEEP)) == []
        (problem,) = list_problems(write(MAX_STAGES_DEEP + 1))
        assert problem[2] == f"Stages are nested more than {MAX_STAGES_DEEP} deep."

    def test_a_sentry_has_so_many_on_parts(self) -> None:
        use = item("humanTask", '<entryCriterion sentryRef="s" />')
        assert list_problems(wrap(use + f'<sentry id="s">{ON_A * MAX_ON_PARTS}</sentry>')) == []
        expected = [("s", 5, f"A sentry has at most {MAX_ON_PARTS} on-parts.")]
        assert list_problems(wrap(use + f'<sentry id="s">{ON_A * (MAX_ON_PARTS + 1)}</sentry>')) == expected

    def test_criteria_count_with_what_they_wait_for(self) -> None:
        uses = '<entryCriterion sentryRef="s" />' * (MAX_AWAITED // 2)
        assert list_problems(wrap(SENTRY + item("humanTask", uses))) == []
        (problem,) = list_problems(wrap(SENTRY + item("humanTask", uses + '<exitCriterion sentryRef="s" />')))
        assert problem[::2] == ("X", f"A case has at most {MAX_AWAITED} criteria, counted with all they wait for.")

    def test_as_many_items_of_the_case_file_as_are_allowed_are_read(self) -> None:
        items = [f'<caseFileItem id="f{number}" />' for number in range(MAX_FILE_ITEMS + 1)]
        assert list_problems(wrap("", case=f"<caseFileModel>{''.join(items[:-1])}</caseFileModel>")) == []
        (problem,) = list_problems(wrap("", case=f"<caseFileModel>{''.join(items)}</caseFileModel>"))
        assert problem[2] == f"A case file has at most {MAX_FILE_ITEMS} items."


def nested(stages: int) -> bytes:
    """Write stages whose elements stand in each other."""
    return case(reduce(lambda inside, number: stage(f"S{number}", inside), range(stages), human("A"))).encode()


def chained(stages: int) -> bytes:
    """Write stages that lie in each other by reference: their elements stand side by side."""
    ids = [f"S{number}" for number in range(stages)]
    items = [f'<planItem id="{key}" definitionRef="{key}_def" />' for key in ids]
    held = zip(ids, [*items[1:], ""], strict=True)
    return wrap(items[0] + "".join(f'<stage id="{key}_def">{inside}</stage>' for key, inside in held))
