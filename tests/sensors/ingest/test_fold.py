import itertools
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sensors.events import ConnectionRestored, LossWithdrawn, SignalEvent, StateChanged
from sensors.ingest.fold import State
from sensors.ingest.fold import fold as fold_heard
from sensors.ingest.signals import Signal

HOUR = 3_600_000
T = 1_800_000_000_000


def signal(at: int, id: str = "a", data: int = 1, received: int | None = None) -> Signal:
    return Signal("s", at, id, data, at if received is None else received)


def fold(state: State, signal: Signal) -> list[SignalEvent]:
    """Fold a signal that is heard when it is received."""
    return fold_heard(state, signal, signal.received_at)


def fold_all(state: State, signals: list[Signal]) -> list[SignalEvent]:
    return list(itertools.chain.from_iterable(fold(state, each) for each in signals))


class TestFold:
    def test_the_first_value_has_no_previous(self) -> None:
        state = State("s", 3600)
        assert fold(state, signal(T)) == [StateChanged("s", T, "a", 1, None)]
        assert (state.value, state.changed_at, state.seen_at, state.check_at) == (1, T, T, T + HOUR)

    def test_the_same_value_is_seen_and_no_change(self) -> None:
        state = State("s", 3600)
        fold_all(state, [signal(T), signal(T + 5, "b")])
        assert (state.changed_at, state.last_at, state.seen_at) == (T, T + 5, T + 5)

    def test_every_step_inside_a_batch_is_a_change(self) -> None:
        happened = fold_all(State("s", 3600), [signal(T + n, data=n % 2) for n in range(4)])
        assert [(each.data, each.previous) for each in happened if isinstance(each, StateChanged)] == [
            (0, None),
            (1, 0),
            (0, 1),
            (1, 0),
        ]

    def test_a_late_signal_is_seen_but_changes_nothing(self) -> None:
        state = State("s", 3600)
        fold(state, signal(T, data=1))
        assert fold(state, signal(T - 1000, "b", 0, received=T + 7)) == []
        assert (state.value, state.last_at, state.seen_at) == (1, T, T + 7)

    def test_equal_times_are_ordered_by_id(self) -> None:
        state = State("s", 3600)
        fold_all(state, [signal(T, "b", 1), signal(T, "a", 0)])
        assert (state.value, state.last_id) == (1, "b")

    def test_a_repeat_does_not_even_refresh_last_seen(self) -> None:
        state = State("s", 3600)
        fold(state, signal(T))
        assert fold(state, signal(T, received=T + 9)) == []
        assert state.seen_at == T

    @given(
        st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.integers(0, 1)), unique_by=lambda s: s[:2]),
        st.randoms(),
    )
    def test_whatever_the_order_of_arrival_the_state_is_that_of_the_greatest(
        self, items: list[tuple[int, str, int]], chance: Random
    ) -> None:
        signals = [signal(T + at, id, data) for at, id, data in items]
        arrived = signals + signals[:3]
        chance.shuffle(arrived)
        state = State("s", 3600)
        happened = fold_all(state, arrived)
        greatest = max(signals, key=lambda each: (each.at, each.id), default=None)
        assert state.value == (greatest.data if greatest else None)
        values = [each.data for each in happened if isinstance(each, StateChanged)]
        assert all(one != next for one, next in itertools.pairwise(values))
        assert values[-1:] == ([greatest.data] if greatest else [])


class TestEndOfLoss:
    def lost(self) -> State:
        return State("s", 3600, value=1, changed_at=T, last_at=T, last_id="a", seen_at=T, lost_at=T + HOUR)

    def test_a_signal_from_after_the_loss_restores(self) -> None:
        state = self.lost()
        assert fold(state, signal(T + 2 * HOUR, "b")) == [ConnectionRestored("s", T + 2 * HOUR, 1, T + HOUR, 3600)]
        assert (state.lost_at, state.check_at) == (None, T + 3 * HOUR)

    def test_a_delayed_signal_from_before_the_deadline_withdraws_the_loss(self) -> None:
        happened = fold(self.lost(), signal(T + HOUR, "b", received=T + 2 * HOUR))
        assert happened == [LossWithdrawn("s", T + 2 * HOUR, T + HOUR)]

    def test_an_older_one_restores_dated_by_the_loss(self) -> None:
        happened = fold(self.lost(), signal(T, "0", received=T + 2 * HOUR))
        assert happened == [ConnectionRestored("s", T + HOUR, 1, T + HOUR, 0)]

    def test_a_repeat_does_neither(self) -> None:
        state = self.lost()
        assert fold(state, signal(T, "a", received=T + 2 * HOUR)) == []
        assert state.lost_at == T + HOUR
