"""Variables: looked up from a scope outwards, up to the process or case; a new one is written there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from processes.workflows.engine.definition import Node
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import MAX_VARIABLES
from processes.workflows.engine.execution.records import Variables
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.expressions import Expression, ExpressionFailed, Meter


class VisibleVariables(Mapping[str, Any]):
    """The variables of several scopes, the inner ones first; nothing is copied."""

    __slots__ = ("_layers",)

    def __init__(self, layers: Sequence[Mapping[str, Any]]) -> None:
        self._layers = layers

    def __getitem__(self, name: str) -> Any:
        for layer in self._layers:
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(name in layer for layer in self._layers)

    def __iter__(self) -> Iterator[str]:
        return iter({name: None for layer in reversed(self._layers) for name in layer})

    def __len__(self) -> int:
        return len(set().union(*self._layers))


def get_visible(work: UnitOfWork, scope: str) -> Mapping[str, Any]:
    """Return the variables visible from a scope, as a mapping that copies nothing."""
    found = work.visible_variables.get(scope)
    if found is None:
        layers = _list_layers(work, scope)
        found = layers[0] if len(layers) == 1 else VisibleVariables(layers)
        work.visible_variables[scope] = found
    return found


def evaluate(work: UnitOfWork, expression: Expression, scope: str, element: str, **more: object) -> Any:
    try:
        return try_evaluate(work, expression, scope, element, **more)
    except ExpressionFailed as failed:
        raise CommandFailed(element, failed.reason) from failed


def try_evaluate(work: UnitOfWork, expression: Expression, scope: str, element: str, **more: object) -> Any:
    """Evaluate an expression, or raise ExpressionFailed; its cost counts either way."""
    names = get_visible(work, scope)
    meter = Meter()
    try:
        return expression.evaluate(VisibleVariables((more, names)) if more else names, meter)
    finally:
        work.budget.count_checks(element, 1 + meter.spent)


def evaluate_condition(work: UnitOfWork, expression: Expression, scope: str, element: str, **more: object) -> bool:
    return bool(evaluate(work, expression, scope, element, **more))


def write_variables(work: UnitOfWork, scope: str, values: Mapping[str, Any], element: str) -> None:
    """Write each variable in the nearest scope that has it; a new one in the scope of the process or case."""
    for name, value in values.items():
        _write_variable(work, _find_defining_scope(work, scope, name), name, value, element)


def _list_layers(work: UnitOfWork, scope: str) -> list[Variables]:
    record = work.scopes[scope]
    layers = [record["variables"]]
    while "definition" not in record:
        record = work.scopes[cast(str, record["parent"])]
        layers.append(record["variables"])
    return layers


def _find_defining_scope(work: UnitOfWork, scope: str, name: str) -> str:
    record = work.scopes[scope]
    while name not in record["variables"] and "definition" not in record:
        scope = cast(str, record["parent"])
        record = work.scopes[scope]
    return scope


def _write_variable(work: UnitOfWork, scope: str, name: str, value: object, element: str) -> None:
    record = work.scopes[scope]
    if scope not in work.copied_scopes:
        record = {**record, "variables": record["variables"].copy()}
        if "written" in record:
            record["written"] = list(record["written"])
        work.scopes.put(scope, record)
        work.copied_scopes.add(scope)
    variables = record["variables"]
    weight = work.budget.measure_value(value, element)
    work.budget.add_size(weight - _size_before(work, scope, variables, name, element), element)
    work.variable_sizes[scope, name] = weight
    if work.items.records and work.definition(scope).plan is not None:
        work.file_changes.append((scope, name, variables.get(name), value))
    variables[name] = value
    if "written" in record and name not in record["written"]:
        record["written"].append(name)
    work.visible_variables.clear()  # any scope may see what was written
    work.conditions_due = True


def _size_before(work: UnitOfWork, scope: str, variables: Variables, name: str, element: str) -> int:
    if name not in variables:
        return -len(name) - 4
    # Measuring counts towards the budget: what this command wrote itself is not measured again.
    known = work.variable_sizes.get((scope, name))
    return known if known is not None else work.budget.measure_value(variables[name], element)


def write_results(work: UnitOfWork, scope: str, node: Node, returned: Variables, inputs: Variables) -> None:
    """Write what an activity has returned: all of it, or its declared outputs, which see its inputs, too."""
    outputs = evaluate_outputs(work, scope, node, (returned, inputs)) if node.outputs else {}
    if node.returns_all:
        write_variables(work, scope, returned, node.id)
    write_variables(work, scope, outputs, node.id)


def evaluate_outputs(work: UnitOfWork, scope: str, node: Node, nearest: Sequence[Variables]) -> Variables:
    """Return the declared outputs of an activity; what is nearest hides the variables of its scope."""
    names = VisibleVariables((*nearest, get_visible(work, scope)))
    found: Variables = {}
    for output in node.outputs:
        meter = Meter()
        try:
            found[output.name] = output.expression.evaluate(names, meter)
        except ExpressionFailed as failed:
            raise CommandFailed(node.id, failed.reason) from failed
        finally:
            work.budget.count_checks(node.id, 1 + meter.spent)
    return found


def evaluate_inputs(work: UnitOfWork, token: str, node: Node) -> Variables:
    """Return the declared inputs of a handler; without any, all visible variables."""
    if not node.inputs:
        return dict(get_visible(work, work.tokens[token]["scope"]))
    return evaluate_payload(work, token, node)


def evaluate_payload(work: UnitOfWork, token: str, node: Node) -> Variables:
    """Return what a thrown signal or message carries: the declared inputs, and nothing that the file does not name."""
    return evaluate_declared(work, work.tokens[token]["scope"], node)


def evaluate_declared(work: UnitOfWork, scope: str, node: Node) -> Variables:
    """Return the declared inputs of an element, as they are in a scope."""
    inputs = {declared.name: evaluate(work, declared.expression, scope, node.id) for declared in node.inputs}
    if work.budget.measure(inputs, node.id) > MAX_VARIABLES:
        raise CommandFailed(node.id, f"The inputs would take more than {MAX_VARIABLES} bytes.")
    return inputs
