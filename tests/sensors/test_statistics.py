from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from notifications.models import Attempt, Delivery
from sensors.models import Client
from sensors.statistics import count_by_client
from tests.notifications.sending.deliveries import enqueue_state, make_endpoint
from tests.sensors.registry import make_client, make_delivery

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def now() -> datetime:
    return timezone.now().replace(microsecond=0)


def sent(client: Client, created_at: datetime, status: str = "delivered", *, tries: Any = ()) -> Delivery:
    """Make a message of that time and its attempts, each of seconds after it and a status."""
    due_at = created_at if status == "pending" else None
    row = make_delivery(f"s{Delivery.objects.count()}", client, status=status, due_at=due_at)
    Delivery.objects.filter(pk=row.pk).update(created_at=created_at)
    for seconds, answer in tries:
        at = created_at + timedelta(seconds=seconds)
        made = Attempt.objects.create(delivery=row, at=at, url="http://a/", status=answer, duration_ms=1)
        Attempt.objects.filter(pk=made.pk).update(recorded_at=at)
    return row


def counted(now: datetime, *, days: int = 2) -> list[Any]:
    return list(count_by_client(now - timedelta(days=days), now))


class TestCountByClient:
    def test_counts_messages_by_their_status_and_attempts_by_their_end(self, now: datetime) -> None:
        client, hour_ago = make_client("watch"), now - timedelta(hours=1)
        sent(client, hour_ago, tries=[(1, 500), (4, None), (9, 204)])
        sent(client, hour_ago, tries=[(1, 200)])
        sent(client, hour_ago, "dead", tries=[(1, 400)])
        for status in ("superseded", "cancelled", "pending"):
            sent(client, hour_ago, status)
        assert counted(now) == [
            {
                "id": client.pk,
                "name": "watch",
                "deliveries": 6,
                "pending": 1,
                "delivered": 2,
                "superseded": 1,
                "dead": 1,
                "cancelled": 1,
                "attempts": 5,
                "failed_attempts": 3,
                "mean_seconds": 5.0,
            }
        ]

    def test_each_client_has_a_row_and_others_none(self, now: datetime) -> None:
        first, second, _idle = (make_client(name) for name in ("a", "b", "c"))
        sent(first, now - timedelta(hours=1))
        sent(second, now - timedelta(hours=1), "pending")
        enqueue_state(make_endpoint("mailto:ops@example.org"))
        rows = sorted(counted(now + timedelta(hours=1)), key=lambda row: row["id"])
        assert [(row["name"], row["deliveries"], row["mean_seconds"]) for row in rows] == [
            ("a", 1, None),
            ("b", 1, None),
        ]

    def test_a_period_begins_with_its_start_and_ends_before_its_end(self, now: datetime) -> None:
        client = make_client()
        for back in (3, 2, 1, 0):
            sent(client, now - timedelta(days=back), tries=[(1, 200)])
        [row] = counted(now)
        assert (row["deliveries"], row["attempts"]) == (2, 2)

    def test_a_row_whose_id_is_out_of_order_is_counted(self, now: datetime) -> None:
        client = make_client()
        for seconds in (3600, 3590, 3601, 10):
            sent(client, now - timedelta(seconds=seconds))
        [row] = count_by_client(now - timedelta(seconds=3600), now)
        assert row["deliveries"] == 3

    def test_costs_the_same_for_many_clients(self, now: datetime, django_assert_max_num_queries: Any) -> None:
        for number in range(20):
            sent(make_client(f"c{number}"), now - timedelta(hours=1), tries=[(1, 200)])
        with django_assert_max_num_queries(16):  # the beginning and the end of the ids by halving, two counts
            assert len(counted(now)) == 20
