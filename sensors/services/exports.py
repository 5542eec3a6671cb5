"""Export sensors as CSV, in the columns that the import reads."""

from collections.abc import Iterator

from django.db.models import QuerySet

from sensors.models import Sensor
from sensors.selectors import SensorFilter, clients_of, matching_sensors
from sensors.services.sheets import COLUMNS, write_csv

ROWS_AT_ONCE = 2000


def export_sensors(chosen: SensorFilter) -> Iterator[bytes]:
    return export_rows(matching_sensors(chosen))


def export_rows(chosen: QuerySet[Sensor]) -> Iterator[bytes]:
    """Yield the table in pieces, so that its length costs no memory; ids of clients are separated by spaces.

    The column of open limits is there where a sensor has one: to all others the table is what it always was.
    """
    has_limits = chosen.filter(open_limit__isnull=False).exists()
    columns = COLUMNS if has_limits else COLUMNS[:-1]
    yield write_csv([columns])
    sensors = chosen.order_by("pk").values_list(*(name for name in COLUMNS if name != "clients"))
    rows = list(sensors[:ROWS_AT_ONCE])
    while rows:
        clients = clients_of([row[0] for row in rows])
        lines = (
            (pk, address, notes, "true" if active else "false", timeout, " ".join(map(str, clients.get(pk, []))), limit)
            for pk, address, notes, active, timeout, limit in rows
        )
        yield write_csv(line[: len(columns)] for line in lines)
        rows = list(sensors.filter(pk__gt=rows[-1][0])[:ROWS_AT_ONCE]) if len(rows) == ROWS_AT_ONCE else []
