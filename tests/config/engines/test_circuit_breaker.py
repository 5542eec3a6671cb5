from contextlib import ExitStack

import pytest

from config.engines.circuit_breaker import CircuitBreaker, EngineUnavailable


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def fail(guard: CircuitBreaker) -> None:
    with pytest.raises(TimeoutError), guard.call(failures=(OSError,)):
        raise TimeoutError


def is_refused(guard: CircuitBreaker) -> bool:
    try:
        with guard.call(failures=(OSError,)):
            return False
    except EngineUnavailable:
        return True


class TestCall:
    def test_after_a_failure_all_are_refused_for_a_while(self, clock: Clock) -> None:
        guard = CircuitBreaker(calls=2, rest_seconds=5, clock=clock)
        fail(guard)
        assert is_refused(guard)
        clock.now += 5
        assert not is_refused(guard)
        assert not is_refused(guard)

    def test_one_alone_finds_out_whether_it_is_back(self, clock: Clock) -> None:
        guard = CircuitBreaker(calls=2, rest_seconds=5, clock=clock)
        fail(guard)
        clock.now += 5
        with guard.call(failures=(OSError,)):
            assert is_refused(guard), "one asks already"
        assert not is_refused(guard)

    def test_an_answer_to_somebody_else_lets_all_in(self, clock: Clock) -> None:
        guard = CircuitBreaker(calls=2, clock=clock)
        fail(guard)
        guard.mark_back()
        assert not is_refused(guard)

    def test_only_so_many_wait_at_once(self, clock: Clock) -> None:
        guard = CircuitBreaker(calls=2, clock=clock)
        with ExitStack() as waiting:
            for _ in range(2):
                waiting.enter_context(guard.call(failures=(OSError,)))
            assert is_refused(guard)
        assert not is_refused(guard)

    def test_what_is_no_silence_closes_nothing(self, clock: Clock) -> None:
        guard = CircuitBreaker(calls=1, clock=clock)
        with pytest.raises(KeyError), guard.call(failures=(OSError,)):
            raise KeyError
        assert not is_refused(guard)
