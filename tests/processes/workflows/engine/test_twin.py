"""An instance and its twin: inputs with other ids, and answers that are equal or not."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from processes.workflows.engine.runner import CommandFailed, CommandRejected, run_command
from processes.workflows.engine.twin import (
    MOST_ENTERED,
    Answer,
    NoCounterpart,
    compare_answers,
    find_own_timer,
    find_place,
    translate_command,
)
from tests.processes.workflows.corpus.player import BEGIN, library
from tests.processes.workflows.corpus.script import read_keys
from tests.processes.workflows.corpus.test_random_walks import choose_command


def task(element: str, **more: Any) -> dict[str, Any]:
    return {"element": element, "kind": "user", "token": "0.1", "scope": "0.1", "name": element, "since": "", **more}


def state(**parts: Any) -> Any:
    return {"status": "active", "scopes": {}, **parts}


def armed(element: str, due: str) -> dict[str, Any]:
    return {"element": element, "token": None, "scope": "0.1", "kind": "duration", "due": due, "since": due}


class TestFindOwnTimer:
    AT = datetime(2030, 1, 1, 12, tzinfo=UTC)

    def test_is_the_first_that_was_due_where_the_instance_has_none(self) -> None:
        live = state(timers={"0.4": armed("both", "2030-01-01T09:00:00+00:00")})
        twin = state(
            timers={
                "0.4": armed("both", "2030-01-01T08:00:00+00:00"),
                "0.5": armed("own", "2030-01-01T11:00:00+00:00"),
                "0.6": armed("own", "2030-01-01T10:00:00+00:00"),
            }
        )
        assert find_own_timer(live, twin, self.AT) == ("0.6", datetime(2030, 1, 1, 10, tzinfo=UTC))

    @pytest.mark.parametrize("twin", [None, state(), state(timers={"0.5": armed("own", "2030-01-01T12:00:01+00:00")})])
    def test_none_is_due_yet(self, twin: Any) -> None:
        assert find_own_timer(state(), twin, self.AT) is None


class TestTranslateCommand:
    def test_finds_the_same_place_among_those_at_an_element(self) -> None:
        live = state(tasks={"0.5": task("a"), "0.7": task("b"), "0.10": task("a")})
        twin = state(tasks={"0.9": task("a"), "0.12": task("a"), "0.13": task("b")})
        found = [translate_command({"command": "x", "task": key}, live, twin)["task"] for key in live["tasks"]]
        assert found == ["0.9", "0.13", "0.12"]

    def test_items_that_have_ended_do_not_count(self) -> None:
        live = state(items={"0.2": task("a", state="active")})
        twin = state(items={"0.3": task("a", state="completed"), "0.4": task("a", state="active")})
        assert translate_command({"command": "x", "item": "0.2"}, live, twin)["item"] == "0.4"

    @pytest.mark.parametrize("twin", [None, state(), state(tasks={"0.5": task("b")})])
    def test_what_is_not_there_has_no_counterpart(self, twin: Any) -> None:
        with pytest.raises(NoCounterpart) as refusal:
            translate_command({"command": "x", "task": "0.5"}, state(tasks={"0.5": task("a")}), twin)
        assert refusal.value.element == "a"

    def test_a_command_about_the_whole_instance_stays_as_it_is(self) -> None:
        command = {"command": "send_message", "name": "paid"}
        assert translate_command(command, state(), state()) == command
        assert find_place(command, state()) == ""


class TestCompareAnswers:
    def kinds(self, live: Answer, twin: Answer) -> list[tuple[str, str]]:
        return [(each.kind, each.place) for each in compare_answers(live, twin)]

    def test_the_order_of_a_path_does_not_count(self) -> None:
        one, other = (("enter", "a"), ("enter", "b")), (("enter", "b"), ("enter", "a"))
        assert self.kinds(Answer(None, state(), one), Answer(None, state(), other)) == []
        assert self.kinds(Answer(None, state(), one), Answer(None, state(), one[:1])) == [("path", "b")]

    def test_a_path_that_was_cut_is_not_compared(self) -> None:
        long = (("enter", "a"),) * MOST_ENTERED
        assert self.kinds(Answer(None, state(), long), Answer(None, state(), long[:5])) == []

    def test_a_cycle_that_is_due_at_another_time_waits_for_something_else(self) -> None:
        timer = {"element": "t", "token": None, "scope": "0.1", "kind": "timer", "since": ""}
        before = state(timers={"0.3": {**timer, "due": "1"}})
        one, other = (state(timers={"0.3": {**timer, "due": due}}) for due in ("2", "3"))
        assert self.kinds(Answer(before, one), Answer(before, other)) == [("waits", "t")]
        assert self.kinds(Answer(before, one), Answer(before, one)) == []

    def test_two_failures_at_one_element_are_the_same(self) -> None:
        failed = Answer(None, None, failure=("a", "x"))
        assert self.kinds(failed, Answer(None, None, failure=("a", "y"))) == []
        assert self.kinds(failed, Answer(None, None, failure=("b", "x"))) == [("incident", "a")]

    def test_statuses(self) -> None:
        ended: Any = {**state(), "status": "completed"}
        assert self.kinds(Answer(None, state()), Answer(None, ended)) == [("status", "")]


class TestEqualDefinitions:
    @pytest.mark.parametrize("key", [key for key in read_keys() if key != "too-many-steps"])
    def test_give_equal_answers_on_a_walk(self, key: str) -> None:
        random, at = Random(key), BEGIN
        live: Any = None
        twin: Any = None
        for _ in range(12):
            at += timedelta(minutes=random.randrange(100))
            command = choose_command(key, live, random)
            answers = []
            for before in (live, twin):
                try:
                    given = command if before is live else translate_command(command, live, before)
                    outcome = run_command(library, before, given, at)
                    answers.append(Answer(before, outcome.state, outcome.trace, outcome.effects))
                except CommandFailed as failure:
                    answers.append(Answer(before, before, failure=(failure.element, failure.reason)))
                except (CommandRejected, NoCounterpart):
                    break
            if len(answers) == 2:
                assert compare_answers(*answers) == []
                live, twin = (answer.after for answer in answers)
