"""Import sensors from a file: new ones are registered, known ones changed, all bad lines reported.

All or nothing, unless whoever imports has asked for the good lines alone.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from sensors.errors import BadLines, LineFault, RegistryMoved
from sensors.services.changes import SensorChange, write_changes
from sensors.services.locks import find_clients_named, find_missing_clients, lock_sensors, read_sensor_values
from sensors.services.rules import LONGEST_NAME, Faults, id_faults, missing_clients_fault, sensor_faults
from sensors.services.sheets import COLUMNS, PASSED_OVER, Line, read_sheet
from sensors.services.values import SensorEdits, SensorValues

YES, NO = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})

_SEPARATOR = ";"
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class PlannedLine:
    """The change that a line would make."""

    line: int
    id: str
    before: SensorValues | None
    after: SensorValues
    edits: SensorEdits

    @property
    def is_change(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class ImportPlan:
    lines: list[PlannedLine]
    faults: list[LineFault]

    @property
    def bad(self) -> int:
        """How many lines break a rule."""
        return len({fault.line for fault in self.faults})

    def report(self) -> "ImportReport":
        created = sum(line.before is None for line in self.lines)
        changed = sum(line.is_change for line in self.lines) - created
        return ImportReport(created, changed, len(self.lines) - created - changed)


@dataclass(frozen=True)
class ImportReport:
    created: int
    changed: int
    unchanged: int

    def __add__(self, other: "ImportReport") -> "ImportReport":
        return ImportReport(
            self.created + other.created, self.changed + other.changed, self.unchanged + other.unchanged
        )


@dataclass(frozen=True)
class _ParsedLine:
    """A line: its edits, the clients that it calls by name, and the rules that its cells break."""

    line: int
    id: str
    edits: SensorEdits
    names: list[str]
    faults: Faults


def plan_import(content: bytes) -> ImportPlan:
    """Return what an import of this file would do, and its faults; changes nothing."""
    lines = read_sheet(content)
    first_lines: dict[str, int] = {}
    for line in lines:
        first_lines.setdefault(line.id, line.number)
    return plan_lines(lines, first_lines)


def plan_lines(lines: Iterable[Line], first_lines: Mapping[str, int]) -> ImportPlan:
    """Return what these lines would do; `first_lines` has the line in which each id stands first."""
    parsed = [_parse_line(line, first_lines.get(line.id, line.number)) for line in lines]
    named = find_clients_named({name for each in parsed for name in each.names})
    for each in parsed:
        _resolve_names(each, named)
    missing = find_missing_clients({client_id for each in parsed for client_id in each.edits.get("clients", [])})
    return _plan(parsed, read_sensor_values([each.id for each in parsed]), missing)


def import_sensors(
    *, content: bytes, actor: str, progress: Callable[[int, int], None] = lambda done, total: None
) -> ImportReport:
    """Import the file in one transaction.

    Raise `BadLines` for a single bad line, `RegistryMoved` where somebody else registers the same sensors meanwhile.
    """
    plan = plan_import(content)
    if plan.faults:
        raise BadLines(plan.faults)
    return _write(plan, actor=actor, progress=progress)


def import_good_lines(*, content: bytes, actor: str) -> tuple[ImportReport, ImportPlan]:
    """Import the lines that break no rule, in one transaction; return the report, and the plan with the other lines.

    A second time it changes nothing: what was imported is then as the file says.
    """
    plan = plan_import(content)
    return _write(plan, actor=actor), plan


def list_refused(content: bytes, plan: ImportPlan) -> Iterator[list[str | int]]:
    """Yield the refused lines as a table: number, reasons, and the cells as they stood.

    The columns `line` and `reason` are passed over by the import: the table can be mended and uploaded as it is.
    """
    reasons: dict[int, list[str]] = {}
    for fault in plan.faults:
        reasons.setdefault(fault.line, []).append(f"{fault.field}: {fault.rule}")
    yield [*PASSED_OVER, *COLUMNS]
    for line in read_sheet(content):
        if line.number in reasons:
            yield [line.number, " ".join(reasons[line.number]), *(line.cells.get(name, "") for name in COLUMNS)]


def _write(
    plan: ImportPlan, *, actor: str, progress: Callable[[int, int], None] = lambda done, total: None
) -> ImportReport:
    try:
        with transaction.atomic():
            changes = lock_changes([(line.id, line.edits) for line in plan.lines if line.is_change])
            done = write_changes(changes, actor=actor, progress=progress)
    except IntegrityError as error:  # an id was registered by somebody else after the plan
        raise RegistryMoved from error
    created = sum(change.locked is None for change in changes)
    return ImportReport(created, done - created, len(plan.lines) - done)


def lock_changes(edits_by_id: Sequence[tuple[str, SensorEdits]]) -> list[SensorChange]:
    """Lock the sensors that will change and return the changes; what others changed since the plan was made stays."""
    locked = lock_sensors([sensor_id for sensor_id, _ in edits_by_id])
    changes = []
    for sensor_id, edits in edits_by_id:
        sensor = locked.get(sensor_id)
        after = _apply(None if sensor is None else sensor.values, edits)
        changes.append(SensorChange(sensor_id, after, sensor))
    return changes


def _parse_line(line: Line, first: int) -> _ParsedLine:
    edits, faults = _parse_cells(line)
    names: list[str] = []
    if "clients" in line.cells:
        edits["clients"], names = _parse_clients(line.cells["clients"])
    faults |= id_faults(line.id)
    if first != line.number:
        faults["id"] = [gettext("Duplicate of line %(line)d.") % {"line": first}]
    return _ParsedLine(line.number, line.id, edits, names, faults)


def _parse_cells(line: Line) -> tuple[SensorEdits, Faults]:
    """Return the edits of a line, and its faults; a missing column, or an empty number or flag, changes nothing."""
    cells, edits, faults = line.cells, SensorEdits(), Faults()
    if line.has_more:
        faults["line"] = [gettext("Has more cells than the first line.")]
    if "address" in cells:
        edits["address"] = cells["address"]
    if "notes" in cells:
        edits["notes"] = cells["notes"]
    if active := cells.get("active", "").lower():
        edits["active"] = active in YES
        if active not in YES | NO:
            faults["active"] = [gettext("Must be true or false.")]
    if timeout := cells.get("heartbeat_timeout", ""):
        edits["heartbeat_timeout"] = int(timeout) if _NUMBER.fullmatch(timeout) else 0
    if "open_limit" in cells:
        limit = cells["open_limit"]
        edits["open_limit"] = (int(limit) if _NUMBER.fullmatch(limit) else 0) if limit else None
    return edits, faults


def _parse_clients(cell: str) -> tuple[list[int], list[str]]:
    """Return the ids and the names in a cell: parts between semicolons, each of them a name or ids between spaces."""
    ids, names = set[int](), list[str]()
    for part in cell.split(_SEPARATOR):
        words = part.split()
        if all(_NUMBER.fullmatch(word) for word in words):
            ids.update(map(int, words))
        else:
            names.append(part.strip())
    return sorted(ids), names


def _resolve_names(each: _ParsedLine, named: Mapping[str, list[int]]) -> None:
    """Put the clients that the line calls by name among its edits; a name that is not that of one client is a fault."""
    for name in each.names:
        found = named.get(name, [])
        if len(found) == 1:
            each.edits["clients"] = sorted({*each.edits["clients"], *found})
        elif found:
            words = gettext("There are several clients named “%(name)s”: enter the id of one.")
            each.faults["clients"] = [words % {"name": name[:LONGEST_NAME]}]
        else:
            words = gettext("No client is named “%(name)s”.")
            each.faults["clients"] = [words % {"name": name[:LONGEST_NAME]}]


def _plan(parsed: Iterable[_ParsedLine], current: dict[str, SensorValues], missing: set[int]) -> ImportPlan:
    lines, faults = list[PlannedLine](), list[LineFault]()
    for each in parsed:
        before = current.get(each.id)
        after = _apply(before, each.edits)
        broken = sensor_faults(after)
        if not missing.isdisjoint(after.clients):
            broken |= missing_clients_fault(missing.intersection(after.clients))
        broken |= each.faults
        if broken:
            faults += [LineFault(each.line, field, rule) for field, rules in broken.items() for rule in rules]
        else:
            lines.append(PlannedLine(each.line, each.id, before, after, each.edits))
    return ImportPlan(lines, faults)


def _apply(before: SensorValues | None, edits: SensorEdits) -> SensorValues:
    return SensorValues(**edits) if before is None else replace(before, **edits)
