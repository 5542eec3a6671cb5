"""Checks of an entity whose rows are a tree: over the rows as they are and as the change set has left them so far."""

from collections.abc import Collection
from typing import Any

from django.db import connection
from django.utils.translation import gettext_noop

from config.common.database.sql import in_number_array, load_sql
from processes.coordination.models.writer import TABLES
from processes.coordination.schema.entities import Entity, Values


class Tree:
    """The parents of an entity's rows, read as they are needed, with the changes of a set laid over them."""

    def __init__(self, entity: Entity) -> None:
        assert entity.parent is not None
        self._column = entity.parent
        self._rows = TABLES[entity.name].objects
        # The names are those of the model, never a caller's.
        self._line_up_statement = load_sql("processes.coordination", "line_up").format(
            table=TABLES[entity.name]._meta.db_table, parent=self._column.attribute
        )
        self._parents: dict[int, int | None] = {}
        """By row, for rows that exist in the database or by this change set."""
        self._gone: set[int] = set()
        self._parents_of_new: set[int | None] = set()

    def fault(self, id: int | None, before: Values | None, after: Values | None) -> str:
        """Return why a change would break the tree, as a source text, or an empty text. A new row has no `id`."""
        if after is None:
            has_child = id is not None and self._has_child(id)
            return gettext_noop("Has children: delete or move them first.") if has_child else ""
        parent = after[self._column.name]
        if parent is None or (before is not None and before[self._column.name] == parent):
            return ""
        if not self._is_there(parent):
            return gettext_noop("Row not found.")
        if id is not None and id in self._line_up(parent):
            return gettext_noop("Is a descendant of this row: that would make a cycle.")
        return ""

    def change(self, id: int | None, after: Values | None) -> None:
        if id is None:
            self._parents_of_new.add(after[self._column.name] if after else None)
        elif after is None:
            self._gone.add(id)
            self._parents.pop(id, None)
        else:
            self._gone.discard(id)
            self._parents[id] = after[self._column.name]

    def _has_child(self, id: int) -> bool:
        if id in self._parents_of_new or any(parent == id for parent in self._parents.values()):
            return True
        children = self._rows.filter(**{self._column.attribute: id}).values_list("pk", flat=True)
        return any(child not in self._parents and child not in self._gone for child in children.iterator())

    def _is_there(self, id: int) -> bool:
        return id in self._line_up(id)

    def _line_up(self, id: int) -> dict[int, None]:
        """Return a row and all above it; a circle is gone round once."""
        line: dict[int, None] = {}  # in order, and quick to ask
        current: int | None = id
        while current is not None and current not in self._gone and current not in line:
            if current not in self._parents:
                self._load(current)
            if current not in self._parents:
                break
            line[current] = None
            current = self._parents[current]
        return line

    def _load(self, id: int) -> None:
        """Read a row and all above it in one statement."""
        with connection.cursor() as cursor:
            cursor.execute(self._line_up_statement, [id])
            for row, parent in cursor.fetchall():
                if row not in self._gone:
                    self._parents.setdefault(row, parent)


def lock_rows(entity: Entity, ids: Collection[int]) -> dict[int, Any]:
    """Lock rows until the end of the transaction, in the order of their ids."""
    if not ids:
        return {}
    rows = TABLES[entity.name].objects.select_for_update()
    return {row.pk: row for row in rows.filter(pk__in=in_number_array(sorted(set(ids)))).order_by("pk")}
