"""Many copies of one row, written by the server itself: the quickest way into a table that exists.

COPY would have every row made here and sent; `INSERT … SELECT generate_series` has the server make them, from one row
of the model and expressions for what differs. The row goes through the fields of its model, so a column that the model
gains is filled as the model says, and the checks of the database hold as for any other row.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.color import no_style
from django.db import connection
from django.db.models import AutoField, Field, Model
from django.db.models.expressions import DatabaseDefault


def spread(row: Model, copies: int, /, **columns: str) -> None:
    """Insert so many copies of the row; `columns` are expressions over `n`, which counts from 1."""
    names, terms, values = list[str](), list[str](), list[Any]()
    for field in row._meta.local_concrete_fields:
        name = str(field.column)
        if name in columns:
            names.append(name)
            terms.append(f"({columns.pop(name)})")
        elif not _is_left_to_database(field, row):
            names.append(name)
            terms.append(f"%s::{field.cast_db_type(connection)}")
            values.append(field.get_db_prep_save(getattr(row, field.attname), connection))
    if columns:
        raise ValueError(f"{row._meta.label} has no {', '.join(columns)}")
    listed = ", ".join(f'"{name}"' for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO "{row._meta.db_table}" ({listed}) SELECT {", ".join(terms)} FROM generate_series(1, %s) n',
            [*values, copies],
        )


def _is_left_to_database(field: "Field[Any, Any]", row: Model) -> bool:
    value = getattr(row, field.attname)
    return isinstance(value, DatabaseDefault) or (isinstance(field, AutoField) and value is None)


@contextmanager
def without_key_checks() -> Iterator[None]:
    """Write rows whose foreign keys are right by construction: millions of deferred checks would not fit in memory."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")


def settle(*models: type[Model]) -> None:
    """Let the sequences go on behind the rows, and leave the tables as autovacuum leaves those that have stood a while.

    Until then nothing is answered from an index alone. Within a transaction, as a test has one, they are analyzed only.
    """
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(models)):
            cursor.execute(statement)
        # By name: else the catalogs that all databases of a server share are locked as well until the transaction ends,
        # and whoever does the same in another database waits for it.
        names = connection.introspection.django_table_names(only_existing=True, include_views=False)
        tables = ", ".join(map(connection.ops.quote_name, sorted(names)))
        cursor.execute(f"{'ANALYZE' if connection.in_atomic_block else 'VACUUM (ANALYZE)'} {tables}")
