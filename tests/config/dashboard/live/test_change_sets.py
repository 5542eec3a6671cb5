from datetime import timedelta
from typing import Any

import pytest

from config.common.database.row_lists import read_lists
from config.dashboard.live.change_sets import MOST_CHANGE_SETS, ask_change_sets, read_change_sets
from config.dashboard.live.counts import read_counts
from processes.coordination.models import AppEvent, WriterEvent, WriterEventReader
from processes.coordination.protocol.statuses import EventStatus
from tests.config.dashboard.live.conftest import AT
from tests.processes.coordination.in_memory_roles import item

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def changes() -> dict[str, Any]:
    return read_change_sets(read_counts(AT), read_lists(ask_change_sets()))


def change(*names: str) -> list[AppEvent]:
    """Make a change set for each name, as the Writer does; each is dated a minute after the one before."""
    for name in names:
        item(name)
    events = list(AppEvent.objects.order_by("pk"))
    for minute, event in enumerate(events):
        AppEvent.objects.filter(pk=event.pk).update(date=AT + timedelta(minutes=minute))
    return events


def hand_over(event: AppEvent, *, minute: int, is_ended: bool = False) -> None:
    """Let the Coordinator know of a change set that reader `main` has or has not ended."""
    date = AT + timedelta(minutes=minute)
    row = WriterEvent.objects.create(pk=event.pk, position=event.pk, date=date, app_event_type_id=1)
    WriterEventReader.objects.create(writer_event=row, name="main", bit=1, ended_at=date if is_ended else None)


class TestReadChangeSets:
    def test_tells_how_far_a_reader_is_behind_and_since_when(self) -> None:
        events = change("a", "b", "c")
        hand_over(events[0], minute=0, is_ended=True)
        for minute in (1, 2):
            hand_over(events[minute], minute=minute)
        [reader] = [each for each in changes()["readers"] if each["name"] == "main"]
        assert (reader["waiting"], reader["since"]) == (2, AT + timedelta(minutes=1))

    def test_a_reader_that_has_ended_all_is_not_behind(self) -> None:
        hand_over(change("a")[0], minute=0, is_ended=True)
        [reader] = [each for each in changes()["readers"] if each["name"] == "main"]
        assert (reader["waiting"], reader["since"]) == (0, None)

    def test_shows_the_newest_first_and_counts_what_is_under_way_and_what_failed(self) -> None:
        events = change(*"abcdefgh")
        AppEvent.objects.filter(pk=events[0].pk).update(app_event_status_id=EventStatus.COMPENSATION_FAILED.value)
        found = changes()
        assert [row["key"] for row in found["newest"]] == [event.pk for event in reversed(events)][:MOST_CHANGE_SETS]
        assert (found["under_way"], found["failed"]) == (len(events) - 1, 1)
