"""Find the mechanisms of the product by their marks: each needs a row of the table, or a reason to have none.

A mark is what nobody writes but to keep a promise: a lock, a lease, a fence, a unique constraint, an insert that
passes over what is there, an acknowledgement, a sync of the disk. What is found is named by its module and function,
so that code may move within a function without a change here.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import ROOT, Change

PRODUCT = ("config", "sensors", "notifications", "messaging", "processes")
NOT_THE_PRODUCT = ("migrations", "simulation", "reference", "demo")
"""Folders of what is made by Django, and of what stands in for devices, sensors and an ERP."""
LEASES = "config.common.database.leases"
TAKES_BACK = {"finish", "renew"}
"""The writes under a fence. `claim` itself is proved where it is written."""
SYNCS = {"fsync", "sync_folder", "_sync_each"}
PASSES_OVER = {"ignore_conflicts", "unless_there"}
LOCK, LEASE, FENCE, ONCE, ACK, SYNC = "lock", "lease", "fence", "once", "acknowledgement", "sync"
IN_SQL = {
    LOCK: re.compile(r"\bFOR (NO KEY )?UPDATE\b|\bLOCK TABLE\b|advisory_(xact_)?lock"),
    FENCE: re.compile(r"\bfence = |USING \(id, (fence|change)\)"),
    ONCE: re.compile(r"\bON CONFLICT\b"),
}


@dataclass(frozen=True)
class Mechanism:
    path: str
    place: str
    """The function, or the constraint; empty in a statement, which is a file by itself."""
    mark: str
    lines: tuple[int, int]
    is_constraint: bool = False

    @property
    def name(self) -> str:
        """How the list of those without a row has it."""
        return f"{self.path}{'::' if self.place else ''}{self.place} {self.mark}"

    def is_touched_by(self, changes: Iterable[Change]) -> bool:
        """Whether one of the changes takes it away: it touches its lines, or names the constraint in a migration."""
        if self.is_constraint:
            return any(f"'{self.place}'" in change.text or f'"{self.place}"' in change.text for change in changes)
        source = (ROOT / self.path).read_text()
        return any(change.path == self.path and _overlaps(self.lines, source, change.text) for change in changes)


def find_mechanisms() -> list[Mechanism]:
    return [
        mechanism
        for app in PRODUCT
        for path in sorted((ROOT / app).rglob("*"))
        if not set(NOT_THE_PRODUCT).intersection(path.relative_to(ROOT).parts)
        for mechanism in find_in_file(path)
    ]


def find_in_file(path: Path) -> Iterator[Mechanism]:
    name = str(path.relative_to(ROOT))
    if path.suffix == ".py":
        yield from _Finder(name).find(path.read_text())
    elif path.suffix == ".sql":
        text = path.read_text()
        for mark, pattern in IN_SQL.items():
            for place in pattern.finditer(text):
                line = text.count("\n", 0, place.start()) + 1
                yield Mechanism(name, "", mark, (line, line))


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str) -> None:
        self._path = path
        self._within: list[str] = []
        self._leases: set[str] = set()
        self._found: list[Mechanism] = []

    def find(self, source: str) -> list[Mechanism]:
        self.visit(ast.parse(source))
        return self._found

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == LEASES:
            self._leases |= TAKES_BACK.intersection(each.name for each in node.names)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._within.append(node.name)
        self.generic_visit(node)
        self._within.pop()

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = {each.arg for each in node.keywords}
        if called == "select_for_update":
            self._add(LOCK, node)
        if called in self._leases:
            self._add(LEASE, node)
        if called in SYNCS:
            self._add(SYNC, node)
        if called == "basic_ack":
            self._add(ACK, node)
        if called in ("filter", "update") and "fence" in given:
            self._add(FENCE, node)
        if given & PASSES_OVER:
            self._add(ONCE, node)
        if called == "UniqueConstraint":
            named = [each.value for each in node.keywords if each.arg == "name"]
            texts = [str(each.value) for each in named if isinstance(each, ast.Constant)]
            self._add(ONCE, node, constraint=texts[0] if texts else "")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Attribute) and node.target.attr == "fence":
            self._add(FENCE, node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and IN_SQL[LOCK].search(node.value):
            self._add(LOCK, node)

    def _add(self, mark: str, node: ast.expr | ast.stmt, constraint: str = "") -> None:
        # Of a chain of calls the place of its last name, which is where the mark is written.
        at, last = node.func.end_lineno if isinstance(node, ast.Call) else node.lineno, node.end_lineno
        place, lines = constraint or ".".join(self._within), (at or node.lineno, last or node.lineno)
        self._found.append(Mechanism(self._path, place, mark, lines, is_constraint=bool(constraint)))


def _overlaps(lines: tuple[int, int], source: str, text: str) -> bool:
    place = source.find(text)
    if place < 0:
        return False
    first = source.count("\n", 0, place) + 1
    last = first + text.rstrip("\n").count("\n")
    return first <= lines[1] and last >= lines[0]
