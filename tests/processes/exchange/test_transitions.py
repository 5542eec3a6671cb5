"""The table of the contract, once as a function and once through every call."""

import re

import pytest

from processes.exchange.transitions import Call, Status, Verdict, judge, overlap
from tests.processes.documented_functions import find_missing_functions, read_page
from tests.processes.exchange.scene import Answer, Scene, move_files
from tests.processes.exchange.states import alerts, bring_to

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

OK, NO, ALERT = "OK", "CANCELLED", "CANCELLED and an alert"
STATUSES = [
    "STARTED",
    "READY_TO_COMMIT",
    "CLEANUP",
    "FAILED",
    "DONE",
    "TIMED_OUT",
    "INTERRUPTED",
    "ROLLED_BACK",
    "NEVER_READY",
    "IN_DOUBT",
]
TABLE = {
    "accept": [OK, NO, NO, NO, NO, NO, NO, NO, NO, NO],
    "prepare": [OK, OK, OK, NO, OK, NO, NO, NO, NO, NO],
    "commit": [NO, OK, OK, OK, OK, NO, NO, ALERT, NO, OK],
    "rollback": [NO, OK, NO, NO, NO, NO, NO, OK, OK, OK],
    "interrupt": [OK, NO, NO, NO, NO, NO, OK, NO, NO, NO],
    "abandon": [OK, OK, NO, NO, NO, NO, OK, OK, OK, NO],
    "resolve true": [NO, OK, OK, OK, OK, NO, NO, ALERT, NO, OK],
    "resolve false": [NO, OK, ALERT, ALERT, ALERT, NO, NO, OK, NO, OK],
}
CASES = [
    (call, status, outcome)
    for call, outcomes in TABLE.items()
    for status, outcome in zip(STATUSES, outcomes, strict=True)
]


def body_of(scene: Scene, call: str) -> tuple[str, Answer]:
    """Return the name and the fields of a call about the one message of a process."""
    name, _, decision = call.partition(" ")
    fields: dict[str, Answer] = {
        "accept": {"messages": ["m1"]},
        "prepare": {
            "results": [{"message": "m1", "status": "PROCESSED"}],
            "replies": [scene.reply("r-m1", reply_to="m1")],
        },
        "commit": {},
        "rollback": {"error_text": "no space"},
        "interrupt": {"text": "stop"},
        "abandon": {"text": "restarted"},
        "resolve": {"committed": decision == "true"},
    }
    return name, fields[name]


def look_at(scene: Scene, process: str) -> tuple[object, ...]:
    """Return all that a call could change, but for the lines of the log."""
    answer = scene.process(process)
    del answer["log"]
    return answer, scene.folders(), scene.receipt()


class TestEveryCallInEveryStatus:
    @pytest.mark.parametrize(("call", "status", "outcome"), CASES)
    def test_is_answered_by_the_table(self, scene: Scene, call: str, status: str, outcome: str) -> None:
        process = bring_to(scene, status)
        before = look_at(scene, process)
        name, fields = body_of(scene, call)
        assert scene.step(process, name, **fields) == outcome.split()[0]
        assert alerts("exchange.contradiction") == ([f"process/{process}"] if outcome == ALERT else [])
        if outcome == OK:
            move_files()
            before = look_at(scene, process)
            assert scene.step(process, name, **fields) == OK, "what is done is done once, and said again"
        assert look_at(scene, process) == before


class TestJudge:
    @pytest.mark.parametrize("call", list(Call))
    def test_never_ready_is_never_a_contradiction(self, call: Call) -> None:
        statuses = ["STARTED", "TIMED_OUT", "INTERRUPTED", "ROLLED_BACK"]
        verdicts = {judge(call, status=status, decision="", was_ready=False) for status in statuses}
        assert Verdict.CONTRADICT not in verdicts


class TestOverlap:
    @pytest.mark.parametrize(
        ("lane", "other", "expected"),
        [
            (["a"], ["b"], False),
            (["a", "b"], ["b", "c"], True),
            ([], ["a"], True),
            (["a"], [], True),
            ([], [], True),
        ],
    )
    def test_none_is_all(self, lane: list[str], other: list[str], expected: bool) -> None:
        assert overlap(lane, other) is expected


class TestDocumentation:
    PAGE = "exchange-protocol.md"

    @pytest.mark.parametrize("call", ["API_2", "API_3", "API_4", "API_5", "API_6", "API_7"])
    def test_says_where_each_call_is_done(self, call: str) -> None:
        [done_from] = re.findall(rf"^\| {call} \w+ \| [^|]* \| ([^|]*) \|", read_page(self.PAGE), re.MULTILINE)
        calls = [each for each in Call if each.startswith(call)]
        assert set(done_from.split(", ")) == {status for each in calls for status in Status if judge_in(each, status)}

    def test_names_functions_that_there_are(self) -> None:
        assert not find_missing_functions(self.PAGE, "processes.exchange")


def judge_in(call: Call, status: str) -> bool:
    return judge(call, status=status, decision="", was_ready=False) == Verdict.DO
