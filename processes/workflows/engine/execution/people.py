"""Whose a task is when it opens, and how it is told apart: expressions of the file become names and times.

A task opens also where such an expression fails: it then has nobody, or no date, and a note that says why. Work that
has come this far must not stand still for a missing name, and whoever sees the note can assign it.
"""

from datetime import datetime
from typing import Any

from processes.workflows.engine.definition import MAX_CANDIDATES, Node, TextValue
from processes.workflows.engine.execution.records import PeopleRecord, TaskRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import try_evaluate
from processes.workflows.engine.expressions import Expression, ExpressionFailed
from processes.workflows.engine.iso import NotIso, parse_datetime, parse_duration

LONGEST_NAME = 150
LONGEST_DETAIL = 100
LONGEST_NOTE = 300
MOST_NOTES = 5
LOWEST_PRIORITY, HIGHEST_PRIORITY = -32_768, 32_767


def describe_people(work: UnitOfWork, task: TaskRecord, node: Node) -> None:
    """Add to the record of a new task which round it is, whose it is and by when."""
    detail = _describe_round(work, task["scope"], node)
    if detail:
        task["detail"] = detail
    if node.people is None:
        return
    reader = _Reader(work, task)
    people = reader.read(node)
    if people:
        work.budget.add_size(work.budget.measure(people, node.id), node.id)
        task["people"] = people


def _describe_round(work: UnitOfWork, scope: str, node: Node) -> str:
    """Return what tells a round of a loop from the others: its element of the collection, else its number."""
    record = work.scopes[scope]
    if node.loop is None or "round" not in record:
        return ""
    item = record["variables"].get(node.loop.item) if node.loop.item else None
    if isinstance(item, dict):
        item = next((item[key] for key in ("name", "title", "label", "id") if isinstance(item.get(key), str | int)), "")
    if isinstance(item, str | int | float) and not isinstance(item, bool) and str(item).strip():
        return " ".join(str(item).split())[:LONGEST_DETAIL]
    total = work.loops[record["loop"]]["total"]
    return f"{record['round']}/{total}" if total else str(record["round"])


class _Reader:
    """Evaluates what the file says of one task; what fails becomes a note."""

    def __init__(self, work: UnitOfWork, task: TaskRecord) -> None:
        self.work, self.scope, self.element = work, task["scope"], task["element"]
        self.since = datetime.fromisoformat(task["since"])
        self.notes: list[str] = []

    def read(self, node: Node) -> PeopleRecord:
        said = node.people
        assert said is not None
        found: dict[str, Any] = {
            "assignee": next(iter(self._names("assignee", (said.assignee,) if said.assignee else ())), ""),
            "users": self._names("candidateUsers", said.users),
            "groups": self._names("candidateGroups", said.groups),
            "due": self._time("dueDate", said.due),
            "follow_up": self._time("followUpDate", said.follow_up),
            "priority": self._priority(said.priority),
            "notes": self.notes,
        }
        return {name: value for name, value in found.items() if value or value == 0}  # type: ignore[return-value]

    def _names(self, what: str, values: tuple[TextValue, ...]) -> list[str]:
        names: list[str] = []
        for value in values:
            result = self._evaluate(what, value)
            for each in result if isinstance(result, list) else [result]:
                # An expression may give several names in one text, as it does in other engines.
                texts = each.split(",") if isinstance(each, str) and value.expression is not None else [each]
                names += filter(None, (self._name(what, text) for text in texts))
        names = list(dict.fromkeys(names))
        if len(names) > MAX_CANDIDATES:
            self._note(what, f"there are {len(names)} names; the first {MAX_CANDIDATES} are kept")
        return names[:MAX_CANDIDATES]

    def _name(self, what: str, value: Any) -> str:
        if value is None or value == "":
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            self._note(what, "the value is not a name")
            return ""
        name = " ".join(str(value).split())
        if len(name) > LONGEST_NAME:
            self._note(what, f"the name has more than {LONGEST_NAME} characters")
        return name[:LONGEST_NAME]

    def _time(self, what: str, value: TextValue | None) -> str:
        result = self._evaluate(what, value) if value is not None else None
        if result is None or result == "":
            return ""
        try:
            if not isinstance(result, str):
                raise NotIso("A time is written like 2030-01-31T08:00:00Z, or as a duration like P2D.")
            time = parse_duration(result).after(self.since) if result.startswith("P") else parse_datetime(result)
        except NotIso as error:
            self._note(what, f"{str(result)[:60]}: {error}")
            return ""
        return time.isoformat()

    def _priority(self, value: TextValue | None) -> int | None:
        result = self._evaluate("priority", value) if value is not None else None
        if result is None or result == "":
            return None
        try:
            number = int(str(result)) if not isinstance(result, float) else int(result)
        except (ValueError, OverflowError):
            self._note("priority", f"{str(result)[:60]} is not a whole number")
            return None
        return max(LOWEST_PRIORITY, min(HIGHEST_PRIORITY, number))

    def _evaluate(self, what: str, value: TextValue) -> Any:
        try:
            if value.expression is not None:
                return try_evaluate(self.work, value.expression, self.scope, self.element)
            return "".join(map(self._text, value.parts))
        except ExpressionFailed as failed:
            self._note(what, failed.reason)
            return None

    def _text(self, part: str | Expression) -> str:
        if isinstance(part, Expression):
            result = try_evaluate(self.work, part, self.scope, self.element)
            return "" if result is None else str(result)
        if part.startswith(("=", "${", "#{")):  # of another tool, and beyond our language
            raise ExpressionFailed(f"{part[:100]} cannot be evaluated here")
        return part

    def _note(self, what: str, reason: str) -> None:
        if len(self.notes) < MOST_NOTES:
            self.notes.append(f"{what}: {reason}"[:LONGEST_NOTE])
