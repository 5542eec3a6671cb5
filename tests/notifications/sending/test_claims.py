import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from notifications.models import Delivery, Endpoint
from notifications.sending.claims import Claimer, is_claim_current
from notifications.sending.relevance import _checks
from notifications.services.deliveries import NewDelivery, enqueue_deliveries
from tests.notifications.sending.deliveries import (
    SECRET,
    answer,
    claim,
    enqueue_state,
    make_due,
    make_endpoint,
)

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SOON = timedelta(seconds=20)


class TestWhatIsClaimed:
    def test_a_claim_counts_the_attempt_before_it_is_made(self) -> None:
        row = enqueue_state(make_endpoint())
        claimed = claim()[0]
        kept = Delivery.objects.get(pk=row.pk)
        assert (kept.status, kept.attempts, kept.is_retry) == ("pending", 1, True)
        assert kept.due_at is not None
        assert kept.due_at == kept.under_way_until
        assert kept.due_at > timezone.now() + SOON
        assert (claimed.id, claimed.fence, claimed.url) == (row.pk, kept.fence, "http://127.0.0.1:9/hook")
        assert claimed.secrets() == [SECRET]

    def test_nothing_is_claimed_twice(self) -> None:
        enqueue_state(make_endpoint())
        assert len(claim()) == 1
        assert claim() == []

    def test_what_its_sender_left_is_due_again(self) -> None:
        row = enqueue_state(make_endpoint())
        first = claim()[0]
        make_due(row)
        assert [each.fence for each in claim()] == [first.fence + 1]

    def test_first_attempts_go_before_retries(self) -> None:
        endpoint = make_endpoint()
        retry = enqueue_state(endpoint, "thing/old")
        answer(*claim(), status=500)
        make_due(retry)
        first = enqueue_state(endpoint, "thing/new")
        assert [each.id for each in claim(1)] == [first.pk]
        assert [each.id for each in claim(1)] == [retry.pk]

    def test_each_endpoint_has_its_turn(self) -> None:
        endpoints = [make_endpoint() for _ in range(3)]
        for number in range(12):
            enqueue_state(endpoints[number % 3], f"thing/{number}")
        claimer = Claimer()
        order = [claimer.claim(1)[0].endpoint_id for _ in range(6)]
        assert order == [each.pk for each in endpoints] * 2

    def test_an_old_secret_signs_until_its_time_is_over(self) -> None:
        endpoint = make_endpoint()
        Endpoint.objects.update(old_secret=endpoint.secret, old_secret_until=timezone.now() + SOON)
        row = enqueue_state(endpoint)
        assert claim()[0].secrets() == [SECRET, SECRET]
        Endpoint.objects.update(old_secret_until=timezone.now() - SOON)
        make_due(row)
        assert claim()[0].secrets() == [SECRET]


