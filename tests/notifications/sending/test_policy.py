from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.sending.policy import Verdict, judge_answer, next_probe, pause_seconds, retry_delay

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def judged(status: int | None, error: str = "", retry_after: float | None = None, **given: Any) -> Verdict:
    values = {"attempts": 1, "limit": 10, "base": 300, "is_probe": False, "chance": 0.5, **given}
    return judge_answer(status, error, retry_after, **values)


class TestJudge:
    @pytest.mark.parametrize("status", [200, 201, 204, 299])
    def test_two_hundreds_alone_are_success(self, status: int) -> None:
        assert judged(status).status == "delivered"

    @pytest.mark.parametrize("status", [None, 199, 301, 302, 400, 404, 429, 500, 503])
    def test_anything_else_is_tried_again(self, status: int | None) -> None:
        assert judged(status, "no").status == "pending"

    def test_gone_is_the_end(self) -> None:
        assert judged(410).status == "cancelled"

    def test_the_last_attempt_ends_in_death_with_its_reason(self) -> None:
        assert judged(500, attempts=9).status == "pending"
        assert judged(500, attempts=10) == Verdict("dead", "answered 500")  # type: ignore[arg-type]

    def test_a_probe_uses_up_no_attempt(self) -> None:
        assert judged(500, attempts=10, is_probe=True).status == "pending"

    def test_waits_as_long_as_it_was_asked_to(self) -> None:
        assert judged(429, retry_after=5000).delay == 5000
        assert judged(429, retry_after=1).delay == 300


class TestRetryDelay:
    def test_grows_with_the_logarithm_of_the_attempts(self) -> None:
        assert [round(retry_delay(n, 300, 0.5)) for n in (1, 2, 3, 10)] == [300, 508, 630, 991]

    @given(st.integers(1, 100), st.floats(0, 1))
    def test_is_spread_by_a_fifth_either_way(self, attempts: int, chance: float) -> None:
        middle = retry_delay(attempts, 300, 0.5)
        assert 0.8 * middle - 1e-6 <= retry_delay(attempts, 300, chance) <= 1.2 * middle + 1e-6


class TestNextProbe:
    def test_comes_ever_more_rarely_within_bounds(self) -> None:
        waits = [next_probe(NOW - timedelta(seconds=open_for), NOW) - NOW for open_for in (0, 120, 600, 10**6)]
        assert [wait.total_seconds() for wait in waits] == [30, 60, 300, 900]


class TestSlowDown:
    def test_is_for_those_who_ask(self) -> None:
        assert [pause_seconds(status, None) for status in (429, 503, 500)] == [30, 30, 0]
        assert pause_seconds(503, 7) == 7
