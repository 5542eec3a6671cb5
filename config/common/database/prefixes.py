"""Indexes by which an id is found by how it begins, whatever its case: people type it from memory."""

from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def create_prefix_index(schema_editor: BaseDatabaseSchemaEditor, name: str, *, table: str, column: str) -> None:
    """Index a column of ASCII texts by their capital letters, for a migration."""
    # On PostgreSQL by characters: in the order of a language those that begin alike are no range.
    by = " text_pattern_ops" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f'CREATE INDEX IF NOT EXISTS "{name}" ON "{table}" (upper("{column}"){by})')


def drop_prefix_index(schema_editor: BaseDatabaseSchemaEditor, name: str) -> None:
    schema_editor.execute(f'DROP INDEX IF EXISTS "{name}"')
