"""Intermediate events, thrown events, the event-based gateway."""

from datetime import timedelta

import pytest

from processes.workflows.engine.definition import NodeKind, TimerKind
from processes.workflows.engine.runner import CommandFailed, CommandRejected
from tests.processes.workflows.engine.builder import (
    TERMINATE,
    Part,
    boundary,
    catch,
    condition,
    cycle,
    date,
    duration,
    each,
    end,
    event_based,
    message,
    node,
    parallel,
    process,
    script,
    signal,
    sub,
    throw,
    timer_of,
    user,
)
from tests.processes.workflows.engine.process_driver import START, ProcessDriver


class TestTimerCatch:
    def test_waits_for_its_time(self) -> None:
        case = ProcessDriver(process(catch("t", duration("PT1H")), "start > t > end"))
        [timer] = case.state["timers"].values()
        assert (timer["kind"], timer["due"]) == ("duration", (START + timedelta(hours=1)).isoformat())
        assert case.fire("t").status == "completed"
        assert case.trace[0] == ("leave", "t")

    @pytest.mark.parametrize(
        ("kind", "text", "due"),
        [
            (TimerKind.DURATION, "90", START + timedelta(seconds=90)),
            (TimerKind.DURATION, "'PT' + string(hours) + 'H'", START + timedelta(hours=2)),
            (TimerKind.DATE, "'2031-05-01T10:00:00+02:00'", START.replace(year=2031, month=5, day=1, hour=8)),
            (TimerKind.CYCLE, "'R3/PT5M'", START + timedelta(minutes=5)),
        ],
    )
    def test_the_time_may_be_an_expression(self, kind: TimerKind, text: str, due: object) -> None:
        case = ProcessDriver(process(catch("t", timer_of(kind, text)), "start > t > end"), hours=2)
        [timer] = case.state["timers"].values()
        assert timer["due"] == due.isoformat()  # type: ignore[attr-defined]

    @pytest.mark.parametrize("text", ["'soon'", "true", "missing", "9" * 18])
    def test_an_expression_that_gives_no_time_fails(self, text: str) -> None:
        with pytest.raises(CommandFailed, match=r"^t: "):
            ProcessDriver(process(catch("t", timer_of(TimerKind.DURATION, text)), "start > t > end"))

    def test_a_cycle_in_the_flow_fires_once(self) -> None:
        case = ProcessDriver(process(catch("t", cycle("R3/PT1M")), "start > t > end")).fire("t")
        assert case.status == "completed"

    def test_a_timer_fires_once(self) -> None:
        case = ProcessDriver(process(catch("t", date("2030-02-01")), user("a"), "start > t > a > end"))
        [timer] = case.state["timers"]
        case.fire("t")
        with pytest.raises(CommandRejected, match="no longer running"):
            case.do("fire_timer", timer=timer)


class TestMessageCatch:
    def test_takes_the_variables_of_the_message(self) -> None:
        case = ProcessDriver(process(catch("c", message("m")), "start > c > end"), x=1)
        assert case.send("m", x=2, y=3).variables == {"x": 2, "y": 3}
        assert case.status == "completed"

    def test_one_message_reaches_one_waiting_event_the_oldest(self) -> None:
        definition = process(parallel("p"), catch("c", message("m")), catch("d", message("m")), user("a"),
                             "start > p", "p > c > a", "p > d > a", "a > end")  # fmt: skip
        case = ProcessDriver(definition).send("m")
        assert case.tokens == ["a", "d"]

    def test_a_message_nobody_waits_for_is_not_possible(self) -> None:
        case = ProcessDriver(process(catch("c", signal("m")), "start > c > end"))
        with pytest.raises(CommandRejected, match="Nothing waits"):
            case.send("m")

    def test_an_event_reaches_its_subscription(self) -> None:
        case = ProcessDriver(process(catch("c", message("sensor.lost")), "start > c > end"))
        [(_, subscription)] = case.state["subscriptions"].items()
        assert (subscription["kind"], subscription["name"]) == ("message", "sensor.lost")
        assert case.event("c", sensor="s1", **{"not a name": 1}).variables == {"sensor": "s1"}

    def test_a_subscription_that_is_gone_is_not_possible(self) -> None:
        case = ProcessDriver(process(catch("c", message("m")), user("a"), "start > c > a > end")).send("m")
        with pytest.raises(CommandRejected):
            case.do("event", subscription="0.4", payload={})


class TestReceiveTask:
    DEFINITION = process(node(NodeKind.RECEIVE_TASK, "r", event=message("m")), user("a"), "start > r > a > end")

    def test_goes_on_with_its_message(self) -> None:
        case = ProcessDriver(self.DEFINITION)
        assert [task["kind"] for task in case.state["tasks"].values()] == ["receive"]
        assert case.send("m", x=1).tasks == ["a"]
        assert case.variables == {"x": 1}

    def test_may_be_completed_by_hand(self) -> None:
        case = ProcessDriver(self.DEFINITION).complete("r")
        assert (case.tasks, case.state.get("subscriptions")) == (["a"], None)


