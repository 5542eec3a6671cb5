"""How PostgreSQL would answer the statements that a piece of code runs."""

from collections.abc import Callable
from typing import Any

from django.db import connection


def explain_statements(run: Callable[[], object], *, about: str) -> list[str]:
    """Run the code and return the plans of the statements that name a table or column."""
    statements: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if about in sql:
            statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        run()
    plans = []
    with connection.cursor() as cursor:
        for sql, params in statements:
            cursor.execute(f"EXPLAIN {sql}", params)
            plans.append("\n".join(line for (line,) in cursor.fetchall()))
    return plans
