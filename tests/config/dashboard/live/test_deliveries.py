from datetime import datetime, timedelta
from typing import Any

import pytest

from config.common.database.row_lists import read_lists
from config.dashboard.live.counts import read_counts
from config.dashboard.live.deliveries import ask_deliveries, read_deliveries
from notifications.models import Delivery, Endpoint, EventMinute
from notifications.selectors import read_minutes
from notifications.sending.outcomes import ATTEMPTED
from tests.config.dashboard.live.conftest import AT

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint.objects.create(url="https://example.org/", secret=b"x")


def deliveries(at: datetime = AT) -> dict[str, Any]:
    return read_deliveries(at, counts=read_counts(at), minutes=read_minutes(at), lists=read_lists(ask_deliveries()))


def attempted(minutes_ago: int, outcome: str, count: int) -> None:
    minute = AT - timedelta(minutes=minutes_ago)
    EventMinute.objects.create(minute=minute, type=ATTEMPTED, outcome=outcome, count=count)


class TestReadDeliveries:
    def test_every_number_counts_its_own(self, endpoint: Endpoint) -> None:
        usual = {"endpoint": endpoint, "type": "t", "family": "list", "body": {}}
        for minutes, is_retry in ((-1, False), (0, True), (1, True), (1, True), (1, False)):
            due_at = AT + timedelta(minutes=minutes)
            Delivery.objects.create(**usual, due_at=due_at, is_retry=is_retry)
        for status, is_retry in (("dead", True), ("dead", True), ("dead", False), ("dead", False), ("delivered", True)):
            Delivery.objects.create(**usual, status=status, is_retry=is_retry)
        # The minute that is under way is not over: what it has counted so far is no number of a minute.
        for minutes_ago, sent, failed, refused in ((0, 11, 13, 17), (1, 6, 4, 3), (2, 19, 23, 29)):
            attempted(minutes_ago, Delivery.Status.DELIVERED, sent)
            attempted(minutes_ago, Delivery.Status.PENDING, failed)
            attempted(minutes_ago, Delivery.Status.DEAD, refused)
        found = deliveries()
        numbers = {name: value for name, value in found.items() if isinstance(value, int)}
        assert numbers == {"pending": 5, "due": 2, "retries": 3, "dead": 4, "sent": 6, "failed": 7}
        assert found["minutes"][-3:] == [19, 6, 11]

    def test_before_anything_was_sent_there_is_no_chart(self) -> None:
        found = deliveries()
        assert (found["sent"], found["failed"], found["minutes"]) == (0, 0, [])
