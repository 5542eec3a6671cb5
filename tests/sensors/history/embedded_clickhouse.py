"""The current ClickHouse in this process, behind the part of the driver's interface that the store uses.

It shows that the statements which the release of 2018 accepts mean the same to the newest one.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from clickhouse_driver.util.escape import escape_params


class EmbeddedClient:
    def __init__(self, session: Any) -> None:
        self._session = session

    def execute(
        self,
        statement: str,
        values: Any = None,
        *,
        columnar: bool = False,
        external_tables: Sequence[dict[str, Any]] | None = None,
    ) -> list[tuple[Any, ...]]:
        if columnar:
            return self._insert(statement, values)
        with self._tables(external_tables or ()):
            return self._ask(statement % escape_params(values, None) if values else statement)

    def disconnect(self) -> None:
        """There is no connection."""

    def _insert(self, statement: str, columns: list[list[Any]]) -> list[tuple[Any, ...]]:
        head = statement.strip().removesuffix("VALUES")
        lines = "\n".join(json.dumps(row) for row in zip(*columns, strict=True))
        return self._ask(f"{head} FORMAT JSONCompactEachRow\n{lines}")

    @contextmanager
    def _tables(self, tables: Sequence[dict[str, Any]]) -> Iterator[None]:
        for table in tables:
            columns = ", ".join(f"{name} {kind}" for name, kind in table["structure"])
            self._ask(f"CREATE TABLE {table['name']} ({columns}) ENGINE = Memory")
            values = [[row[name] for row in table["data"]] for name, _ in table["structure"]]
            self._insert(f"INSERT INTO {table['name']} VALUES", values)
        try:
            yield
        finally:
            for table in tables:
                self._ask(f"DROP TABLE {table['name']}")

    def _ask(self, statement: str) -> list[tuple[Any, ...]]:
        answer = self._session.query(statement, "JSONCompact").bytes()
        if not answer.strip():
            return []
        parsed = json.loads(answer)
        numbers = [column["type"].startswith(("UInt", "Int")) for column in parsed["meta"]]
        return [
            tuple(int(cell) if number else cell for cell, number in zip(row, numbers, strict=True))
            for row in parsed["data"]
        ]