class TestSignal:
    def test_reaches_everything_that_waits_and_then_goes_out(self) -> None:
        definition = process(
            parallel("p"), catch("c", signal("s")), catch("d", signal("s")), catch("other", signal("o")),
            user("a"), throw("t", signal("s")),
            "start > p", "p > c > end", "p > d > end2", "p > other > end3", "p > a > t > end4",
        )  # fmt: skip
        case = ProcessDriver(definition).complete("a")
        assert case.tokens == ["other"]
        assert case.trace[1:4] == (("enter", "t"), ("leave", "c"), ("leave", "d"))
        assert [(effect["kind"], effect["name"]) for effect in case.effects] == [("signal", "s")]

    @pytest.mark.parametrize("thrown", [throw("t", signal("s")), end("t", signal("s")), throw("t", message("s"))])
    def test_carries_nothing_that_the_file_does_not_map(self, thrown: Part) -> None:
        definition = process(
            parallel("p"), catch("c", signal("s")), user("a"), thrown, "start > p", "p > c > end", "p > a > t"
        )
        case = ProcessDriver(definition, secret=1).complete("a")
        assert [effect["inputs"] for effect in case.effects] == [{}]

    def test_carries_what_the_file_maps_to_all_that_wait(self) -> None:
        caught = sub("s", catch("c", signal("s")), user("b"), "start_s > c > b > end_s", loop=each(cardinality="2"))
        definition = process(
            parallel("p"), caught, user("a"), throw("t", signal("s"), amount="secret + 1"),
            "start > p", "p > s > end", "p > a > t > end2",
        )  # fmt: skip
        case = ProcessDriver(definition, secret=1).complete("a")
        assert (case.tasks, case.variables) == (["b", "b"], {"secret": 1, "amount": 2})
        assert [effect["inputs"] for effect in case.effects] == [{"amount": 2}]

    def test_does_not_wait_for_those_who_come_later(self) -> None:
        definition = process(throw("t", signal("s")), catch("c", signal("s")), "start > t > c > end")
        assert ProcessDriver(definition).tokens == ["c"]

    def test_an_end_may_throw_it(self) -> None:
        case = ProcessDriver(process(end("e", signal("s")), "start > e"))
        assert (case.status, [effect["element"] for effect in case.effects]) == ("completed", ["e"])


class TestConditionCatch:
    DEFINITION = process(catch("c", condition("x > 5")), "start > c > end")

    def test_waits_until_it_holds(self) -> None:
        case = ProcessDriver(self.DEFINITION, x=1)
        case.do("set_variables", variables={"x": 5})
        assert case.tokens == ["c"]
        case.do("set_variables", variables={"x": 6})
        assert case.status == "completed"

    def test_passes_when_it_holds_already(self) -> None:
        assert ProcessDriver(self.DEFINITION, x=6).status == "completed"

    def test_goes_on_waiting_while_it_has_no_value(self) -> None:
        assert ProcessDriver(self.DEFINITION, x="text").tokens == ["c"]

    def test_one_that_makes_another_true_is_followed(self) -> None:
        definition = process(
            parallel("p"), catch("c", condition("x == 1")), script("s", y="1"), catch("d", condition("y == 1")),
            "start > p", "p > c > s > end", "p > d > end2",
        )  # fmt: skip
        case = ProcessDriver(definition)
        case.do("set_variables", variables={"x": 1})
        assert case.status == "completed"


class TestThrow:
    def test_a_none_event_passes(self) -> None:
        assert ProcessDriver(process(throw("t"), "start > t > end")).walk == ["start", "t", "end"]

    @pytest.mark.parametrize("part", [throw("t", message("m")), end("t", message("m"))])
    def test_a_message_goes_out(self, part: object) -> None:
        text = "start > t > end" if part.node.kind is NodeKind.THROW else "start > t"  # type: ignore[attr-defined]
        case = ProcessDriver(process(part, text), x=1)  # type: ignore[arg-type]
        [effect] = case.effects
        assert (effect["kind"], effect["name"], effect["inputs"]) == ("throw", "m", {})
        assert case.status == "completed"


class TestTerminateEnd:
    def test_ends_everything(self) -> None:
        definition = process(parallel("p"), user("a"), user("b"), end("e", TERMINATE),
                             "start > p", "p > a > e", "p > b > end")  # fmt: skip
        case = ProcessDriver(definition).complete("a")
        assert (case.status, case.cancelled) == ("completed", ["b"])

    def test_in_a_sub_process_ends_that_alone(self) -> None:
        inner = sub("s", parallel("p"), user("a"), user("b"), end("e", TERMINATE),
                    "start_in > p", "p > a > e", "p > b > end_in")  # fmt: skip
        late = boundary("t", "s", duration("PT1H"))
        case = ProcessDriver(process(inner, late, user("z"), "start > s > z > end", "t > end_t")).complete("a")
        assert case.state.get("timers") is None
        assert case.trace == (
            ("leave", "a"), ("enter", "e"), ("leave", "e"), ("cancel", "b"), ("leave", "s"), ("enter", "z"),
        )  # fmt: skip


class TestEventBased:
    DEFINITION = process(
        event_based("g"), catch("m", message("m")), catch("t", duration("PT1H")),
        node(NodeKind.RECEIVE_TASK, "r", event=message("r")), user("a"),
        "start > g", "g > m > end", "g > t > a > end2", "g > r > end3",
    )  # fmt: skip

    def test_the_first_event_takes_the_token_and_the_others_are_gone(self) -> None:
        case = ProcessDriver(self.DEFINITION)
        assert (case.tokens, len(case.state["timers"]), len(case.state["subscriptions"])) == (["g"], 1, 2)
        case.fire("t")
        assert case.trace == (("leave", "g"), ("enter", "t"), ("leave", "t"), ("enter", "a"))
        assert not case.state.keys() & {"timers", "subscriptions"}

    @pytest.mark.parametrize("name", ["m", "r"])
    def test_a_message_or_a_receive_task(self, name: str) -> None:
        case = ProcessDriver(self.DEFINITION).send(name, x=1)
        assert (case.status, case.variables, case.walk[0]) == ("completed", {"x": 1}, name)
