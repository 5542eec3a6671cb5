from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.common.database.partitions import ensure_partitions
from notifications.errors import DeliveryNotFound
from notifications.models import Alert, Attempt, Delivery, Follower, Incident, ListedSubject
from notifications.selectors import first_delivery_since
from notifications.services.resend import resend_delivery
from notifications.services.retention import expire_alerts, expire_attempts, expire_deliveries
from tests.notifications.sending.deliveries import enqueue_state, make_endpoint

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]

LONG_AGO = datetime(2021, 3, 4, 12, tzinfo=UTC)


def ended(status: str, subject: str = "thing/1", *, age: int = 100, **fields: Any) -> Delivery:
    made = Delivery.objects.create(
        endpoint=fields.pop("endpoint", None) or make_endpoint(),
        type="thing.changed",
        family=fields.pop("family", "state"),
        subject=subject,
        body={},
        status=status,
        due_at=timezone.now() if status == "pending" else None,
        **fields,
    )
    Delivery.objects.filter(pk=made.pk).update(created_at=timezone.now() - timedelta(days=age))
    return made


def attempt(delivery: Delivery, recorded_at: datetime) -> Attempt:
    made = Attempt.objects.create(delivery=delivery, at=recorded_at, url="http://a/", status=200, duration_ms=1)
    if connection.vendor == "postgresql":
        ensure_partitions(Attempt, today=recorded_at.date())
    Attempt.objects.filter(pk=made.pk).update(recorded_at=recorded_at)
    return made


def left() -> list[int]:
    expire_deliveries()
    return list(Delivery.objects.order_by("pk").values_list("pk", flat=True))


class TestExpireAttempts:
    def test_old_ones_go_and_young_ones_stay(self) -> None:
        row = enqueue_state(make_endpoint())
        attempt(row, LONG_AGO)
        young = attempt(row, timezone.now())
        expire_attempts()
        assert list(Attempt.objects.values_list("pk", flat=True)) == [young.pk]

    def test_the_coming_days_are_ready(self) -> None:
        expire_attempts()
        made = attempt(enqueue_state(make_endpoint()), timezone.now() + timedelta(days=7))
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT tableoid::regclass::text FROM notifications_attempt WHERE id = %s", [made.pk])
                assert cursor.fetchone()[0] == f"notifications_attempt_{timezone.now() + timedelta(days=7):%Y%m%d}"


class TestExpireDeliveries:
    @pytest.mark.parametrize("status", ["delivered", "superseded"])
    def test_what_has_ended_goes_when_it_is_old(self, status: str) -> None:
        ended(status)
        young = ended(status, age=80)
        assert left() == [young.pk]

    def test_what_is_pending_stays(self) -> None:
        row = ended("pending")
        assert left() == [row.pk]

    @pytest.mark.parametrize("status", ["dead", "cancelled"])
    def test_the_newest_of_its_key_stays_while_it_may_return(self, status: str) -> None:
        endpoint = make_endpoint()
        older, newest = [ended(status, endpoint=endpoint) for _ in range(2)]
        withheld = ended(status, "thing/2", endpoint=endpoint, is_final=True)
        listing = ended(status, "", endpoint=endpoint, family="list")
        assert left() == [newest.pk]
        assert not {older.pk, withheld.pk, listing.pk} & {*Delivery.objects.values_list("pk", flat=True)}

    def test_one_that_was_attempted_lately_stays(self) -> None:
        row = ended("delivered")
        attempt(row, timezone.now() - timedelta(days=1))
        assert left() == [row.pk]

    def test_the_successor_of_one_that_still_gives_way_stays(self) -> None:
        endpoint = make_endpoint()
        second = ended("superseded", endpoint=endpoint)
        first = ended("pending", endpoint=endpoint, superseded_by=second)
        third = ended("pending", endpoint=endpoint)
        assert left() == [second.pk, first.pk, third.pk]

    def test_what_a_list_named_goes_with_it_and_a_reason_stays_without_its_link(self) -> None:
        endpoint = make_endpoint()
        listing = ended("delivered", "", endpoint=endpoint, family="list")
        ListedSubject.objects.create(delivery=listing, endpoint=endpoint, subject="thing/1")
        successor = ended("delivered", endpoint=endpoint)
        young = ended("superseded", endpoint=endpoint, age=1, superseded_by=successor, reason="superseded by it")
        assert left() == [young.pk]
        assert not ListedSubject.objects.exists()
        young.refresh_from_db()
        assert (young.superseded_by_id, young.reason) == (None, "superseded by it")

    def test_goes_through_more_than_one_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("notifications.services.retention.DELIVERIES_STEP", 3)
        endpoint = make_endpoint()
        kept = [ended("pending" if n % 4 == 0 else "delivered", f"thing/{n}", endpoint=endpoint) for n in range(10)]
        assert left() == [row.pk for row in kept[::4]]

    def test_beside_a_resend_the_message_is_gone_or_pending(self, in_threads: Callable[..., list[Any]]) -> None:
        endpoint = make_endpoint()
        rows = [ended("delivered", f"thing/{n}", endpoint=endpoint) for n in range(30)]

        def act(number: int) -> int:
            if number == 0:
                expire_deliveries()
                return 0
            return sum(_was_resent(row.pk) for row in rows)

        _, resent = in_threads(act, 2)
        assert Delivery.objects.filter(status="pending").count() == resent
        assert not Delivery.objects.exclude(status="pending").exists()


