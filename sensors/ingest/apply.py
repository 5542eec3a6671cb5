"""Apply a batch of signals: one transaction that locks, folds, writes and publishes, for AMQP and REST alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.utils import timezone

from config.common.times import to_milliseconds
from sensors.events import SignalEvent
from sensors.heartbeat.clock import clock
from sensors.ingest.fold import State, fold
from sensors.ingest.rejections import record_rejections
from sensors.ingest.repeats import record_repeats
from sensors.ingest.signals import Code, Rejection, Signal
from sensors.ingest.state_rows import lock_states, recall_pages, write_states
from sensors.models import Sensor
from sensors.services.publish import publish_sensor_events


@dataclass
class Applied:
    """The outcome of a batch: the accepted signals, and the refusals by their place in the batch."""

    accepted: list[Signal] = field(default_factory=list)
    refused: dict[int, Rejection] = field(default_factory=dict)


def apply_signals(
    signals: Sequence[Signal | Rejection], *, also: Callable[[list[Signal]], None] | None = None
) -> Applied:
    """Fold the signals in order of arrival into the states of their sensors, and publish the events they cause.

    `also` is called with the accepted signals inside the same transaction.

    A crash anywhere in here changes nothing, and a second run of the same batch neither: the memory of a sensor
    recognises the signals that it has sent before.
    """
    now = timezone.now()
    with transaction.atomic():
        readable = [each for each in signals if isinstance(each, Signal)]
        states, inactive = lock_states(each.sensor_id for each in readable)
        recall_pages(states, readable)
        # The clock is read under the lock: of two batches with one sensor the later one has the later time.
        applied, events = _fold_all(signals, states, inactive, heard_at=to_milliseconds(clock.now()))
        write_states([states[sensor_id] for sensor_id in sorted({each.sensor_id for each in applied.accepted})])
        publish_sensor_events(events, now=now)
        if applied.refused:
            record_rejections(applied.refused.values(), now=now)
        repeated = [state.repeated for state in states.values() if state.repeated is not None]
        if repeated:
            record_repeats(repeated, now=now)
        if also is not None:
            also(applied.accepted)
    return applied


def refuse_unregistered(signals: Sequence[Signal | Rejection]) -> Applied:
    """Return which signals the queue may take: those whose sensors are registered and active. Nothing is applied."""
    sensor_ids = {each.sensor_id for each in signals if isinstance(each, Signal)}
    active = dict(Sensor.objects.filter(pk__in=sensor_ids).values_list("pk", "active"))
    applied = Applied()
    for index, signal in enumerate(signals):
        refusal = _refusal(index, signal, active)
        if refusal is not None:
            applied.refused[index] = refusal
        elif isinstance(signal, Signal):
            applied.accepted.append(signal)
    return applied


def _fold_all(
    signals: Sequence[Signal | Rejection], states: dict[str, State], inactive: set[str], *, heard_at: int
) -> tuple[Applied, list[SignalEvent]]:
    applied, events = Applied(), list[SignalEvent]()
    active = {sensor_id: sensor_id not in inactive for sensor_id in states}
    for index, signal in enumerate(signals):
        refusal = _refusal(index, signal, active)
        if refusal is not None:
            applied.refused[index] = refusal
        elif isinstance(signal, Signal):
            applied.accepted.append(signal)
            events += fold(states[signal.sensor_id], signal, heard_at)
    return applied, events


def _refusal(index: int, signal: Signal | Rejection, active: dict[str, bool]) -> Rejection | None:
    if isinstance(signal, Rejection):
        return signal
    if signal.sensor_id not in active:
        return _refuse(index, signal, Code.UNKNOWN_SENSOR, "no such sensor is registered")
    if not active[signal.sensor_id]:
        return _refuse(index, signal, Code.INACTIVE_SENSOR, "the sensor is not active")
    return None


def _refuse(index: int, signal: Signal, code: Code, message: str) -> Rejection:
    raw = f'{{"sensor_id":"{signal.sensor_id}","data":{signal.data},"at":{signal.at},"id":"{signal.id}"}}'
    return Rejection(index, code, message, signal.sensor_id, raw, signal.correlation_id)
