"""Find the constants of the product that read as bounds, and those that the table of bounds has.

A constant reads as a bound by its name: nobody writes `MOST_…` or `LONGEST_…` of anything else. What is found is named
by its module, so that a new one is noticed wherever it stands.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.mechanisms import NOT_THE_PRODUCT, PRODUCT
from tests.mutants.mutant import ROOT

READS_AS_BOUND = re.compile(r"_?(MAX|MOST|LONGEST|LARGEST)_")
BOUNDS = ROOT / "config" / "runtime" / "bounds"


def find_constants() -> set[str]:
    """Return every constant of the product that reads as a bound: `module.NAME`."""
    return {
        f"{_name_module(path)}.{name}"
        for app in PRODUCT
        for path in (ROOT / app).rglob("*.py")
        if not set(NOT_THE_PRODUCT).intersection(path.relative_to(ROOT).parts)
        for name in _list_assigned(ast.parse(path.read_text()))
        if READS_AS_BOUND.match(name)
    }


def find_used() -> set[str]:
    """Return what the modules of the table use of others: `module.NAME`, or `module.Class.NAME`."""
    return {used for path in BOUNDS.glob("*.py") for used in _list_used(ast.parse(path.read_text()))}


def _name_module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _list_assigned(tree: ast.Module) -> Iterator[str]:
    """Name what a module and its classes assign, pairs too."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in [*tree.body, *(each for one in classes for each in one.body)]:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for each in targets for part in getattr(each, "elts", [each])]
            yield from (part.id for part in parts if isinstance(part, ast.Name))


def _list_used(tree: ast.Module) -> Iterator[str]:
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                modules[each.asname or each.name] = f"{node.module}.{each.name}"
                yield f"{node.module}.{each.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield f"{modules[node.value.id]}.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # as `import_string` takes it