class TestFirstDeliverySince:
    @pytest.mark.parametrize(("days", "index"), [(50, 0), (35, 1), (25, 2), (5, 5)])
    def test_finds_the_first_by_halving(self, days: int, index: int) -> None:
        endpoint = make_endpoint()
        rows = [ended("delivered", f"thing/{n}", endpoint=endpoint, age=40 - 10 * min(n, 3)) for n in range(5)]
        expected = [*(row.pk for row in rows), rows[-1].pk + 1]
        assert first_delivery_since(timezone.now() - timedelta(days=days)) == expected[index]

    def test_of_an_empty_table(self) -> None:
        assert first_delivery_since(timezone.now()) == 1


def _was_resent(pk: int) -> bool:
    try:
        return resend_delivery(pk, "staff:olga")
    except DeliveryNotFound:
        return False


def alert(kind: str, *, status: str = "resolved", days_ago: float = 91, **values: Any) -> Alert:
    at = timezone.now() - timedelta(days=days_ago)
    values |= {"resolved_at": at} if status == "resolved" else {}
    values |= {"acknowledged_by": "olga", "acknowledged_at": at} if status == "acknowledged" else {}
    return Alert.objects.create(kind=kind, subject="x", title="x", status=status, first_at=at, last_at=at, **values)


def incident(position: int, *, days_ago: float = 91, is_open: bool = False) -> Incident:
    at = timezone.now() - timedelta(days=days_ago)
    over = {} if is_open else {"resolved_at": at, "resolution": "dismissed"}
    follower, _ = Follower.objects.get_or_create(name="history-test")
    return Incident.objects.create(
        follower=follower, position=position, type="t", subject="s", event={}, error="e", at=at, **over
    )


class TestExpireAlerts:
    def test_alerts_resolved_long_ago_go_and_others_stay(self) -> None:
        alert("old")
        stays = [alert("young", days_ago=89), alert("open", status="open"), alert("taken", status="acknowledged")]
        expire_alerts()
        assert set(Alert.objects.all()) == set(stays)

    def test_the_rest_of_a_mute_is_kept_for_the_next_alert(self) -> None:
        now = timezone.now()
        muted = alert("muted", muted_until=now + timedelta(days=1))
        alert("was muted", muted_until=now - timedelta(days=1))
        expire_alerts()
        assert list(Alert.objects.all()) == [muted]

    def test_incidents_resolved_long_ago_go_and_others_stay(self) -> None:
        incident(1)
        stays = [incident(2, days_ago=89), incident(3, is_open=True)]
        expire_alerts()
        assert set(Incident.objects.all()) == set(stays)

    def test_goes_through_more_than_one_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("config.common.database.batches.DELETED_AT_ONCE", 3)
        for number in range(7):
            alert(f"k{number}")
            incident(number)
        expire_alerts()
        assert not Alert.objects.exists()
        assert not Incident.objects.exists()
