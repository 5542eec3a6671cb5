"""The steps of an event that has ended, in a fifth of the room: nobody adds to them, and they are kept for months.

Packed they are still an object, so that a step that is noted all the same, by a message that comes very late, lies
beside them.
"""

from datetime import UTC, datetime, timedelta

from config.common.times import format_time, parse_time

PACKED = ""
"""The one key: the first time in milliseconds since 1970, then each step with the milliseconds after it."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def pack_steps(steps: dict[str, str]) -> dict[str, str]:
    """Return the steps with their times as distances from the first."""
    times = {number: (parse_time(at) - EPOCH) // MILLISECOND for number, at in unpack_steps(steps).items()}
    first = min(times.values(), default=0)
    return {PACKED: " ".join([str(first), *(f"{number}:{at - first}" for number, at in times.items())])}


def unpack_steps(steps: dict[str, str]) -> dict[str, str]:
    """Return the steps with their times, packed or not; of one that was noted again the first time holds."""
    if PACKED not in steps:
        return steps
    first, *packed = steps[PACKED].split()
    found = dict(part.split(":") for part in packed)
    times = {number: format_time(EPOCH + (int(first) + int(at)) * MILLISECOND) for number, at in found.items()}
    return {**{number: at for number, at in steps.items() if number != PACKED}, **times}
