import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from config.common.database.batches import DatabaseUnavailable
from notifications.models import Alert, Attempt, Delivery, Endpoint, Event
from notifications.sending import outcomes as module
from notifications.sending.outcomes import Outcome, drain_outcomes
from notifications.sending.policy import BREAKER_FAILURES
from notifications.sending.webhook import Answer
from notifications.services.deliveries import NewDelivery, cancel_deliveries, enqueue_deliveries
from notifications.services.endpoints import mark_reachable, requeue_missed_once, reset_breaker
from notifications.services.resend import resend_delivery
from tests.notifications.sending.deliveries import answer, claim, enqueue_state, make_due, make_endpoint
from tests.sensors.registry import make_client

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def fail_until_dead(row: Delivery, settings: Any) -> None:
    settings.DELIVERY_ATTEMPTS = 1
    answer(*[each for each in claim() if each.id == row.pk], status=500)
    row.refresh_from_db()
    assert row.status == "dead"


def open_breaker(endpoint: Endpoint) -> None:
    for number in range(BREAKER_FAILURES):
        enqueue_state(endpoint, f"thing/{number}")
    answer(*claim(), status=500)


def probe(endpoint: Endpoint, *, status: int) -> None:
    """Let the time of the next probe come, and answer it."""
    Endpoint.objects.filter(pk=endpoint.pk).update(probe_at=Now() - timedelta(seconds=1))
    Delivery.objects.filter(status="pending").update(due_at=Now() - timedelta(seconds=1))
    answer(*claim(), status=status)


