from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config.access.sign_in_limits import (
    LIMIT,
    NAME_LIMIT,
    NETWORK_LIMIT,
    OVERALL_LIMIT,
    OVERALL_WINDOW,
    WINDOW,
    Visitor,
    clear_attempts,
    reserve_attempt,
)
from config.records.models import SignInAttempt

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
VISITOR = Visitor(name="olga", network="192.0.2.7")


def granted(visitors: list[Visitor]) -> list[bool]:
    return [reserve_attempt(visitor, at=AT).granted for visitor in visitors]


@pytest.mark.embedded
@pytest.mark.django_db
class TestReserveAttempt:
    def test_grants_ten_and_refuses_the_eleventh(self) -> None:
        assert granted([VISITOR] * (LIMIT + 1)) == [True] * LIMIT + [False]

    def test_tells_how_long_the_window_still_lasts(self) -> None:
        granted([VISITOR] * LIMIT)
        assert reserve_attempt(VISITOR, at=AT + timedelta(minutes=4)).wait == timedelta(minutes=6)

    def test_begins_again_when_the_window_has_ended(self) -> None:
        granted([VISITOR] * (LIMIT + 5))
        assert reserve_attempt(VISITOR, at=AT + WINDOW).granted

    def test_refused_attempts_do_not_prolong_the_window(self) -> None:
        for minute in range(9):
            for _ in range(LIMIT):
                reserve_attempt(VISITOR, at=AT + timedelta(minutes=minute))
        assert reserve_attempt(VISITOR, at=AT + WINDOW).granted

    def test_counts_each_name_and_network_apart(self) -> None:
        granted([VISITOR] * (LIMIT + 1))
        assert all(granted([Visitor("olga", "192.0.2.8"), Visitor("ivan", "192.0.2.7")]))

    def test_a_million_guesses_fit_the_column(self) -> None:
        SignInAttempt.objects.create(name="olga", address="192.0.2.7", failures=32767, window_ends_at=AT + WINDOW)
        assert granted([VISITOR]) == [False]

    def test_a_network_has_its_limit_whatever_the_names(self) -> None:
        visitors = [Visitor(f"name {number}", "192.0.2.7") for number in range(NETWORK_LIMIT + 1)]
        assert granted(visitors) == [True] * NETWORK_LIMIT + [False]
        assert granted([Visitor("name 0", "192.0.2.8")]) == [True]

    def test_a_name_has_its_limit_whatever_the_networks(self) -> None:
        visitors = [Visitor("olga", f"192.0.2.{number}") for number in range(NAME_LIMIT + 1)]
        step = OVERALL_WINDOW / OVERALL_LIMIT * 2
        answers = [reserve_attempt(each, at=AT + step * number).granted for number, each in enumerate(visitors)]
        assert answers == [True] * NAME_LIMIT + [False]

    def test_all_together_have_their_limit_for_a_minute(self) -> None:
        visitors = [Visitor(f"name {number}", f"192.0.2.{number}") for number in range(OVERALL_LIMIT + 1)]
        assert granted(visitors) == [True] * OVERALL_LIMIT + [False]
        assert reserve_attempt(visitors[-1], at=AT + OVERALL_WINDOW).granted

    def test_guesses_past_the_limit_of_one_network_take_nothing_from_others(self) -> None:
        granted([Visitor(f"name {number}", "192.0.2.7") for number in range(NETWORK_LIMIT + 2 * OVERALL_LIMIT)])
        assert granted([Visitor("vera", "192.0.2.8")]) == [True]

    def test_guesses_past_a_limit_leave_no_rows(self) -> None:
        granted([Visitor(f"name {number}", f"192.0.2.{number}") for number in range(OVERALL_LIMIT)])
        rows = SignInAttempt.objects.count()
        granted([Visitor(f"other {number}", f"198.51.100.{number}") for number in range(20)])
        assert SignInAttempt.objects.count() == rows

    def test_a_known_browser_is_counted_by_itself_alone(self) -> None:
        granted([Visitor("olga", "192.0.2.7", "browser")] * (LIMIT + 1))
        assert SignInAttempt.objects.count() == 1
        assert granted([VISITOR, Visitor("olga", "192.0.2.7", "another")]) == [True, True]


@pytest.mark.embedded
@pytest.mark.django_db(transaction=True)
class TestReserveAttemptRace:
    def test_of_many_networks_at_once_only_so_many_pass(
        self, in_threads: Callable[[Callable[[int], Any], int], list[Any]]
    ) -> None:
        granted([Visitor(f"name {number}", "192.0.2.7") for number in range(NETWORK_LIMIT - 4)])
        answers = in_threads(lambda number: reserve_attempt(Visitor(f"racer {number}", "192.0.2.7"), at=AT).granted, 8)
        assert sum(answers) == 4


@pytest.mark.embedded
@pytest.mark.django_db
class TestForgetAttempts:
    def test_success_clears_the_count_of_the_name_here(self) -> None:
        granted([VISITOR] * LIMIT)
        clear_attempts(VISITOR)
        assert granted([VISITOR]) == [True]

    def test_one_success_does_not_pay_for_guesses_at_other_names(self) -> None:
        granted([Visitor(f"name {number}", "192.0.2.7") for number in range(NETWORK_LIMIT)])
        clear_attempts(Visitor("own", "192.0.2.7"))
        assert granted([Visitor("one", "192.0.2.7"), Visitor("two", "192.0.2.7")]) == [True, False]


class TestVisitor:
    def test_spellings_of_a_name_count_together(self) -> None:
        assert Visitor.of(None, " OLGA ") == Visitor.of(None, "olga")

    def test_a_name_is_cut_to_what_the_column_holds(self) -> None:
        assert len(Visitor.of(None, "ß" * 150).name) == 150
