"""Import sensors from a file, all or nothing: new ones are registered, known ones changed, all bad lines reported."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from sensors.errors import BadLines, LineFault, RegistryMoved
from sensors.services.changes import SensorChange, write_changes
from sensors.services.locks import find_missing_clients, lock_sensors, read_sensor_values
from sensors.services.rules import Faults, id_faults, missing_clients_fault, sensor_faults
from sensors.services.sheets import Line, read_sheet
from sensors.services.values import SensorEdits, SensorValues

YES, NO = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})

_SEPARATORS = re.compile(r"[\s;]+")
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
    """A line: its edits, and the rules that its cells break."""

    line: int
    id: str
    edits: SensorEdits
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
    faults |= id_faults(line.id)
    if first != line.number:
        faults["id"] = [gettext("Stands in line %(line)d already.") % {"line": first}]
    return _ParsedLine(line.number, line.id, edits, faults)


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
    if "clients" in cells:
        names = [name for name in _SEPARATORS.split(cells["clients"]) if name]
        edits["clients"] = sorted({int(name) for name in names if _NUMBER.fullmatch(name)})
        if not all(_NUMBER.fullmatch(name) for name in names):
            faults["clients"] = [gettext("Must be ids of clients, separated by spaces or semicolons.")]
    return edits, faults


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