class TestWhatWaits:
    @pytest.mark.parametrize(
        "fields",
        [
            {"paused": True},
            {"active": False},
            {"not_before": Now() + SOON},
            {"opened_at": Now(), "probe_at": Now() + SOON},
        ],
    )
    def test_endpoints_that_may_not_be_sent_to(self, fields: dict[str, Any]) -> None:
        endpoint = make_endpoint()
        enqueue_state(endpoint)
        Endpoint.objects.filter(pk=endpoint.pk).update(**fields)
        assert claim() == []

    def test_no_endpoint_has_more_than_its_slots(self, settings: Any) -> None:
        settings.DELIVERY_SLOTS_PER_CLIENT = 2
        slow, other = make_endpoint(), make_endpoint()
        for number in range(5):
            enqueue_state(slow, f"thing/{number}")
        enqueue_state(other)
        claimed = claim()
        assert [each.endpoint_id for each in claimed] == [slow.pk, slow.pk, other.pk]
        assert claim() == []
        answer(claimed[0])
        assert len(claim()) == 1

    def test_an_open_breaker_lets_one_probe_through_that_costs_no_attempt(self) -> None:
        endpoint = make_endpoint(opened_at=timezone.now() - SOON, probe_at=timezone.now() - SOON)
        for number in range(3):
            enqueue_state(endpoint, f"thing/{number}")
        probe = claim()
        assert [(each.is_probe, each.attempts) for each in probe] == [(True, 0)]
        assert claim() == []

    def test_what_staff_sent_again_passes_an_open_breaker(self) -> None:
        endpoint = make_endpoint(opened_at=timezone.now(), probe_at=timezone.now() + SOON)
        enqueue_state(endpoint, "thing/1")
        forced = enqueue_state(endpoint, "thing/2")
        Delivery.objects.filter(pk=forced.pk).update(is_forced=True)
        assert [(each.id, each.is_probe) for each in claim()] == [(forced.pk, False)]

    def test_a_message_waits_for_an_older_one_that_is_under_way(self) -> None:
        endpoint = make_endpoint()
        older = enqueue_state(endpoint, data=1)
        under_way = claim()
        newer = enqueue_state(endpoint, data=0)
        assert claim() == []
        answer(*under_way)
        assert [each.id for each in claim()] == [newer.pk]
        assert Delivery.objects.get(pk=older.pk).status == "delivered"

    def test_news_of_a_connection_waits_for_the_list_that_names_it(self) -> None:
        endpoint = make_endpoint()
        listed = ("thing/1", "thing/2")
        enqueue_deliveries(
            [NewDelivery(endpoint.pk, "things.lost", Delivery.Family.LIST, "", {"version": 1}, listed=listed)]
        )
        the_list = claim()
        enqueue_state(endpoint, "thing/1", family=Delivery.Family.CONNECTION)
        state = enqueue_state(endpoint, "thing/1", family=Delivery.Family.STATE)
        other = enqueue_state(endpoint, "thing/3", family=Delivery.Family.CONNECTION)
        assert {each.id for each in claim()} == {state.pk, other.pk}
        answer(*the_list)
        assert [each.subject for each in claim()] == ["thing/1"]


class TestIsClaimCurrent:
    def test_not_once_another_has_claimed_it(self) -> None:
        row = enqueue_state(make_endpoint())
        (late,) = claim()
        assert is_claim_current(late)
        make_due(row)
        (newer,) = claim()
        assert (is_claim_current(late), is_claim_current(newer)) == (False, True)


class TestWhatIsDropped:
    def test_what_a_newer_one_replaced_while_its_sender_died(self) -> None:
        endpoint = make_endpoint()
        older = enqueue_state(endpoint, data=1)
        claim()
        newer = enqueue_state(endpoint, data=0)
        make_due(older)
        assert claim() == []
        older.refresh_from_db()
        assert (older.status, older.superseded_by_id) == ("superseded", newer.pk)
        assert [each.id for each in claim()] == [newer.pk]

    def test_what_nobody_wants_any_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row = enqueue_state(make_endpoint())
        monkeypatch.setattr("notifications.sending.relevance._checks", [*_checks, lambda asked: {row.pk: "unlinked"}])
        assert claim() == []
        row.refresh_from_db()
        assert (row.status, row.reason, row.due_at) == ("cancelled", "unlinked", None)


@pytest.mark.django_db(transaction=True)
def test_eight_senders_at_once_claim_each_delivery_once(in_threads: Callable[..., list[list[int]]]) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite one sender claims at a time")
    rows = [enqueue_state(make_endpoint(), f"thing/{number}").pk for number in range(40)]

    def claim_all(_: int) -> list[int]:
        claimer, found = Claimer(), list[int]()
        for _ in range(15):
            found += [each.id for each in claimer.claim(5)]
        return found

    claimed = [pk for found in in_threads(claim_all, 8) for pk in found]
    claimed += [each.id for each in claim()]  # what each of them passed over, locked by another
    assert sorted(claimed) == rows
    assert set(Delivery.objects.values_list("attempts", flat=True)) == {1}


@pytest.mark.django_db(transaction=True)
def test_a_claim_beside_another_passes_over_the_endpoint(settings: Any) -> None:
    """On SQLite the second waits for the write lock, and then finds the slots taken."""
    settings.DELIVERY_SLOTS_PER_CLIENT = 1
    endpoint = make_endpoint()
    for number in range(2):
        enqueue_state(endpoint, f"thing/{number}")
    held, let_go = threading.Event(), threading.Event()
    first: list[int] = []

    def hold() -> None:
        with transaction.atomic():
            first.extend(each.id for each in claim())
            held.set()
            let_go.wait(1)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    second = [each.id for each in claim()]
    let_go.set()
    thread.join()
    assert (len(first), second) == (1, []), "one slot, one delivery under way"
