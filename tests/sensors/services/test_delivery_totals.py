import random
import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.common.database.counted_spans import CountedTables, Parts, floor_day, floor_hour
from notifications.models import Attempt, Delivery
from sensors.models import Client, DeliverySpan, DeliveryTotal, TouchedDeliveryHour
from sensors.services.delivery_totals import count_finished_deliveries
from sensors.statistics import count_by_client
from tests.sensors.registry import make_client
from tests.sensors.test_statistics import sent

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite counts from the rows"),
]


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


def let_time_pass() -> None:
    """Forget that the rows came with old times: in real life they are young when they are written."""
    TouchedDeliveryHour.objects.all().delete()


def count_all(client: Client, *, days: float = 2) -> dict[str, Any]:
    [row] = [row for row in count_by_client(ago(days=days), timezone.now()) if row["id"] == client.pk]
    return dict(row)


def attempt(delivery: Delivery, status: int, at: datetime) -> None:
    Attempt.objects.create(delivery=delivery, at=at, url="http://a/", status=status, duration_ms=1)


class TestCountFinishedDeliveries:
    def test_what_is_counted_is_not_read_again(self) -> None:
        client = make_client("watch")
        sent(client, ago(hours=30), tries=[(1, 500), (3, 204)])
        sent(client, ago(hours=5), "dead")
        sent(client, ago(minutes=1), "pending")
        let_time_pass()
        expected = count_by_client(ago(days=2), timezone.now())
        count_finished_deliveries()
        assert count_by_client(ago(days=2), timezone.now()) == expected
        assert set(DeliverySpan.objects.values_list("length", flat=True)) == {"hour", "day"}
        DeliveryTotal.objects.filter(dead=1).update(dead=1000)
        assert count_all(client)["dead"] == 1000

    def test_nothing_is_counted_where_there_are_no_deliveries(self) -> None:
        count_finished_deliveries()
        assert not DeliverySpan.objects.exists()

    def test_attempts_that_have_expired_stay_counted(self, settings: Any) -> None:
        client = make_client()
        row = sent(client, ago(days=3), "dead", tries=[(1, 500), (2, 500)])
        sent(client, ago(days=3), tries=[(1, 204)])
        let_time_pass()
        count_finished_deliveries()
        settings.ATTEMPT_DAYS = 1
        Attempt.objects.all().delete()
        Delivery.objects.filter(pk=row.pk).update(status="cancelled")
        count_finished_deliveries()
        found = count_all(client, days=4)
        assert (found["dead"], found["cancelled"], found["attempts"], found["failed_attempts"]) == (0, 1, 3, 2)

    def test_deliveries_that_have_expired_stay_counted(self, settings: Any) -> None:
        client = make_client()
        kept, expired = (sent(client, ago(days=3), "dead") for _ in range(2))
        let_time_pass()
        count_finished_deliveries()
        settings.DELIVERY_DAYS = 1
        expired.delete()
        Delivery.objects.filter(pk=kept.pk).update(status="cancelled")
        for _ in range(2):
            assert count_all(client, days=4)["deliveries"] == 2
            count_finished_deliveries()
        assert not TouchedDeliveryHour.objects.exists()


class TestTriggers:
    def test_the_usual_course_of_a_delivery_touches_nothing(self) -> None:
        row = sent(make_client(), ago(minutes=20), "pending", tries=[(1, 500)])
        attempt(row, 204, timezone.now())
        Delivery.objects.filter(pk=row.pk).update(status="delivered", due_at=None)
        assert not TouchedDeliveryHour.objects.exists()

    def test_an_attempt_that_leaves_the_status_as_it_is_touches_its_hour(self) -> None:
        at = ago(hours=9)
        row = sent(make_client(), at, "pending")
        attempt(row, 500, timezone.now())
        assert set(TouchedDeliveryHour.objects.values_list("at", flat=True)) == {floor_hour(at)}

    def test_so_does_a_new_status(self) -> None:
        at = ago(days=3)
        row = sent(make_client(), at, "dead")
        Delivery.objects.filter(pk=row.pk).update(status="pending", due_at=timezone.now())
        assert set(TouchedDeliveryHour.objects.values_list("at", flat=True)) == {floor_hour(at)}


@pytest.mark.parametrize("seed", range(3))
def test_totals_equal_the_count_of_the_rows_whatever_happens(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, clients = random.Random(seed), [make_client("a"), make_client("b")]
    # The oldest first: ids rise with the time.
    for hours in sorted((chance.uniform(0, 80) for _ in range(30)), reverse=True):
        sent(chance.choice(clients), ago(hours=hours), chance.choice(Delivery.Status.values))
    let_time_pass()
    for _ in range(20):
        row = chance.choice(list(Delivery.objects.order_by("pk")))
        match chance.randrange(3):
            case 0:
                status = chance.choice(Delivery.Status.values)
                due_at = timezone.now() if status == "pending" else None
                Delivery.objects.filter(pk=row.pk).update(status=status, due_at=due_at)
            case 1:
                attempt(row, chance.choice([204, 500]), timezone.now())
            case _:
                count_finished_deliveries()
        start = ago(hours=chance.uniform(1, 100))
        end = start + (timezone.now() - start) * chance.uniform(0.1, 1)
        found = count_by_client(start, end)
        with monkeypatch.context() as counting:
            whole = Parts({}, [(start, end)])
            counting.setattr(CountedTables, "find_parts", lambda *args, parts=whole, **kwargs: parts)
            assert found == count_by_client(start, end)


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_committed_while_its_hour_is_counted_is_not_lost() -> None:
    client = make_client()
    row = sent(client, ago(hours=5), "dead")
    let_time_pass()
    changed, counted = threading.Event(), threading.Event()

    def change() -> None:
        try:
            with transaction.atomic():
                Delivery.objects.filter(pk=row.pk).update(status="cancelled")
                changed.set()
                counted.wait(60)
        finally:
            connection.close()

    changer = threading.Thread(target=change)
    changer.start()
    assert changed.wait(60)
    count_finished_deliveries()
    counted.set()
    changer.join()
    assert count_all(client)["cancelled"] == 1
    count_finished_deliveries()
    assert not TouchedDeliveryHour.objects.exists()
    assert count_all(client)["cancelled"] == 1


def test_costs_few_queries_however_long_the_period_and_however_much_is_touched(
    django_assert_max_num_queries: Any,
) -> None:
    client = make_client()
    for hours in reversed(range(2, 70)):
        sent(client, ago(hours=hours))
    let_time_pass()
    count_finished_deliveries()
    for hours in range(3, 70, 6):
        TouchedDeliveryHour.objects.create(at=floor_hour(ago(hours=hours)))
    with django_assert_max_num_queries(7):
        assert count_all(client, days=30)["deliveries"] == 68
    assert floor_day(ago(days=1)) in set(DeliverySpan.objects.values_list("at", flat=True))
