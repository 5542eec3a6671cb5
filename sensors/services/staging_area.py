"""Stage the lines of a file on disk between their check and their import, whatever their number.

A temporary database of SQLite does it, whichever engine keeps the registry: it has no name, is private to this
process, needs two megabytes of memory and is gone when it is closed. It finds an id that stands in the file twice, and
returns the lines in order of id. To read from it inside a transaction of the registry takes no lock there.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

from config.common.errors import DiskFull
from sensors.services.rules import id_faults
from sensors.services.sheets import Line
from sensors.services.values import SensorEdits

StagedLine = tuple[str, SensorEdits]


class Staging:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        # A line without edits changes nothing.
        database.execute("CREATE TABLE lines (id text PRIMARY KEY, line integer, edits text) WITHOUT ROWID")

    def add(self, lines: Sequence[Line]) -> dict[str, int]:
        """Store where ids stand; return the line in which each of them stands first. Malformed ids are left out."""
        places = [(line.id, line.number) for line in lines if not id_faults(line.id)]
        self._database.executemany("INSERT OR IGNORE INTO lines (id, line) VALUES (?, ?)", places)
        ids = json.dumps([sensor_id for sensor_id, _ in places])
        return dict(
            self._database.execute("SELECT id, line FROM lines WHERE id IN (SELECT value FROM json_each(?))", [ids])
        )

    def set_edits(self, lines: Iterable[StagedLine]) -> None:
        rows = ((json.dumps(edits), sensor_id) for sensor_id, edits in lines)
        self._database.executemany("UPDATE lines SET edits = ? WHERE id = ?", rows)

    def parts(self, size: int) -> Iterator[list[StagedLine]]:
        """Yield the lines that have edits, in order of id."""
        query = "SELECT id, edits FROM lines WHERE id > ? AND edits IS NOT NULL ORDER BY id LIMIT ?"
        last = ""
        while rows := self._database.execute(query, [last, size]).fetchall():
            yield [(sensor_id, json.loads(edits)) for sensor_id, edits in rows]
            last = rows[-1][0]


@contextmanager
def open_staging() -> Iterator[Staging]:
    """Open an empty staging database; raise `DiskFull` where the temporary folder is full."""
    with closing(sqlite3.connect("")) as database:
        try:
            yield Staging(database)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise DiskFull from error
            raise
