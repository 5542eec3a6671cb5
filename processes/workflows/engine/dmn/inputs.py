"""The names that a decision reads from outside: what a form that tries it asks for."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from processes.workflows.engine.dmn.model import (
    ChoiceLogic,
    ContextLogic,
    DecisionModel,
    DecisionTable,
    FeelExpression,
    FeelTests,
    FunctionLogic,
    InvocationLogic,
    IterationLogic,
    ListLogic,
    LiteralLogic,
    Logic,
    RelationLogic,
)
from processes.workflows.engine.feel import syntax_tree as tree


class InputName(NamedTuple):
    name: str
    type_name: str
    """As the file declares it; empty: it does not."""


def list_inputs(model: DecisionModel) -> list[InputName]:
    """Return the names that a decision and those it requires read, except for each other's results, in their order."""
    types: dict[str, str] = {}
    for key in model.order:
        decision = model.decisions[key]
        required = [model.decisions[each] for each in decision.requires]
        tables = [each.logic for each in required if isinstance(each.logic, DecisionTable)]
        given = {each.variable for each in required} | {output.name for table in tables for output in table.outputs}
        for name, type_name in _list_names(decision.logic):
            if name not in given:
                types[name] = types.get(name) or type_name or model.types.get(name, "")
    return [InputName(name, types[name].rpartition(":")[2]) for name in types]


def _list_names(logic: Logic) -> Iterator[tuple[str, str]]:
    if isinstance(logic, DecisionTable):
        for column in logic.inputs:
            is_name = column.expression is not None and isinstance(column.expression.node, tree.Name)
            yield from ((name, column.type_name if is_name else "") for name in list_read_names(column.expression))
        for rule in logic.rules:
            yield from ((name, "") for entry in (*rule.inputs, *rule.outputs) for name in list_read_names(entry))
    elif isinstance(logic, LiteralLogic):
        yield from ((name, "") for name in list_read_names(logic.expression))
    else:
        yield from _list_inner_names(logic)


def _list_inner_names(logic: Logic) -> Iterator[tuple[str, str]]:
    own: set[str] = set()
    parts: list[Logic] = []
    if isinstance(logic, ContextLogic):
        own = {name for name, _ in logic.entries}
        parts += [entry for _, entry in logic.entries]
    elif isinstance(logic, ListLogic):
        parts += logic.items
    elif isinstance(logic, RelationLogic):
        parts += [cell for row in logic.rows for cell in row]
    elif isinstance(logic, InvocationLogic):
        parts += [value for _, value in logic.bindings]
    elif isinstance(logic, FunctionLogic):
        own, parts = set(logic.parameters), [logic.body]
    elif isinstance(logic, ChoiceLogic):
        parts = [logic.condition, logic.then, logic.otherwise]
    elif isinstance(logic, IterationLogic):
        own, parts = {logic.variable}, [logic.source, logic.body]
    yield from (found for part in parts for found in _list_names(part) if found[0] not in own)


def list_read_names(entry: FeelExpression | FeelTests | None) -> Iterator[str]:
    """Yield the names that an expression or a test reads."""
    return _walk(entry.node, frozenset()) if entry is not None else iter(())


def _walk(node: Any, bound: frozenset[str]) -> Iterator[str]:
    """Yield the names that a tree reads, without those that it binds itself."""
    if isinstance(node, tree.Name):
        if node.name not in bound:
            yield node.name
    elif isinstance(node, tree.Filter):
        # What stands in the brackets may be a part of the item.
        yield from _walk(node.base, bound)
    elif isinstance(node, tree.Iteration):
        inner = bound | {name for name, _ in node.sources}
        for _, source in node.sources:
            yield from _walk(source, inner)
        yield from _walk(node.body, inner)
    elif isinstance(node, tree.FunctionOf):
        yield from _walk(node.body, bound | set(node.parameters))
    elif isinstance(node, tree.ContextOf):
        inner = bound | {name for name, _ in node.entries}
        for _, value in node.entries:
            yield from _walk(value, inner)
    elif isinstance(node, tuple):
        for part in node:
            yield from _walk(part, bound)
    elif isinstance(node, tree.FeelNode):
        for name in node.__slots__:
            yield from _walk(getattr(node, name), bound)
