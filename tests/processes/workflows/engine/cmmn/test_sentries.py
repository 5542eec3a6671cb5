"""Which standard events can be waited for."""

import pytest

from tests.processes.workflows.case_files import case, human
from tests.processes.workflows.engine.cmmn.source_files import item, list_problems, wrap


class TestEvents:
    MOMENTS = (
        *("create", "occur", "suspend", "resume", "terminate", "parentTerminate", "parentSuspend", "parentResume"),
    )
    ACTIVITIES = (
        *("create", "enable", "disable", "reenable", "start", "manualStart", "suspend", "resume", "parentSuspend"),
        *("parentResume", "complete", "terminate", "fault", "reactivate", "exit"),
    )
    FILES = ("create", "update", "replace", "delete", "addChild", "removeChild")
    ALL = frozenset({*MOMENTS, *ACTIVITIES, *FILES, "close", "addReference", "removeReference", "nothing"})

    @pytest.mark.parametrize(
        ("name", "possible"),
        [
            ("humanTask", ACTIVITIES),
            ('caseTask caseRef="c"', ACTIVITIES),
            ('processTask processRef="p"', ACTIVITIES),
            ("stage", ACTIVITIES),
            ("milestone", MOMENTS),
            ("userEventListener", MOMENTS),
            ("timerEventListener", MOMENTS),
        ],
    )
    def test_only_those_that_the_source_can_make_are_waited_for(self, name: str, possible: tuple[str, ...]) -> None:
        tag, _, attributes = name.partition(" ")
        source = item(tag, attributes=attributes).replace("<timerExpression>PT1H</timerExpression>", "")
        if tag == "timerEventListener":
            source = item(tag)
        refused = {event for event in self.ALL if list_problems(wrap(source + human("B", entry=f"X {event}")))}
        assert refused == self.ALL - {*possible}

    def test_a_case_file_item_makes_those_of_its_own(self) -> None:
        refused = {
            event for event in self.ALL if list_problems(case(human("B", entry=f"file f {event}"), files="f").encode())
        }
        assert refused == self.ALL - {*self.FILES}

    def test_the_sentry_and_the_line_of_the_on_part_are_named(self) -> None:
        body = human("B", entry="A occur")
        expected = "The standard event “occur” of “A” can never happen."
        assert list_problems(wrap(body)) == [("B_entry1_sentry", 6, expected)]

    @pytest.mark.parametrize("part", ["planItemOnPart", "caseFileItemOnPart"])
    def test_an_on_part_needs_one(self, part: str) -> None:
        written = f'<sentry id="s">\n<{part} sourceRef="A" /></sentry>'
        found = list_problems(wrap(written + item("humanTask", '<entryCriterion sentryRef="s" />')))
        assert found == [("s", 5, f"{part} has no standardEvent.")]
