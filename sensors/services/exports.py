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
    """Yield the table in pieces, so that its length costs no memory; ids of clients are separated by spaces."""
    yield write_csv([COLUMNS])
    sensors = chosen.order_by("pk").values_list(*COLUMNS[:-1])
    rows = list(sensors[:ROWS_AT_ONCE])
    while rows:
        clients = clients_of([row[0] for row in rows])
        yield write_csv(
            (pk, address, notes, "true" if active else "false", timeout, " ".join(map(str, clients.get(pk, []))))
            for pk, address, notes, active, timeout in rows
        )
        rows = list(sensors.filter(pk__gt=rows[-1][0])[:ROWS_AT_ONCE]) if len(rows) == ROWS_AT_ONCE else []
