import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from config.records.models import ChangeRecord
from notifications.errors import ClientInactive, DeliveryNotFound, Superseded
from notifications.models import Delivery, Endpoint, Event, ListedSubject
from notifications.services import resend
from notifications.services.resend import DeadLetters, count_dead_letters, resend_dead_letters, resend_delivery
from tests.faults.wait import wait_until
from tests.notifications.sending.deliveries import answer, claim, enqueue_state, make_endpoint

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def end(row: Delivery, status: str = "dead", **fields: Any) -> Delivery:
    values = {"attempts": 10, "is_retry": True, "reason": "answered 500", "fence": 10, **fields}
    Delivery.objects.filter(pk=row.pk).update(status=status, due_at=None, under_way_until=None, **values)
    return fresh(row)


def fresh(row: Delivery) -> Delivery:
    return Delivery.objects.get(pk=row.pk)


def dead_of(endpoint: Endpoint, subject: str = "thing/1") -> Delivery:
    return end(enqueue_state(endpoint, subject))


class TestPending:
    def test_becomes_due_now_and_passes_an_open_breaker(self) -> None:
        soon = timezone.now() + timedelta(minutes=5)
        row = enqueue_state(make_endpoint(opened_at=soon, probe_at=soon))
        Delivery.objects.update(due_at=soon, is_retry=True, attempts=3)
        assert resend_delivery(row.pk, "staff:olga") is True
        (found,) = claim()
        assert (found.id, found.attempts, found.is_probe) == (row.pk, 4, False)

    def test_is_left_alone_while_an_attempt_is_under_way(self) -> None:
        row = enqueue_state(make_endpoint())
        under_way = claim()
        before = fresh(row)
        assert resend_delivery(row.pk, "staff:olga") is False
        assert (fresh(row).due_at, fresh(row).is_forced) == (before.due_at, False)
        answer(*under_way)
        assert fresh(row).status == "delivered"

    def test_whose_sender_died_becomes_due_now(self) -> None:
        row = enqueue_state(make_endpoint())
        claim()
        Delivery.objects.update(under_way_until=Now() - timedelta(seconds=1))
        assert resend_delivery(row.pk, "staff:olga") is True
        assert [each.id for each in claim()] == [row.pk]


