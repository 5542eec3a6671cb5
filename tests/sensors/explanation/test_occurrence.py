from datetime import UTC, datetime, timedelta
from typing import Any

from config.common.times import to_milliseconds
from sensors.events import CONNECTION_RESTORED, STATE_CHANGED
from sensors.explanation.evidence import Occurrence
from sensors.explanation.occurrence import Surroundings, choose_occurrence
from sensors.history.values import PastEvent
from sensors.ingest.signals import Signal
from sensors.models import RejectedSignal, RepeatedSignal

AT = datetime(2026, 1, 31, 10, 2, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def changed(seconds: float, id: str = "a", number: int = 1, type: str = STATE_CHANGED) -> PastEvent:
    at = to_milliseconds(later(seconds))
    payload: dict[str, Any] = {"signal_id": id, "data": 1} if type == STATE_CHANGED else {}
    return PastEvent(number, type, "0xA", at, at, "chain-001", payload)


def sent(seconds: float, id: str = "a") -> Signal:
    at = to_milliseconds(later(seconds))
    return Signal("0xA", at, id, 1, at)


def refused(seconds: float) -> RejectedSignal:
    return RejectedSignal(code="bad_data", sensor_id="0xA", recorded_at=AT, last_at=later(seconds))


def repeated(seconds: float) -> RepeatedSignal:
    return RepeatedSignal(sensor_id="0xA", recorded_at=AT, last_at=later(seconds), signal_at=AT, signal_id="a")


class TestChooseOccurrence:
    def test_the_very_time_means_that_one(self) -> None:
        found = Surroundings(events=[changed(5)], signals=[sent(0, "b"), sent(5)])
        assert choose_occurrence(found, AT) == Occurrence(signal=sent(0, "b"))
        assert choose_occurrence(found, later(5)) == Occurrence(event=changed(5), signal=sent(5))

    def test_about_then_means_the_nearest_event(self) -> None:
        found = Surroundings(events=[changed(30, "b", 2), changed(-20)], signals=[sent(1, "c")])
        assert choose_occurrence(found, AT).event == changed(-20)

    def test_what_was_refused_goes_before_what_changed_nothing(self) -> None:
        found = Surroundings(signals=[sent(1)], refusals=[refused(40)], repeats=[repeated(2)])
        assert choose_occurrence(found, AT).refusal is not None

    def test_a_repeat_is_named_where_there_is_nothing_else(self) -> None:
        assert choose_occurrence(Surroundings(repeats=[repeated(2)]), AT).repeat is not None
        assert choose_occurrence(Surroundings(repeats=[repeated(2)], signals=[sent(1)]), AT).signal == sent(1)

    def test_the_state_goes_before_the_connection_unless_that_is_asked_about(self) -> None:
        restored = changed(0, number=2, type=CONNECTION_RESTORED)
        found = Surroundings(events=[restored, changed(0)], signals=[sent(0)])
        assert choose_occurrence(found, AT).event == changed(0)
        assert choose_occurrence(found, AT, about="connection").event == restored

    def test_of_two_changes_at_one_time_the_last_is_meant(self) -> None:
        found = Surroundings(events=[changed(0, "a", 1), changed(0, "b", 2)])
        assert choose_occurrence(found, AT).event == changed(0, "b", 2)

    def test_a_signal_is_told_apart_by_its_id(self) -> None:
        found = Surroundings(events=[changed(0, "b")], signals=[sent(0, "a"), sent(0, "b")])
        assert choose_occurrence(found, AT, signal_id="a") == Occurrence(signal=sent(0, "a"))
        assert choose_occurrence(found, AT, signal_id="none") == Occurrence()

    def test_nothing_is_nothing(self) -> None:
        assert choose_occurrence(Surroundings(), AT) == Occurrence()
