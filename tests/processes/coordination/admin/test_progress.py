from datetime import UTC, datetime

import pytest

from config.common.times import format_time
from processes.coordination.admin.presentation import ENTITY_WORDS, STATUSES, format_type
from processes.coordination.admin.progress import STEP_OF, WAY, progress_stops
from processes.coordination.admin.step_labels import STEPS, WAITS
from processes.coordination.models import AppEvent, WriterEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.transitions import BY_NUMBER
from processes.coordination.schema.entities import ENTITIES, type_names
from processes.coordination.selectors import EventOverview

pytestmark = pytest.mark.embedded
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
CANCELLED = (EventStatus.CANCELING, EventStatus.CANCELED, EventStatus.COMPENSATION_FAILED)


def view_in(status: EventStatus, *, past: int = len(WAY), is_waiting: bool = False) -> EventOverview:
    """Make what is known of a change set that went through so many statuses before this one."""
    event = AppEvent(pk=1, app_event_status_id=status.value)
    passed = [STEP_OF[each] for each in (*WAY[:past], status)]
    coordinated = WriterEvent(pk=1, app_event_status_id=EventStatus.CREATED.value, is_waiting=is_waiting)
    return EventOverview(event, coordinated, [], 0, [(number, format_time(AT)) for number in passed])


def states(view: EventOverview) -> list[str]:
    return [stop.state for stop in progress_stops(view)]


class TestLineOf:
    @pytest.mark.parametrize("status", WAY)
    def test_leads_from_one_status_to_the_next(self, status: EventStatus) -> None:
        place = WAY.index(status)
        assert states(view_in(status, past=place)) == ["done"] * place + ["now"] + ["next"] * (9 - place)

    def test_ends_in_the_commit(self) -> None:
        assert states(view_in(EventStatus.COMMITTED)) == ["done"] * 10

    @pytest.mark.parametrize("status", CANCELLED)
    def test_ends_in_the_cancellation(self, status: EventStatus) -> None:
        last = "next" if status == EventStatus.CANCELING else "bad"
        assert states(view_in(status)) == [*["done"] * 8, "bad", last]

    def test_a_deadline_cuts_it_short(self) -> None:
        assert states(view_in(EventStatus.CANCELED, past=5)) == [*["done"] * 5, *["next"] * 3, "bad", "bad"]

    def test_a_status_that_was_overtaken_counts_as_passed(self) -> None:
        view = view_in(EventStatus.COMMITTED)
        view.steps.remove((STEP_OF[EventStatus.PROCESSING], format_time(AT)))
        stop = progress_stops(view)[WAY.index(EventStatus.PROCESSING)]
        assert (stop.state, stop.at) == ("done", None)

    def test_what_waits_for_a_reader_is_in_doubt(self) -> None:
        assert "doubt" in states(view_in(EventStatus.PROCESSED, is_waiting=True))


class TestWords:
    def test_every_status_step_and_entity_has_words(self) -> None:
        assert set(STATUSES) == set(EventStatus) == set(STEP_OF)
        assert set(STEPS) == {*BY_NUMBER, WAITS}
        assert set(ENTITY_WORDS) == {entity.name for entity in ENTITIES}

    def test_every_type_is_said_and_one_of_another_release_is_its_number(self) -> None:
        assert len({format_type(number) for number in type_names()}) == len(type_names())
        assert format_type(999) == "999"
