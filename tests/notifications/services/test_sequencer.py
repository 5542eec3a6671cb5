from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from django.db import connection, transaction
from django.db.models import Sum
from django.utils import timezone

from notifications.followers import Following
from notifications.models import Event, EventHour, EventMinute, Sequencer
from notifications.selectors import events_per_hour, follower_lags, read_minutes
from notifications.services.events import NewEvent, record_events
from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once
from tests.notifications.recorded_events import record_numbered_events

T = TypeVar("T")


@pytest.mark.embedded
@pytest.mark.django_db
class TestStampOnce:
    def test_gives_positions_without_gaps_in_order_of_id(self) -> None:
        record_numbered_events(3)
        record_numbered_events(2)
        assert list(Event.objects.order_by("id").values_list("position", flat=True)) == [1, 2, 3, 4, 5]
        assert Sequencer.objects.get().position == 5

    def test_says_when_there_is_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("notifications.services.sequencer.BATCH", 2)
        record_numbered_events(3)
        assert Sequencer.objects.get().position == 3
        assert stamp_once() is False

    def test_counts_the_hour(self) -> None:
        record_numbered_events(2)
        record_numbered_events(3)
        assert EventHour.objects.get().count == 5
        assert events_per_hour(timezone.now())[-1].count == 5

    def test_counts_the_minute_by_outcome_of_counted_types_alone(self) -> None:
        at = timezone.now()
        record_events(
            NewEvent(type, "door", at, payload)
            for type, payload in (
                ("sensor.state_changed", {"data": 1}),
                ("sensor.state_changed", {"data": 0}),
                ("sensor.state_changed", {"data": 1}),
                ("delivery.attempted", {"became": "delivered"}),
                ("custom.anything", {"data": 1}),
            )
        )
        stamp_once()
        record_events([NewEvent("sensor.state_changed", "door", at, {"data": 1})])
        stamp_once()
        rows = (
            EventMinute.objects.values_list("type", "outcome").annotate(total=Sum("count")).order_by("type", "outcome")
        )
        assert list(rows) == [
            ("delivery.attempted", "delivered", 1),
            ("sensor.state_changed", "0", 1),
            ("sensor.state_changed", "1", 3),
        ]
        assert sum(read_minutes(timezone.now())["sensor.state_changed", "1"]) == 3
        assert Sequencer.objects.get().position == 6


@pytest.mark.django_db(transaction=True)
class TestLateCommit:
    def test_an_event_that_commits_late_gets_a_later_position(self) -> None:
        """The trap of `id > last`: the lower id is seen after the higher one was read. SQLite has one writer."""
        with transaction.atomic():
            late = Event.objects.create(type="t", subject="a", at=timezone.now())
            early = _in_another_connection(lambda: Event.objects.create(type="t", subject="b", at=timezone.now()))
            _in_another_connection(stamp_once)
        stamp_once()
        assert early.id > late.id
        assert Event.objects.get(id=early.id).position == 1
        assert Event.objects.get(id=late.id).position == 2


@pytest.mark.embedded
@pytest.mark.django_db
def test_follower_lag_is_what_is_left_to_read(following: Callable[..., Following]) -> None:
    listener = following(lambda events: None, batch=2)
    record_numbered_events(5)
    relay_once(listener)
    assert [(row.name, row.lag) for row in follower_lags()] == [("listener", 3)]


def _in_another_connection(function: Callable[[], T]) -> T:
    def body() -> T:
        try:
            return function()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(body).result()
