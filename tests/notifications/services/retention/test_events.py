from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from config.common.database.partitions import ensure_partitions
from notifications.followers import Following
from notifications.models import Event, EventHour, Follower
from notifications.services.relay import relay_once
from notifications.services.retention import expire_events
from tests.notifications.recorded_events import record_numbered_events

pytestmark = pytest.mark.django_db(transaction=True)

LONG_AGO = datetime(2021, 3, 4, 12, tzinfo=UTC)


def partition_of(event: Event) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text FROM notifications_event WHERE id = %s", [event.pk])
        return str(cursor.fetchone()[0])


def age(event: Event, recorded_at: datetime = LONG_AGO) -> None:
    """Move an event into the past; PostgreSQL moves the row between partitions."""
    Event.objects.filter(pk=event.pk).update(recorded_at=recorded_at)


@pytest.mark.embedded
class TestExpireEvents:
    def test_old_events_that_everyone_has_read_go(self, following: Callable[..., Following]) -> None:
        listener = following(lambda events: None)
        old, young = record_numbered_events(2)
        relay_once(listener)
        self.make_day_and_age(old)
        expire_events()
        assert list(Event.objects.values_list("pk", flat=True)) == [young.pk]

    def test_counts_of_old_hours_go_with_their_events(self) -> None:
        young = timezone.now().replace(minute=0, second=0, microsecond=0)
        for hour in (LONG_AGO, young):
            EventHour.objects.create(hour=hour, count=1)
        expire_events()
        assert EventHour.objects.get().hour == young

    def test_an_old_event_that_a_follower_has_not_read_stays(self, following: Callable[..., Following]) -> None:
        following(lambda events: None)
        (old,) = record_numbered_events(1)
        self.make_day_and_age(old)
        expire_events()
        assert Event.objects.filter(pk=old.pk).exists()

    @pytest.mark.usefixtures("following")
    def test_an_old_event_without_a_position_stays(self) -> None:
        old = Event.objects.create(type="t", subject="s", at=LONG_AGO)
        self.make_day_and_age(old)
        expire_events()
        assert Event.objects.filter(pk=old.pk).exists()

    @pytest.mark.usefixtures("following")
    def test_a_follower_that_is_gone_from_the_code_holds_nothing_back(
        self, following: Callable[..., Following]
    ) -> None:
        Follower.objects.create(name="retired")
        (old,) = record_numbered_events(1)
        self.make_day_and_age(old)
        expire_events()
        assert not Event.objects.filter(pk=old.pk).exists()

    def make_day_and_age(self, event: Event) -> None:
        if connection.vendor == "postgresql":
            ensure_partitions(Event, today=LONG_AGO.date())
        age(event)


class TestPartitions:
    def test_today_and_the_coming_week_are_ready(self) -> None:
        expire_events()
        (event,) = record_numbered_events(1)
        assert partition_of(event) == f"notifications_event_{timezone.now():%Y%m%d}"
        age(event, timezone.now() + timedelta(days=7))
        assert partition_of(event) != "notifications_event_default"

    def test_a_day_without_a_partition_is_caught_and_moved_later(self) -> None:
        (event,) = record_numbered_events(1)
        far = timezone.now() + timedelta(days=30)
        age(event, far)
        assert partition_of(event) == "notifications_event_default"
        ensure_partitions(Event, today=far.date())
        assert partition_of(event) == f"notifications_event_{far:%Y%m%d}"

    def test_eight_upkeeps_at_once_make_each_partition_once(self, in_threads: Callable[..., list[None]]) -> None:
        day = datetime(2022, 5, 6, 7, tzinfo=UTC)
        in_threads(lambda _: ensure_partitions(Event, today=day.date()), 8)
        (event,) = record_numbered_events(1)
        age(event, day)
        assert partition_of(event) == "notifications_event_20220506"
