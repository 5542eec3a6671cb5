"""Record which signals came again, so that "why was nobody told?" has an answer: history has a signal once."""

from collections.abc import Sequence
from datetime import datetime

from config.common.times import from_milliseconds
from sensors.ingest.signals import Signal
from sensors.models import RepeatedSignal

MOST_SENSORS = 100
"""So many sensors have a row in a minute; a broker that hands out a whole backlog again leaves no more than these.

Consumers do not wait for each other to keep it to the letter: those that write at the same moment may each fill the
room that is left.
"""


def record_repeats(repeated: Sequence[Signal], *, now: datetime) -> None:
    """Write the last repeat of each sensor into its row of this minute. The states of these sensors are locked."""
    minute = now.replace(second=0, microsecond=0)
    held = set(RepeatedSignal.objects.filter(recorded_at=minute).values_list("sensor_id", flat=True))
    fresh = sorted({signal.sensor_id for signal in repeated} - held)
    kept = held.union(fresh[: max(0, MOST_SENSORS - len(held))])
    # In order of id, so that two consumers never wait for each other in a circle.
    ordered = sorted(repeated, key=lambda signal: signal.sensor_id)
    RepeatedSignal.objects.bulk_create(
        [_row(signal, minute, now) for signal in ordered if signal.sensor_id in kept],
        update_conflicts=True,
        unique_fields=["recorded_at", "sensor_id"],
        update_fields=["signal_at", "signal_id", "last_at"],
    )


def _row(signal: Signal, minute: datetime, now: datetime) -> RepeatedSignal:
    return RepeatedSignal(
        recorded_at=minute,
        sensor_id=signal.sensor_id,
        signal_at=from_milliseconds(signal.at),
        signal_id=signal.id,
        last_at=now,
    )
