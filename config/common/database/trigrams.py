"""Indexes by which PostgreSQL finds a part of a text: `icontains` on a column of a large table."""

import structlog
from django.db import DatabaseError, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

log = structlog.get_logger(__name__)


def create_trigram_index(
    schema_editor: BaseDatabaseSchemaEditor, name: str, *, table: str, column: str, condition: str = ""
) -> None:
    """Index the parts of a column, for a migration; on SQLite do nothing.

    With a condition of SQL the rows alone for which it holds.

    The extension comes with PostgreSQL and needs no superuser. Where the account may not create it, there is no index:
    the search looks for as long as it may and says so.
    """
    connection = schema_editor.connection
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        try:
            with transaction.atomic(using=connection.alias):
                cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        except DatabaseError as error:
            log.warning("database.no_trigrams", index=name, error=str(error))
            return
        # As Django writes `icontains`.
        cursor.execute(
            f'CREATE INDEX IF NOT EXISTS "{name}" ON "{table}" USING gin (upper("{column}"::text) gin_trgm_ops)'
            f"{f' WHERE {condition}' if condition else ''}"
        )


def drop_trigram_index(schema_editor: BaseDatabaseSchemaEditor, name: str) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f'DROP INDEX IF EXISTS "{name}"')
