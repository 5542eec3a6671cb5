"""SQL statements by name: one statement a file, in the `sql` folder of the package that runs it."""

from functools import cache
from importlib import resources

from django.db import connection


@cache
def load(package: str, name: str) -> str:
    """Return the text of `<package>/sql/<name>.sql`."""
    return (resources.files(package) / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def load_for_engine(package: str, name: str) -> str:
    """Return `<name>.postgresql.sql` or `<name>.sqlite.sql`, where one statement cannot serve both."""
    return load(package, f"{name}.{connection.vendor}")
