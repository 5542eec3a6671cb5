"""Fold signals into the state of one sensor: pure arithmetic over `(at, id)`, the same whatever the order of arrival.

The state's value belongs to the greatest `(at, id)` ever accepted. Every step by which an arriving signal becomes the
greatest with another value than before is a happening; so is the end of a loss. A signal greater than all before it
is new; only one that is not can be a repeat, and the sensor's memory knows it.
"""

from dataclasses import dataclass, field

from sensors.events import ConnectionRestored, LossWithdrawn, SignalEvent, StateChanged
from sensors.ingest.memory import Memory
from sensors.ingest.signals import Signal

# Batches overtake each other by seconds: who was seen later than this after what comes now was so by another clock.
SET_BACK = 60_000


@dataclass(slots=True)
class State:
    """The state row of a sensor while its lock is held; times in milliseconds.

    A row may be read without what the fold only ever sets: `changed_at`, `check_at` and `heard_at` are then None until
    they are new, and the `timeout` is known where the sensor is lost or was never seen.
    """

    sensor_id: str
    timeout: int = 0
    value: int | None = None
    changed_at: int | None = None
    last_at: int | None = None
    last_id: str = ""
    seen_at: int | None = None
    lost_at: int | None = None
    check_at: int | None = None
    heard_at: int | None = None
    place: str = ""
    """Where the locked row lies, for the one that writes it back."""
    memory: Memory = field(default_factory=Memory)
    repeated: Signal | None = None
    """The last signal of the batch that had come before."""

    def is_behind(self, signal: Signal) -> bool:
        """Return whether a signal is greater than all before it: nobody has seen it yet."""
        last_at = self.last_at
        if last_at is None or signal.at != last_at:
            return last_at is None or signal.at > last_at
        return signal.id > self.last_id


def fold(state: State, signal: Signal, heard_at: int) -> list[SignalEvent]:
    """Take one signal, heard at that steady time, into the state and say what happened by it.

    A recognised repeat changes nothing.
    """
    happened: list[SignalEvent] = []
    if state.is_behind(signal):
        if signal.data != state.value:
            happened.append(_change(state, signal))
            state.value, state.changed_at = signal.data, signal.at
        state.last_at, state.last_id = signal.at, signal.id
    elif (signal.at, signal.id) == (state.last_at, state.last_id) or state.memory.holds(signal):
        state.repeated = signal
        return []
    state.memory.add(signal)
    if state.lost_at is not None:
        happened.append(_end_of_loss(state, signal, state.lost_at))
        state.lost_at = None
        state.check_at = heard_at + state.timeout * 1000
    if state.seen_at is None:
        state.check_at = heard_at + state.timeout * 1000
    state.heard_at = heard_at
    if state.seen_at is None or not 0 <= state.seen_at - signal.received_at < SET_BACK:
        state.seen_at = signal.received_at
    return happened


def _change(state: State, signal: Signal) -> StateChanged:
    return StateChanged(
        signal.sensor_id, signal.at, signal.id, signal.data, state.value, correlation_id=signal.correlation_id
    )


def _end_of_loss(state: State, signal: Signal, lost_at: int) -> SignalEvent:
    """A signal from before the deadline proves the loss wrong; any other restores the connection."""
    if lost_at - state.timeout * 1000 < signal.at <= lost_at:
        return LossWithdrawn(signal.sensor_id, signal.received_at, lost_at, signal.correlation_id)
    at = max(signal.at, lost_at)
    value = signal.data if state.value is None else state.value
    downtime = (at - lost_at) // 1000
    return ConnectionRestored(signal.sensor_id, at, value, lost_at, downtime, signal.correlation_id)