class TestEnded:
    @pytest.mark.parametrize("status", ["dead", "cancelled", "delivered"])
    def test_begins_anew(self, status: str) -> None:
        row = end(enqueue_state(make_endpoint()), status, is_final=True)
        resend_delivery(row.pk, "staff:olga")
        again = fresh(row)
        assert (again.status, again.attempts, again.reason, again.is_final) == ("pending", 0, "", False)
        assert (again.is_retry, again.is_forced, again.fence) == (True, True, row.fence + 1)
        assert [each.id for each in claim()] == [row.pk]

    def test_twice_is_one_message(self) -> None:
        row = dead_of(make_endpoint())
        resend_delivery(row.pk, "staff:olga")
        resend_delivery(row.pk, "staff:olga")
        assert [each.id for each in claim()] == [row.pk]

    @pytest.mark.django_db(transaction=True)
    def test_two_at_once_are_one_change(
        self, in_threads: Callable[..., list[bool]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The second must not have looked at the message before the first has committed."""
        row, check = dead_of(make_endpoint()), resend._check_resendable
        both_look = threading.Barrier(2)

        def check_together(delivery: Delivery) -> None:
            with suppress(threading.BrokenBarrierError):
                both_look.wait(0.5)
            check(delivery)

        monkeypatch.setattr(resend, "_check_resendable", check_together)
        in_threads(lambda _: resend_delivery(row.pk, "staff:olga"), 2)
        assert fresh(row).fence == row.fence + 1

    @pytest.mark.parametrize("family", [Delivery.Family.STATE, Delivery.Family.CONNECTION])
    @pytest.mark.parametrize("newer", ["pending", "delivered", "dead"])
    def test_is_refused_when_a_newer_one_has_followed(self, family: Delivery.Family, newer: str) -> None:
        endpoint = make_endpoint()
        old = end(enqueue_state(endpoint, family=family))
        new = enqueue_state(endpoint, family=family)
        if newer != "pending":
            end(new, newer)
        with pytest.raises(Superseded) as refused:
            resend_delivery(old.pk, "staff:olga")
        assert (refused.value.code, refused.value.status) == ("superseded", 409)
        assert refused.value.data == {"superseded_by": new.pk}
        assert fresh(old).status == "dead"
        assert not ChangeRecord.objects.exists()

    def test_another_family_or_subject_or_endpoint_is_no_successor(self) -> None:
        endpoint = make_endpoint()
        row = dead_of(endpoint)
        enqueue_state(endpoint, family=Delivery.Family.CONNECTION)
        enqueue_state(endpoint, "thing/2")
        enqueue_state(make_endpoint())
        assert resend_delivery(row.pk, "staff:olga") is True

    def test_a_list_is_news_of_each_connection_that_it_names(self) -> None:
        endpoint = make_endpoint()
        row = end(enqueue_state(endpoint, family=Delivery.Family.CONNECTION))
        newer = enqueue_state(endpoint, "", family=Delivery.Family.LIST, listed=("thing/1", "thing/2"))
        with pytest.raises(Superseded) as refused:
            resend_delivery(row.pk, "staff:olga")
        assert refused.value.data == {"superseded_by": newer.pk}

    def test_a_superseded_one_is_refused_and_names_the_newest(self) -> None:
        endpoint = make_endpoint()
        old, _, newest = [enqueue_state(endpoint, data=n) for n in range(3)]
        with pytest.raises(Superseded) as refused:
            resend_delivery(old.pk, "staff:olga")
        assert refused.value.data == {"superseded_by": newest.pk}

    def test_later_messages_wait_for_a_list_that_is_sent_again(self) -> None:
        endpoint = make_endpoint()
        listing = end(enqueue_state(endpoint, "", family=Delivery.Family.LIST, listed=("thing/1",)))
        ListedSubject.objects.update(is_open=False)
        later = enqueue_state(endpoint, family=Delivery.Family.CONNECTION)
        resend_delivery(listing.pk, "staff:olga")
        first = claim()
        assert [each.id for each in first] == [listing.pk]
        answer(*first)
        assert [each.id for each in claim()] == [later.pk]


class TestRefused:
    def test_of_an_inactive_endpoint(self) -> None:
        row = dead_of(make_endpoint())
        Endpoint.objects.update(active=False)
        with pytest.raises(ClientInactive) as refused:
            resend_delivery(row.pk, "staff:olga")
        assert (refused.value.code, refused.value.status) == ("client_inactive", 409)

    @pytest.mark.parametrize("unknown", [0, 999_999, 2**63, 10**30])
    def test_what_is_not_there(self, unknown: int) -> None:
        with pytest.raises(DeliveryNotFound):
            resend_delivery(unknown, "staff:olga")


class TestAudit:
    def test_says_who_and_what_it_was_before(self) -> None:
        row = dead_of(make_endpoint())
        resend_delivery(row.pk, "staff:olga")
        change = ChangeRecord.objects.get(kind="delivery", object_id=str(row.pk))
        assert (change.actor, change.before["status"], change.after["status"]) == ("staff:olga", "dead", "pending")
        event = Event.objects.get(type="delivery.resent")
        assert (event.subject, event.payload["by"]) == (f"delivery/{row.pk}", "staff:olga")


class TestDeadLetters:
    def test_go_step_by_step_each_once(self) -> None:
        endpoint = make_endpoint()
        rows = [dead_of(endpoint, f"thing/{n}") for n in range(5)]
        first = resend_dead_letters(actor="staff:olga", limit=2)
        assert (first.resent, first.skipped, first.after, first.left) == (2, 0, rows[1].pk, 3)
        end(rows[0])  # given up again meanwhile: not taken up a second time
        second = resend_dead_letters(actor="staff:olga", after=first.after, limit=2)
        third = resend_dead_letters(actor="staff:olga", after=second.after, limit=2)
        assert (second.resent, third.resent, third.left) == (2, 1, 0)
        assert Delivery.objects.filter(status="pending").count() == 4

    def test_one_that_a_newer_has_followed_is_settled(self) -> None:
        endpoint = make_endpoint()
        old = dead_of(endpoint)
        enqueue_state(endpoint)
        step = resend_dead_letters(actor="staff:olga")
        assert (step.resent, step.skipped, count_dead_letters()) == (0, 1, [])
        assert (fresh(old).status, fresh(old).is_final) == ("dead", True)

    def test_are_counted_by_endpoint_as_far_as_the_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        one, other = make_endpoint(), make_endpoint()
        rows = [dead_of(endpoint, f"thing/{n}") for n, endpoint in enumerate((one, other, other, one, one))]
        assert count_dead_letters() == [DeadLetters(one.pk, 3, rows[0].pk), DeadLetters(other.pk, 2, rows[1].pk)]
        monkeypatch.setattr(resend, "MOST_COUNTED", 3)
        assert count_dead_letters() == [DeadLetters(other.pk, 2, rows[1].pk), DeadLetters(one.pk, 1, rows[0].pk)]

    def test_of_one_endpoint_alone(self) -> None:
        one, other = dead_of(make_endpoint()), dead_of(make_endpoint())
        resend_dead_letters(actor="staff:olga", endpoint_id=one.endpoint_id)
        assert (fresh(one).status, fresh(other).status) == ("pending", "dead")

    def test_pings_and_what_inactive_clients_missed_are_none(self) -> None:
        dead_of(make_endpoint(active=False))
        end(enqueue_state(make_endpoint(), family=Delivery.Family.PING))
        assert count_dead_letters() == []
        assert resend_dead_letters(actor="staff:olga").resent == 0


@pytest.mark.django_db(transaction=True)
class TestBesideTheIngest:
    def test_a_newer_message_that_is_just_being_written_wins(self) -> None:
        """The index of what is pending holds the resend back until the newer one is there."""
        if connection.vendor != "postgresql":
            pytest.skip("SQLite has one writer at a time")
        endpoint = make_endpoint()
        old = dead_of(endpoint)
        caught: list[BaseException] = []

        def ask() -> None:
            try:
                resend_delivery(old.pk, "staff:olga")
            except Superseded as refused:
                caught.append(refused)
            finally:
                connection.close()

        thread = threading.Thread(target=ask)
        with transaction.atomic():
            newer = enqueue_state(endpoint)
            thread.start()
            assert wait_until(_someone_waits)
        thread.join(60)
        assert [refused.data for refused in caught] == [{"superseded_by": newer.pk}]  # type: ignore[attr-defined]
        assert (fresh(old).status, fresh(newer).status) == ("dead", "pending")

    def test_many_at_once_leave_one_pending_message_a_key(self, in_threads: Callable[..., list[Any]]) -> None:
        endpoint = make_endpoint()
        subjects = [f"thing/{n}" for n in range(10)]
        for subject in subjects:
            dead_of(endpoint, subject)

        def act(number: int) -> None:
            for turn in range(10):
                if number < 2:
                    resend_dead_letters(actor="staff:olga")
                    Delivery.objects.filter(status="pending", pk__lte=10 * turn).update(status="dead", due_at=None)
                else:
                    with transaction.atomic():  # each has its own subjects, as if it held their rows
                        enqueue_state(endpoint, subjects[(number + 2 * turn) % 10], data=turn)

        in_threads(act, 4)
        newest = {subject: Delivery.objects.filter(subject=subject).latest("pk") for subject in subjects}
        pending = Delivery.objects.filter(status="pending", superseded_by=None)
        assert pending.count() == len({row.subject for row in pending})
        assert all(row.pk == newest[row.subject].pk for row in pending)


def _someone_waits() -> bool:
    waiting = "wait_event_type = 'Lock' AND datname = current_database()"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction it is read once
        cursor.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {waiting}")
        return bool(cursor.fetchone()[0])
