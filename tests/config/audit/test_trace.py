from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import pytest

from config.audit import trace
from config.audit.trace import (
    Related,
    Standing,
    Trace,
    TraceSource,
    TraceStep,
    Upcoming,
    is_traced,
    read_trace,
    register_trace_source,
)
from config.common.correlation import correlated
from tests.notifications.recorded_events import record_numbered_events

BEGAN = datetime(2026, 1, 31, 12, tzinfo=UTC)


def step(kind: str = "event", seconds: float = 0, id: int = 1, **more: Any) -> TraceStep:
    return TraceStep(BEGAN + timedelta(seconds=seconds), kind, id, kind, **more)


def made_of(*steps: TraceStep) -> Trace:
    return Trace("call-0001", list(steps), is_cut=False)


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[TraceSource]:
    """No source but those of the test."""
    monkeypatch.setattr(trace, "_tracings", [])
    return trace._tracings


def tell(*steps: TraceStep, permission: str = "any") -> None:
    register_trace_source(TraceSource(permission, lambda correlation_id, most: steps[:most]))


class TestReadTrace:
    def test_at_the_same_moment_the_cause_stands_first(self, sources: list[TraceSource]) -> None:
        tell(step("delivery"), step("event"))
        tell(step("state"), step("signal"))
        found = read_trace("call-0001", may=lambda permission: True)
        assert [each.kind for each in found.steps] == ["signal", "state", "event", "delivery"]

    def test_what_two_know_of_is_told_once(self, sources: list[TraceSource]) -> None:
        tell(step("log"))
        tell(step("log"), step("log", id=2))
        assert [each.id for each in read_trace("call-0001", may=lambda permission: True).steps] == [1, 2]

    def test_only_what_one_may_see_is_asked_for(self, sources: list[TraceSource]) -> None:
        tell(step("event"), permission="a")
        tell(step("alert"), permission="b")
        assert [each.kind for each in read_trace("call-0001", may="b".__eq__).steps] == ["alert"]

    def test_says_whether_there_is_more(self, sources: list[TraceSource], monkeypatch: pytest.MonkeyPatch) -> None:
        tell(*(step(id=number) for number in range(3)))
        found = [read_trace("c", may=bool, most=most) for most in (2, 3, 4)]
        assert [(len(each.steps), each.is_cut) for each in found] == [(2, True), (3, False), (3, False)]
        monkeypatch.setattr(trace, "PART_BYTES", 1)
        assert read_trace("c", may=bool, most=4).is_cut

    def test_counts_rows_and_not_the_steps_of_one(self, sources: list[TraceSource]) -> None:
        begun = [step("process", id=number) for number in range(4)]
        lives = [(each, replace(each, at=BEGAN + timedelta(seconds=9), continues=True)) for each in begun]

        def find(correlation_id: str, most: int) -> Iterator[TraceStep]:
            return chain.from_iterable(lives[:most])

        register_trace_source(TraceSource("any", find))
        found = [read_trace("c", may=bool, most=most) for most in (3, 4)]
        assert [(len(each.steps), each.is_cut) for each in found] == [(6, True), (8, False)]

    def test_what_two_apps_tell_of_one_kind_is_bounded_for_each(self, sources: list[TraceSource]) -> None:
        tell(*(step("log", id=number) for number in range(2)))
        tell(*(step("log", id=number) for number in range(2, 4)))
        found = read_trace("c", may=bool, most=2)
        assert (len(found.steps), found.is_cut) == (4, False)

    def test_a_kind_of_a_plugin_comes_last(self, sources: list[TraceSource]) -> None:
        tell(step("door"), step("coordination"))
        assert [each.lane for each in read_trace("c", may=bool).steps] == ["change_set", "door"]


@pytest.mark.embedded
@pytest.mark.django_db
class TestIsTraced:
    def test_knows_what_carries_the_id(self, django_assert_num_queries: Any) -> None:
        with correlated("call-0001"):
            record_numbered_events(1)
        with django_assert_num_queries(2):
            assert [is_traced(name, may=lambda permission: True) for name in ("call-0001", "call-0002")] == [
                True,
                False,
            ]

    def test_only_among_what_one_may_see(self) -> None:
        with correlated("call-0001"):
            record_numbered_events(1)
        assert not is_traced("call-0001", may="sensors.view_sensor".__eq__)
        assert not is_traced("call-0001", may=lambda permission: False)


class TestTrace:
    def test_the_worst_is_its_outcome(self) -> None:
        done, open, failed = (step(standing=each) for each in (Standing.DONE, Standing.OPEN, Standing.FAILED))
        outcomes = [made_of(*steps).outcome for steps in ((), (step(),), (step(), done), (done, open), (open, failed))]
        assert outcomes == [None, None, Standing.DONE, Standing.OPEN, Standing.FAILED]

    def test_a_failed_attempt_is_no_outcome(self) -> None:
        attempt, delivery = step("attempt", standing=Standing.FAILED), step("delivery", standing=Standing.DONE)
        assert made_of(attempt, delivery).outcome == Standing.DONE

    def test_what_is_to_come_is_in_order_of_time_and_what_waits_for_others_last(self) -> None:
        person, late, soon = Upcoming("task"), Upcoming("timer", BEGAN + timedelta(hours=1)), Upcoming("retry", BEGAN)
        found = made_of(step(upcoming=(person, late)), step(upcoming=(soon,))).upcoming
        assert [coming.what for coming, _ in found] == ["retry", "timer", "task"]

    def test_other_chains_are_named_once(self) -> None:
        own, other, none = Related("a", "call-0001"), Related("b", "call-0002"), Related("c", "")
        assert made_of(step(related=(own, other)), step(related=(other, none))).related == [other]

    def test_gaps_are_to_the_step_before(self) -> None:
        found = made_of(step(), step(seconds=1.5), step(seconds=61.5))
        assert [gap.total_seconds() for _, gap in found.with_gaps()] == [0, 1.5, 60]
        assert found.duration == timedelta(seconds=61.5)
        assert made_of().with_gaps() == []
