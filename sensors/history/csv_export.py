"""Export history as CSV, in pieces: however long it is, only one piece is in memory."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from sensors.history.queries import PastSignal, read_changes, read_signals
from sensors.history.values import Period, Sensors, format_milliseconds
from sensors.services.sheets import write_csv

COLUMNS = ("sensor_id", "at", "data", "changed", "id", "received_at")
ROWS_AT_ONCE = 2000


def export_history(sensors: Sensors, period: Period, *, only_changes: bool) -> Iterator[bytes]:
    """Yield the table, newest first; cells that a spreadsheet would run as a formula are escaped."""
    read: Any = read_changes if only_changes else read_signals
    rows: list[PastSignal] = read(sensors, period, limit=ROWS_AT_ONCE)
    yield write_csv(chain([COLUMNS], map(_cells, rows)))
    while len(rows) == ROWS_AT_ONCE:
        rows = read(sensors, period, before=rows[-1].key, limit=ROWS_AT_ONCE)
        yield write_csv(map(_cells, rows))


def read_first_piece(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Return the same pieces with the first read now: what fails is then an error, not a table that breaks off."""
    return chain([next(pieces)], pieces)


def _cells(row: PastSignal) -> Iterable[object]:
    signal = row.signal
    return (
        signal.sensor_id,
        format_milliseconds(signal.at),
        signal.data,
        "true" if row.changed else "false",
        signal.id,
        format_milliseconds(signal.received_at),
    )
