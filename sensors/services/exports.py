"""Export sensors as CSV, in the columns that the import takes."""

from collections.abc import Iterator

from django.db.models import QuerySet

from sensors.models import Sensor
from sensors.selectors import SensorFilter, clients_of, matching_sensors
from sensors.services.sheets import COLUMNS, write_csv

ROWS_AT_ONCE = 2000


def export_sensors(wanted: SensorFilter) -> Iterator[bytes]:
    return export_rows(matching_sensors(wanted))


def export_rows(wanted: QuerySet[Sensor]) -> Iterator[bytes]:
    """Yield the table piece by piece; the ids of a sensor's clients are separated by spaces."""
    yield write_csv([COLUMNS])
    sensors = wanted.order_by("pk").values_list(*COLUMNS[:-1])
    rows = list(sensors[:ROWS_AT_ONCE])
    while rows:
        clients = clients_of([row[0] for row in rows])
        yield write_csv(
            (pk, address, notes, "true" if active else "false", timeout, _join(clients.get(pk, [])))
            for pk, address, notes, active, timeout in rows
        )
        rows = list(sensors.filter(pk__gt=rows[-1][0])[:ROWS_AT_ONCE]) if len(rows) == ROWS_AT_ONCE else []


def _join(client_ids: list[int]) -> str:
    return " ".join(map(str, client_ids))
