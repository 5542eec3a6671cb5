"""Import a file of any size: read once, line by line, checked and written in parts.

The check puts the lines into a staging database on disk. Only when every line is good, or the bad ones are to be left
out, are they written, in one transaction: memory does not grow with the file. While it runs, the sensors that change
are locked, and with SQLite every other writer waits.
"""

import io
from collections.abc import Callable
from itertools import groupby, islice

from django.db import IntegrityError, connection, transaction

from config.common.database.sql import bulk_execute, load_sql
from sensors.errors import BadLines, LineFault, RegistryMoved
from sensors.services.changes import write_changes
from sensors.services.imports import ImportReport, lock_changes, plan_lines
from sensors.services.sheets import stream_sheet
from sensors.services.staging_area import Staging, open_staging

PART = 5000
BAD_LINES_NAMED = 100
"""How many bad lines are named; the others are counted."""


def check_file(stream: io.BufferedReader, *, checked: Callable[[int], None] = lambda rows: None) -> ImportReport:
    """Return what an import of this file would do; changes nothing. `checked` is called with the rows so far."""
    with open_staging() as staging:
        return _check(stream, staging, checked)


def import_file(
    stream: io.BufferedReader,
    *,
    actor: str,
    refuse: Callable[[LineFault], None] | None = None,
    checked: Callable[[int], None] = lambda rows: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ImportReport:
    """Import the file in one transaction; with `refuse` its good lines, and `refuse` is called with each fault.

    Raise `BadLines` for a single bad line without it, `RegistryMoved` where somebody else registers the same sensors
    meanwhile.
    """
    with open_staging() as staging:
        planned = _check(stream, staging, checked, refuse)
        try:
            with transaction.atomic():
                return _write(staging, planned, actor=actor, progress=progress)
        except IntegrityError as error:  # an id was registered by somebody else after the check
            raise RegistryMoved from error


def _check(
    stream: io.BufferedReader,
    staging: Staging,
    checked: Callable[[int], None],
    refuse: Callable[[LineFault], None] | None = None,
) -> ImportReport:
    report, faults, rows, bad = ImportReport(0, 0, 0), list[LineFault](), 0, 0
    lines = stream_sheet(stream)
    while part := list(islice(lines, PART)):
        plan = plan_lines(part, staging.add(part))
        if refuse is not None:
            for fault in plan.faults:
                refuse(fault)
        else:
            for _, of_line in groupby(plan.faults, key=lambda fault: fault.line):
                if bad < BAD_LINES_NAMED:
                    faults += of_line
                bad += 1
        staging.set_edits((line.id, line.edits) for line in plan.lines if line.is_change)
        report += plan.report()
        rows += len(part)
        checked(rows)
    if bad:
        raise BadLines(faults, bad=bad)
    return report


def _write(
    staging: Staging, planned: ImportReport, *, actor: str, progress: Callable[[int, int], None]
) -> ImportReport:
    total = planned.created + planned.changed
    created = written = done = 0
    _lock_states(staging)
    for part in staging.parts(PART):
        changes = lock_changes(part)
        written += write_changes(changes, actor=actor)
        created += sum(change.locked is None for change in changes)
        done += len(part)
        progress(done, total)
    return ImportReport(created, written - created, total + planned.unchanged - written)


def _lock_states(staging: Staging) -> None:
    """Lock all sensors that will change in one statement, in the order in which the ingest locks them.

    Part by part it would be the order of the parts, which need not be that of the database's collation: then an import
    and the ingest, or two imports, could wait for each other in a circle.
    """
    if connection.vendor != "postgresql":
        return  # SQLite has one writer
    with connection.cursor() as cursor:
        cursor.execute(load_sql("sensors", "create_import_ids.postgresql"))
        for part in staging.parts(PART):
            bulk_execute("sensors", "insert_import_ids", [(sensor_id,) for sensor_id, _ in part])
        cursor.execute(load_sql("sensors", "lock_import_states.postgresql"))
        cursor.execute(load_sql("sensors", "drop_import_ids.postgresql"))
