"""Numbers that a restored database would issue a second time: its sequences are advanced past those issued since."""

from collections.abc import Mapping
from datetime import UTC, datetime

from django.apps import apps
from django.db import connection, transaction

SHOWN = (
    "notifications.Delivery",
    "notifications.Alert",
    "notifications.RepeatSession",
    "notifications.Incident",
    "records.ChangeRecord",
    "records.LogEntry",
    "sensors.Client",
    "sensors.RejectedSignal",
)
"""Tables whose numbers others see: in REST, in a session's webhook, in mails. More are registered by their apps."""
SINCE = datetime(2020, 1, 1, tzinfo=UTC)
PER_SECOND = 1000
"""No table gives more numbers than that for long: those given after this moment are greater than any given before."""


LONGEST_TABLE = 56
"""Of a longer name PostgreSQL takes this much into the name of its sequence."""

_registered: list[str] = []


def register_shown(*labels: str) -> None:
    """Register tables whose numbers others see or keep."""
    _registered.extend(labels)


def last_issued_numbers() -> dict[str, int]:
    """Return the highest number that each of the tables has issued."""
    sequences = {table: _sequence_of(table) for table in _tables()}
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT sequencename, last_value FROM pg_sequences"
                " WHERE schemaname = current_schema() AND sequencename = ANY(%s)",
                [list(sequences.values())],
            )
        else:
            cursor.execute("SELECT name, seq FROM sqlite_sequence")
        found = dict(cursor.fetchall())
    return {table: found.get(sequence) or 0 for table, sequence in sequences.items()}


@transaction.atomic
def advance_sequences(*, at: datetime, known: Mapping[str, int] | None = None) -> None:
    """Advance the sequences past every number that anybody may have seen, however old the restored copy is.

    `known` are numbers that are known to have been given, by table: a clock that was set back may be behind them.
    """
    least = int((at - SINCE).total_seconds() * PER_SECOND)
    least_numbers = {table: max(least, (known or {}).get(table, 0)) for table in _tables()}
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT setval(format('%%I.%%I', schemaname, sequencename)::regclass,"
                " greatest(coalesce(last_value, 0), least))"
                " FROM pg_sequences JOIN unnest(%s::text[], %s::bigint[]) AS least_numbers (name, least)"
                " ON sequencename = name WHERE schemaname = current_schema()",
                [[_sequence_of(table) for table in least_numbers], list(least_numbers.values())],
            )
            return
        for table, number in least_numbers.items():
            cursor.execute("UPDATE sqlite_sequence SET seq = max(seq, %s) WHERE name = %s", [number, table])
            if not cursor.rowcount:
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, number])


def _tables() -> list[str]:
    return [apps.get_model(label)._meta.db_table for label in (*SHOWN, *_registered)]


def _sequence_of(table: str) -> str:
    return f"{table[:LONGEST_TABLE]}_id_seq" if connection.vendor == "postgresql" else table
