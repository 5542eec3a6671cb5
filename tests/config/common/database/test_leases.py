import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from config.common.database.leases import LeaseLost, claim, finish, renew
from notifications.models import Follower

pytestmark = pytest.mark.embedded

MINUTE = timedelta(minutes=1)


def make_due(count: int) -> None:
    past = timezone.now() - timedelta(hours=1)
    Follower.objects.bulk_create(
        Follower(name=f"row-{n:04}", due_at=past + timedelta(seconds=n)) for n in reversed(range(count))
    )


def claim_rows(limit: int = 10, lease: timedelta = MINUTE) -> list[Follower]:
    return claim(Follower.objects.all(), limit=limit, lease=lease)


@pytest.mark.django_db
class TestClaim:
    def test_takes_the_longest_due_first_up_to_the_limit(self) -> None:
        make_due(5)
        assert [row.name for row in claim_rows(limit=3)] == ["row-0000", "row-0001", "row-0002"]

    def test_leaves_what_is_not_due(self) -> None:
        Follower.objects.create(name="later", due_at=timezone.now() + MINUTE)
        assert claim_rows() == []

    def test_narrows_by_the_given_rows(self) -> None:
        make_due(3)
        claimed = claim(Follower.objects.filter(name="row-0002"), limit=9, lease=MINUTE)
        assert [row.name for row in claimed] == ["row-0002"]

    def test_moves_the_deadline_and_raises_the_fence(self) -> None:
        make_due(1)
        row = claim_rows()[0]
        kept = Follower.objects.get()
        assert kept.fence == row.fence == 1
        assert timedelta(seconds=55) < kept.due_at - timezone.now() < timedelta(seconds=65)
        assert row.due_at == kept.due_at

    def test_a_lease_that_ran_out_is_claimed_again(self) -> None:
        make_due(1)
        claim_rows(lease=timedelta(0))
        assert [row.fence for row in claim_rows()] == [2]

    def test_rows_due_at_the_same_time_go_by_the_column_that_is_named(self) -> None:
        moment = timezone.now() - MINUTE
        places = {"a": 3, "b": 1, "c": 2}
        Follower.objects.bulk_create(Follower(name=n, position=p, due_at=moment) for n, p in places.items())
        claimed = claim(Follower.objects.all(), limit=2, lease=MINUTE, then_by="position")
        assert [row.name for row in claimed] == ["b", "c"]

    def test_sets_what_a_claim_sets_beside_deadline_and_fence(self) -> None:
        make_due(2)
        [row] = claim(Follower.objects.all(), limit=1, lease=MINUTE, also={"failures": 4, "last_error": "it's %s"})
        assert (row.failures, row.last_error, row.fence) == (4, "it's %s", 1)
        assert list(Follower.objects.order_by("name").values_list("failures", flat=True)) == [4, 0]

    def test_costs_one_statement(self, django_assert_num_queries: Any) -> None:
        make_due(3)
        with django_assert_num_queries(1):
            claim_rows()


@pytest.mark.django_db
class TestFinish:
    def test_writes_while_the_claim_stands(self) -> None:
        make_due(1)
        finish(claim_rows()[0], position=7)
        assert Follower.objects.get().position == 7

    def test_refuses_the_write_of_a_holder_that_was_overtaken(self) -> None:
        make_due(1)
        late = claim_rows(lease=timedelta(0))[0]
        claim_rows()
        with pytest.raises(LeaseLost):
            finish(late, position=7)
        assert Follower.objects.get().position == 0

    def test_renewal_holds_the_row_and_is_refused_when_overtaken(self) -> None:
        make_due(1)
        holder = claim_rows(lease=timedelta(0))[0]
        renew(holder, lease=MINUTE)
        assert claim_rows() == []
        Follower.objects.update(due_at=Now())
        claim_rows()
        with pytest.raises(LeaseLost):
            renew(holder, lease=MINUTE)


@pytest.mark.django_db(transaction=True)
class TestRace:
    def test_eight_threads_never_claim_a_row_twice(self, in_threads: Callable[..., list[list[str]]]) -> None:
        make_due(400)

        def take_all(_: int) -> list[str]:
            names: list[str] = []
            while rows := claim_rows(limit=7):
                names += [row.name for row in rows]
            return names

        claimed = [name for names in in_threads(take_all, 8) for name in names]
        assert sorted(claimed) == [f"row-{n:04}" for n in range(400)]

    def test_a_holder_paused_in_its_transaction_is_skipped_not_waited_for(self) -> None:
        """On SQLite the second claimer waits for the write lock and then finds the lease taken."""
        make_due(2)
        held, let_go = threading.Event(), threading.Event()
        first: list[str] = []
        was_passed: list[bool] = []

        def hold() -> None:
            with transaction.atomic():
                first.extend(row.name for row in claim_rows(limit=1))
                held.set()
                was_passed.append(let_go.wait(1))
            transaction.get_connection().close()

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(60)
        second = [row.name for row in claim_rows(limit=1)]
        let_go.set()
        thread.join()
        assert (first, second) == (["row-0000"], ["row-0001"])
        assert was_passed == [connection.vendor == "postgresql"]

    def test_a_paused_holders_write_is_refused(self, in_threads: Callable[..., list[str]]) -> None:
        make_due(1)
        paused = claim_rows(lease=timedelta(0))[0]

        def overtake_and_finish(_: int) -> str:
            rows = claim_rows()
            if rows:
                finish(rows[0], last_error="the new holder")
            return rows[0].name if rows else ""

        assert sorted(in_threads(overtake_and_finish, 8)) == [""] * 7 + ["row-0000"]
        with pytest.raises(LeaseLost):
            finish(paused, last_error="the paused one")
        assert Follower.objects.get().last_error == "the new holder"
