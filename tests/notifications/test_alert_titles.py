"""One title, one kind of alert: two alerts that read alike are taken for one fact told twice, or for a mistake."""

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What is read of the code is read once.
pytestmark = pytest.mark.xdist_group("alert titles")
APPS = ("config", "messaging", "notifications", "processes", "sensors")
SAID_ELSEWHERE = {
    ("config.runtime.alerts.ongoing_alerts", "raise_or_repeat"),
    ("config.runtime.alerts.storage", "_judge_volume"),
    ("config.runtime.alerts.storage", "examine_without_writing"),
}
"""These pass on words that others have made: a `Finding` of the storage, or the error `VolumeAway`."""

Argument = ast.expr | frozenset[str] | None
"""As it stands in a call, or what it is known to be."""


@dataclass(frozen=True)
class Call:
    module: str
    function: ast.FunctionDef | None
    node: ast.Call

    def argument(self, name: str, position: int) -> ast.expr | None:
        named = {keyword.arg: keyword.value for keyword in self.node.keywords}
        return named.get(name) or (self.node.args[position] if position < len(self.node.args) else None)


@cache
def calls() -> dict[str, list[Call]]:
    """Return every call in the product by the name of what is called."""
    found: dict[str, list[Call]] = defaultdict(list)
    for path in (path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for function, node in walk(ast.parse(path.read_text()), None):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            found[name].append(Call(module, function, node))
    return found


def walk(node: ast.AST, function: ast.FunctionDef | None) -> Iterator[tuple[ast.FunctionDef | None, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield function, child
        yield from walk(child, child if isinstance(child, ast.FunctionDef) else function)


def position_of(function: ast.FunctionDef, name: str) -> int | None:
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args] if argument.arg != "self"]
    everything = [*names, *(argument.arg for argument in function.args.kwonlyargs)]
    return everything.index(name) if name in everything else None


def pairs(call: Call, kind: Argument, title: Argument) -> Iterator[tuple[str, str]]:
    """Return the kinds and titles that a call may raise; what a function was given is looked for at its callers."""
    given = {name: parameter_of(call, node) for name, node in (("kind", kind), ("title", title))}
    if any(parameter is not None for parameter in given.values()):
        assert call.function is not None
        for caller in calls()[call.function.name]:
            theirs = [
                known(call, node) if parameter is None else caller.argument(*parameter)
                for parameter, node in ((given["kind"], kind), (given["title"], title))
            ]
            yield from pairs(caller, *theirs)
        return
    yield from product(known(call, kind), known(call, title))


def parameter_of(call: Call, node: Argument) -> tuple[str, int] | None:
    """Return name and position of the parameter that an argument is."""
    if call.function is None or not isinstance(node, ast.Name) or assigned_in(call, node.id):
        return None
    position = position_of(call.function, node.id)
    return None if position is None else (node.id, position)


def known(call: Call, node: Argument) -> frozenset[str]:
    """Return the texts that an argument may be."""
    if isinstance(node, frozenset):
        return node
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return frozenset([node.value])
    if isinstance(node, ast.Call) and node.args:  # gettext_noop
        return known(call, node.args[0])
    if isinstance(node, ast.IfExp):
        return known(call, node.body) | known(call, node.orelse)
    if not isinstance(node, ast.Name):
        return frozenset()
    assigned = assigned_in(call, node.id)
    if assigned:
        return frozenset().union(*(known(call, value) for value in assigned))
    found = getattr(importlib.import_module(call.module), node.id, None)
    return frozenset([found] if isinstance(found, str) else [])


def assigned_in(call: Call, name: str) -> list[ast.expr]:
    every = [] if call.function is None else list(ast.walk(call.function))
    named = [node for node in every if isinstance(node, ast.Assign)]
    return [node.value for node in named if any(getattr(target, "id", "") == name for target in node.targets)]


def raised() -> Iterator[tuple[Call, list[tuple[str, str]]]]:
    findings = [call for call in calls()["Finding"] if call.module == "config.runtime.alerts.storage"]
    for call in [*calls()["raise_alert"], *findings]:
        yield call, list(pairs(call, call.argument("kind", 0), call.argument("title", 2)))


@pytest.mark.slow
def test_every_alert_has_words_that_can_be_found() -> None:
    lost = {(call.module, call.function.name) for call, found in raised() if call.function and not found}
    assert lost == SAID_ELSEWHERE


def test_no_two_kinds_have_the_same_title() -> None:
    kinds_of: dict[str, set[str]] = defaultdict(set)
    for _, found in raised():
        for kind, title in found:
            kinds_of[title].add(kind)
    assert len({kind for kinds in kinds_of.values() for kind in kinds}) > 20
    assert {title: sorted(kinds) for title, kinds in kinds_of.items() if len(kinds) > 1} == {}