class TestABatch:
    @pytest.fixture
    def ended(self) -> list[Outcome]:
        for number in range(5):
            enqueue_state(make_endpoint(), f"thing/{number}")
        return [Outcome(each, timezone.now(), Answer(200, 5)) for each in claim()]

    def test_the_culprit_alone_is_recorded_in_words_of_ours(self, ended: list[Outcome]) -> None:
        bad = ended[2] = replace(ended[2], answer=Answer(500, 2**70, "odd"))
        drain_outcomes(ended)
        assert ended == []
        assert Delivery.objects.filter(status="delivered").count() == Attempt.objects.filter(status=200).count() == 4
        row = Delivery.objects.get(status="pending")
        assert (row.pk, row.attempts, row.under_way_until) == (bad.claim.id, 1, None)
        assert "could not be recorded" in Attempt.objects.get(delivery=row).error

    def test_one_whose_attempt_cannot_be_kept_at_all_still_counts(self, ended: list[Outcome]) -> None:
        bad = ended[0] = replace(ended[0], answer=Answer(2**70, 5))
        drain_outcomes(ended)
        assert Delivery.objects.filter(status="delivered").count() == Attempt.objects.count() == 4
        row = Delivery.objects.get(pk=bad.claim.id)
        assert (row.status, row.under_way_until, row.due_at is not None and row.due_at > timezone.now()) == (
            "pending",
            None,
            True,
        )

    def test_what_is_written_before_the_database_goes_is_not_written_again(
        self, ended: list[Outcome], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, bad = module.record_outcomes, ended[0].claim.id

        def record(outcomes: Sequence[Outcome]) -> None:
            if len(outcomes) > 2:
                raise ValueError
            if outcomes[0].claim.id == ended[-1].claim.id or bad not in {each.claim.id for each in outcomes}:
                raise DatabaseUnavailable
            real(outcomes)

        monkeypatch.setattr(module, "record_outcomes", record)
        left = list(ended)
        with pytest.raises(DatabaseUnavailable):
            drain_outcomes(left)
        assert left == ended[2:]
        assert Attempt.objects.count() == 2


class TestTheDelivery:
    def test_success_ends_it(self) -> None:
        row = enqueue_state(make_endpoint())
        answer(*claim(), status=204)
        row.refresh_from_db()
        assert (row.status, row.reason, row.due_at, row.under_way_until) == ("delivered", "", None, None)

    def test_failure_leaves_it_for_later_with_its_reason(self, settings: Any) -> None:
        settings.DELIVERY_BASE_SECONDS = 300
        row = enqueue_state(make_endpoint())
        answer(*claim(), status=500)
        row.refresh_from_db()
        assert (row.status, row.reason, row.attempts) == ("pending", "answered 500", 1)
        assert row.due_at is not None
        assert timedelta(seconds=235) < row.due_at - timezone.now() < timedelta(seconds=365)

    def test_every_attempt_is_kept_and_told(self) -> None:
        row = enqueue_state(make_endpoint())
        answer(*claim(), status=None, error="timed out")
        make_due(row)
        answer(*claim(), status=200)
        kept = Attempt.objects.filter(delivery=row).order_by("id").values_list("status", "error", "url")
        assert list(kept) == [(None, "timed out", row.endpoint.url), (200, "", row.endpoint.url)]
        told = Event.objects.filter(type="delivery.attempted", subject=f"delivery/{row.pk}").order_by("id")
        assert [event.payload["became"] for event in told] == ["pending", "delivered"]

    def test_a_sender_that_was_overtaken_writes_no_more_than_its_attempt(self) -> None:
        row = enqueue_state(make_endpoint())
        late = claim()
        make_due(row)
        newer = claim()
        answer(*late, status=200)
        row.refresh_from_db()
        assert row.status == "pending"
        answer(*newer, status=200)
        row.refresh_from_db()
        assert row.status == "delivered"

    def test_after_the_last_attempt_it_is_dead_and_staff_are_told(self, settings: Any) -> None:
        row = enqueue_state(make_endpoint())
        fail_until_dead(row, settings)
        alert = Alert.objects.get(kind="deliveries.dead")
        assert alert.subject == f"endpoint/{row.endpoint_id}"

    @pytest.mark.parametrize(("status", "became"), [(200, "delivered"), (500, "superseded")])
    def test_one_that_was_replaced_under_way_is_delivered_or_superseded(self, status: int, became: str) -> None:
        endpoint = make_endpoint()
        older = enqueue_state(endpoint, data=1)
        under_way = claim()
        newer = enqueue_state(endpoint, data=0)
        older.refresh_from_db()
        assert (older.status, older.superseded_by_id) == ("pending", newer.pk)
        answer(*under_way, status=status)
        older.refresh_from_db()
        assert older.status == became
        assert Delivery.objects.get(pk=newer.pk).status == "pending"

    @pytest.mark.parametrize("status", [200, 500])
    def test_one_that_was_replaced_after_its_lease_stays_superseded(self, status: int) -> None:
        endpoint = make_endpoint()
        older = enqueue_state(endpoint, data=1)
        late = claim()
        make_due(older)
        newer = enqueue_state(endpoint, data=0)
        answer(*late, status=status)
        older.refresh_from_db()
        assert (older.status, older.superseded_by_id, older.due_at) == ("superseded", newer.pk, None)

    @pytest.mark.parametrize("status", [200, 500])
    def test_one_that_was_cancelled_under_way_stays_cancelled(self, status: int) -> None:
        row = enqueue_state(make_endpoint())
        under_way = claim()
        cancel_deliveries([row.pk], "unlinked")
        answer(*under_way, status=status)
        row.refresh_from_db()
        assert (row.status, row.reason) == ("cancelled", "unlinked")


class TestTheBreaker:
    def test_opens_after_so_many_failures_in_a_row_and_closes_with_a_success(self) -> None:
        endpoint = make_endpoint()
        for number in range(BREAKER_FAILURES):
            enqueue_state(endpoint, f"thing/{number}")
        answer(*claim(), status=500)
        endpoint.refresh_from_db()
        assert endpoint.opened_at is not None
        assert endpoint.probe_at is not None
        assert endpoint.probe_at > timezone.now() + timedelta(seconds=20)

        Endpoint.objects.update(probe_at=Now() - timedelta(seconds=1))
        Delivery.objects.filter(status="pending").update(due_at=Now() - timedelta(seconds=1))
        probe = claim()
        assert [each.is_probe for each in probe] == [True]
        answer(*probe, status=200)
        endpoint.refresh_from_db()
        assert (endpoint.failures, endpoint.opened_at, endpoint.probe_at) == (0, None, None)
        assert len(claim()) == BREAKER_FAILURES - 1

    def test_a_failed_probe_waits_for_longer_and_leaves_the_row_due(self) -> None:
        opened = timezone.now() - timedelta(minutes=10)
        endpoint = make_endpoint(opened_at=opened, probe_at=timezone.now() - timedelta(seconds=1), failures=9)
        row = enqueue_state(endpoint)
        answer(*claim(), status=503)
        endpoint.refresh_from_db()
        row.refresh_from_db()
        assert endpoint.probe_at is not None
        assert row.due_at is not None
        assert endpoint.probe_at - timezone.now() > timedelta(minutes=4)
        assert (row.status, row.attempts) == ("pending", 0)
        assert row.due_at <= timezone.now()

    def test_open_for_three_days_it_disables_the_endpoint_with_an_alert(self) -> None:
        opened = timezone.now() - timedelta(hours=73)
        endpoint = make_endpoint(opened_at=opened, probe_at=timezone.now() - timedelta(seconds=1), failures=99)
        row = enqueue_state(endpoint)
        answer(*claim(), status=500)
        endpoint.refresh_from_db()
        row.refresh_from_db()
        assert (endpoint.active, row.status) == (False, "cancelled")
        assert Alert.objects.filter(kind="endpoint.disabled", subject=f"endpoint/{endpoint.pk}").exists()

    def test_open_it_is_an_alert_at_once_that_names_the_receiver(self) -> None:
        client = make_client("Granit")
        open_breaker(client.endpoint)
        alert = Alert.objects.get(kind="endpoint.unreachable")
        assert (alert.subject, alert.status) == (f"endpoint/{client.endpoint_id}", "open")
        assert alert.words == "Granit is not responding; its messages are waiting"
        probe(client.endpoint, status=500)
        alert.refresh_from_db()
        assert alert.count == 2

    def test_the_alert_closes_by_itself_with_the_breaker(self) -> None:
        endpoint = make_endpoint()
        open_breaker(endpoint)
        probe(endpoint, status=200)
        assert Alert.objects.get(kind="endpoint.unreachable").status == "resolved"

    def test_the_alert_gives_way_to_the_one_of_a_receiver_that_is_switched_off(self) -> None:
        endpoint = make_endpoint()
        open_breaker(endpoint)
        probe(endpoint, status=410)
        states = dict(Alert.objects.values_list("kind", "status"))
        assert states == {"endpoint.unreachable": "resolved", "endpoint.disabled": "open"}

    def test_a_delivery_that_a_probe_delivered_tells_of_its_attempts(self) -> None:
        opened = timezone.now() - timedelta(minutes=10)
        endpoint = make_endpoint(opened_at=opened, probe_at=timezone.now() - timedelta(seconds=1), failures=9)
        row = enqueue_state(endpoint)
        probe(endpoint, status=500)
        probe(endpoint, status=200)
        row.refresh_from_db()
        assert (row.status, row.attempts, row.attempts_made) == ("delivered", 0, 2)
        told = Event.objects.filter(type="delivery.attempted", subject=f"delivery/{row.pk}").order_by("id")
        assert [event.payload["attempt"] for event in told] == [1, 2]

    def test_a_resend_begins_anew_and_forgets_no_attempt(self, settings: Any) -> None:
        row = enqueue_state(make_endpoint())
        fail_until_dead(row, settings)
        resend_delivery(row.pk, "staff:olga")
        answer(*claim(), status=200)
        row.refresh_from_db()
        assert (row.status, row.attempts, row.attempts_made) == ("delivered", 1, 2)

    def test_one_that_asks_to_slow_down_is_left_alone_for_so_long(self) -> None:
        endpoint = make_endpoint()
        enqueue_state(endpoint, "thing/1")
        answer(*claim(), status=429, retry_after=120)
        enqueue_state(endpoint, "thing/2")
        endpoint.refresh_from_db()
        assert endpoint.not_before is not None
        assert timedelta(seconds=110) < endpoint.not_before - timezone.now() < timedelta(seconds=130)
        assert claim() == []


class TestGone:
    def test_disables_the_endpoint_and_cancels_what_is_pending(self) -> None:
        endpoint = make_endpoint()
        first = enqueue_state(endpoint, "thing/1")
        under_way = claim()
        second = enqueue_state(endpoint, "thing/2")
        answer(*under_way, status=410)
        endpoint.refresh_from_db()
        assert (endpoint.active, endpoint.off_reason) == (False, "410: the receiver is gone")
        assert set(Delivery.objects.values_list("pk", "status")) == {(first.pk, "cancelled"), (second.pk, "cancelled")}
        assert Alert.objects.filter(kind="endpoint.disabled").exists()


class TestComingBack:
    def test_a_success_after_failures_queues_the_newest_dead_again(self, settings: Any) -> None:
        endpoint = make_endpoint()
        dead = enqueue_state(endpoint, "thing/1")
        fail_until_dead(dead, settings)
        enqueue_state(endpoint, "thing/2")
        answer(*claim(), status=200)
        while requeue_missed_once():
            pass
        dead.refresh_from_db()
        assert (dead.status, dead.attempts, dead.is_retry) == ("pending", 0, True)
        assert [each.id for each in claim()] == [dead.pk]

    def test_an_attempt_from_before_says_nothing_about_what_is_queued_again(self, settings: Any) -> None:
        endpoint = make_endpoint()
        row = enqueue_state(endpoint)
        late = claim()
        Delivery.objects.filter(pk=row.pk).update(status="dead", due_at=None, under_way_until=None)
        reset_breaker(endpoint)
        requeue_missed_once()
        answer(*late, status=200)
        row.refresh_from_db()
        assert row.status == "pending", "the attempt was of what was given up"

    def test_a_dead_one_that_a_newer_followed_stays_dead(self, settings: Any) -> None:
        endpoint = make_endpoint()
        dead = enqueue_state(endpoint, "thing/1")
        fail_until_dead(dead, settings)
        newer = enqueue_state(endpoint, "thing/1")
        answer(*claim(), status=200)
        while requeue_missed_once():
            pass
        dead.refresh_from_db()
        assert (dead.status, dead.is_final) == ("dead", True)
        assert Delivery.objects.get(pk=newer.pk).status == "delivered"

    def test_a_dead_one_whose_connection_a_newer_list_told_stays_dead(self, settings: Any) -> None:
        endpoint = make_endpoint()
        dead = enqueue_state(endpoint, "thing/1", family=Delivery.Family.CONNECTION)
        fail_until_dead(dead, settings)
        enqueue_deliveries(
            [NewDelivery(endpoint.pk, "things.lost", Delivery.Family.LIST, "", {"version": 1}, listed=("thing/1",))]
        )
        answer(*claim(), status=200)
        while requeue_missed_once():
            pass
        dead.refresh_from_db()
        assert (dead.status, dead.is_final) == ("dead", True)

    def test_what_was_withheld_for_good_does_not_come_back(self) -> None:
        endpoint = make_endpoint()
        muted = enqueue_state(endpoint, withheld="the sensor is muted", for_good=True)
        off = enqueue_state(endpoint, "thing/2", withheld="the client is inactive")
        reset_breaker(endpoint)
        while requeue_missed_once():
            pass
        statuses = dict(Delivery.objects.values_list("pk", "status"))
        assert statuses == {muted.pk: "cancelled", off.pk: "pending"}

    def test_nothing_is_queued_for_one_that_has_gone_again(self) -> None:
        endpoint = make_endpoint()
        off = enqueue_state(endpoint, withheld="the client is inactive")
        reset_breaker(endpoint)
        Endpoint.objects.update(active=False)
        assert not requeue_missed_once()
        assert Delivery.objects.get(pk=off.pk).status == "cancelled"

    @pytest.mark.django_db(transaction=True)
    def test_what_is_missed_while_it_is_looked_through_is_not_forgotten(self) -> None:
        endpoint = make_endpoint(is_back=True)
        row = enqueue_state(endpoint)

        def look_through() -> None:
            requeue_missed_once()
            connection.close()

        beside = threading.Thread(target=look_through)
        with transaction.atomic():
            locked = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
            Delivery.objects.filter(pk=row.pk).update(status="dead", due_at=None)
            mark_reachable(locked)
            beside.start()
            beside.join(0.5)  # it waits for this transaction, at its first lock or at its first write
        beside.join()
        while requeue_missed_once():
            pass
        row.refresh_from_db()
        assert row.status == "pending"

    def test_once_all_is_queued_it_is_not_looked_at_again(self) -> None:
        endpoint = make_endpoint()
        enqueue_state(endpoint, withheld="the client is inactive")
        reset_breaker(endpoint)
        assert [requeue_missed_once(), requeue_missed_once()] == [True, False]

    def test_the_alert_about_the_dead_heals(self, settings: Any) -> None:
        endpoint = make_endpoint()
        fail_until_dead(enqueue_state(endpoint), settings)
        enqueue_state(endpoint, "thing/2")
        answer(*claim(), status=200)
        assert Alert.objects.get(kind="deliveries.dead").status == Alert.Status.RESOLVED
