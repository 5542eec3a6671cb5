"""From a syntax tree to a function of names and run: each node becomes a closure over those of its operands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from processes.workflows.engine.feel import syntax_tree as tree
from processes.workflows.engine.feel.functions import FUNCTIONS
from processes.workflows.engine.feel.limits import MAX_ITEMS
from processes.workflows.engine.feel.run import Run
from processes.workflows.engine.feel.values import (
    TYPES,
    Closure,
    Range,
    all_of,
    any_of,
    calculate,
    compare,
    get_member,
    is_equal,
    is_in_range,
    is_of_type,
)

Names = Mapping[str, Any]
Evaluator = Callable[[Names, Run], Any]
_FAR = Decimal(10**18)
INPUT = "?"
"""The name under which a unary test finds the value it is about."""


class Layer(Mapping[str, Any]):
    """Names over others, which are not copied."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, inner: Names, outer: Names) -> None:
        self._inner = inner
        self._outer = outer

    def __getitem__(self, name: str) -> Any:
        return self._inner[name] if name in self._inner else self._outer[name]

    def __contains__(self, name: object) -> bool:
        return name in self._inner or name in self._outer

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self._outer), **dict.fromkeys(self._inner)})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def build_evaluator(node: tree.FeelNode) -> Evaluator:
    """Compile a node of the syntax tree into a function of the names and the run."""
    return _BUILDERS[type(node)](node)


def build_test(node: tree.FeelNode) -> Evaluator:
    """Compile one unary test of the value `?`; it gives true where the value passes."""
    evaluate = build_evaluator(node)
    if isinstance(node, tree.Comparison) and isinstance(node.left, tree.Input):
        return lambda names, run: evaluate(names, run) is True

    def test(names: Names, run: Run) -> bool:
        return passes(names[INPUT], evaluate(names, run), run, is_about_input=uses_input)

    uses_input = _uses_input(node)
    return test


def passes(value: Any, wanted: Any, run: Run, *, is_about_input: bool) -> bool:
    """Put a value to a test: to lie in a range, to be in a list, to equal it; or the test is true by itself."""
    if isinstance(wanted, Range):
        return is_in_range(value, wanted) is True
    if isinstance(wanted, list) and not isinstance(value, list):
        run.meter.spend_items(len(wanted))
        return any(passes(value, each, run, is_about_input=False) for each in wanted)
    if isinstance(wanted, bool) and (is_about_input or not isinstance(value, bool)):
        return wanted
    return is_equal(value, wanted, run.meter) is True


def _uses_input(node: Any) -> bool:
    if isinstance(node, tree.Input):
        return True
    if isinstance(node, tuple | list):
        return any(map(_uses_input, node))
    if isinstance(node, tree.FeelNode):
        return any(_uses_input(getattr(node, name)) for name in node.__slots__)
    return False


def _name(node: tree.Name) -> Evaluator:
    name = node.name
    joined = name.replace(" ", "_")  # a variable of a process cannot have spaces in its name

    def evaluate(names: Names, run: Run) -> Any:
        if name in names:
            return names[name]
        if joined not in names and name in run.functions:
            function = run.functions[name]  # as a value, such as `sort` takes
            return Closure(function.parameters, lambda run, values: function(run, values, ()))
        return names.get(joined)

    return evaluate


def _list(node: tree.ListOf) -> Evaluator:
    items = [build_evaluator(item) for item in node.items]
    return lambda names, run: [item(names, run) for item in items]


def _context(node: tree.ContextOf) -> Evaluator:
    entries = [(key, build_evaluator(value)) for key, value in node.entries]

    def evaluate(names: Names, run: Run) -> dict[str, Any]:
        found: dict[str, Any] = {}
        inner = Layer(found, names)
        for key, value in entries:
            found[key] = value(inner, run)
        return found

    return evaluate


def _range(node: tree.RangeOf) -> Evaluator:
    low = build_evaluator(node.low) if node.low is not None else None
    high = build_evaluator(node.high) if node.high is not None else None

    def evaluate(names: Names, run: Run) -> Range:
        return Range(
            low(names, run) if low is not None else None,
            high(names, run) if high is not None else None,
            node.includes_low,
            node.includes_high,
            has_low=low is not None,
            has_high=high is not None,
        )

    return evaluate


def _member(node: tree.Member) -> Evaluator:
    base, name = build_evaluator(node.base), node.name
    return lambda names, run: get_member(base(names, run), name, run.meter)


def _filter(node: tree.Filter) -> Evaluator:
    base, condition, cost = build_evaluator(node.base), build_evaluator(node.condition), node.condition.extent.size

    def evaluate(names: Names, run: Run) -> Any:
        value = base(names, run)
        items = value if isinstance(value, list) else [] if value is None else [value]
        found = []
        for item in items:
            run.meter.spend(cost)
            inner = {**item, "item": item} if isinstance(item, dict) else {"item": item}
            keep = condition(Layer(inner, names), run)
            if isinstance(keep, Decimal):
                return _pick(items, keep)
            if keep is True:
                found.append(item)
        return found

    return evaluate


def _pick(items: list[Any], position: Decimal) -> Any:
    """Return an item by its number from 1, or from -1 backwards; null where there is none."""
    if not position or abs(position) > len(items):
        return None
    return items[int(position) - 1 if position > 0 else int(position)]


def _call(node: tree.Call) -> Evaluator:
    arguments, name, named = [build_evaluator(each) for each in node.arguments], node.function, node.names
    function = FUNCTIONS.get(name)

    def evaluate(names: Names, run: Run) -> Any:
        own = run.functions.get(name)  # those of the file come first
        values = [argument(names, run) for argument in arguments]
        if own is not None:
            return own(run, values, named)
        if function is not None:
            return function.call(run, *function.arrange(values, named))
        return _invoke(names.get(name), values, named, run)  # an entry of a context may hold a function

    return evaluate


def _invoke(called: Any, values: Sequence[Any], named: Sequence[str], run: Run) -> Any:
    """Call a value; None where it is no function, or its parameters are others."""
    if not isinstance(called, Closure):
        return None
    arranged = called.arrange(values, named)
    return None if arranged is None else called.call(run, arranged)


def _function(node: tree.FunctionOf) -> Evaluator:
    body, cost = build_evaluator(node.body), node.body.extent.size

    def evaluate(names: Names, run: Run) -> Closure:
        def call(run: Run, values: Sequence[Any]) -> Any:
            run.enter_call(cost)
            try:
                return body(Layer(dict(zip(node.parameters, values, strict=True)), names), run)
            finally:
                run.calls -= 1

        return Closure(node.parameters, call)

    return evaluate


def _invocation(node: tree.Invocation) -> Evaluator:
    function, arguments = build_evaluator(node.function), [build_evaluator(each) for each in node.arguments]

    def evaluate(names: Names, run: Run) -> Any:
        called = function(names, run)
        return _invoke(called, [argument(names, run) for argument in arguments], node.names, run)

    return evaluate


def _negative(node: tree.Negative) -> Evaluator:
    operand = build_evaluator(node.operand)
    return lambda names, run: calculate("*", operand(names, run), Decimal(-1), run.meter)


def _arithmetic(node: tree.Arithmetic) -> Evaluator:
    operator, left, right = node.operator, build_evaluator(node.left), build_evaluator(node.right)
    return lambda names, run: calculate(operator, left(names, run), right(names, run), run.meter)


def _comparison(node: tree.Comparison) -> Evaluator:
    operator, left, right = node.operator, build_evaluator(node.left), build_evaluator(node.right)
    if operator not in ("=", "!="):
        return lambda names, run: compare(operator, left(names, run), right(names, run))

    def evaluate(names: Names, run: Run) -> bool | None:
        equal = is_equal(left(names, run), right(names, run), run.meter)
        return equal if equal is None or operator == "=" else not equal

    return evaluate


def _between(node: tree.Between) -> Evaluator:
    operand, low, high = build_evaluator(node.operand), build_evaluator(node.low), build_evaluator(node.high)

    def evaluate(names: Names, run: Run) -> bool | None:
        return is_in_range(operand(names, run), Range(low(names, run), high(names, run), True, True))

    return evaluate


def _in_tests(node: tree.InTests) -> Evaluator:
    operand, tests = build_evaluator(node.operand), [build_test(test) for test in node.tests]

    def evaluate(names: Names, run: Run) -> bool:
        inner = Layer({INPUT: operand(names, run)}, names)
        return any(test(inner, run) for test in tests)

    return evaluate


def _instance_of(node: tree.InstanceOf) -> Evaluator:
    operand, kinds = build_evaluator(node.operand), TYPES.get(node.type_name)

    def evaluate(names: Names, run: Run) -> bool | None:
        value = operand(names, run)
        if node.type_name == "Any":
            return value is not None
        return None if kinds is None else is_of_type(value, kinds)

    return evaluate


def _connective(node: tree.Conjunction | tree.Disjunction) -> Evaluator:
    connect = all_of if isinstance(node, tree.Conjunction) else any_of
    operands = [build_evaluator(operand) for operand in node.operands]
    return lambda names, run: connect(operand(names, run) for operand in operands)


def _conditional(node: tree.Conditional) -> Evaluator:
    condition, then, otherwise = map(build_evaluator, (node.condition, node.then, node.otherwise))
    return lambda names, run: then(names, run) if condition(names, run) is True else otherwise(names, run)


def _iteration(node: tree.Iteration) -> Evaluator:
    sources = [(name, build_evaluator(source)) for name, source in node.sources]
    body, cost = build_evaluator(node.body), node.body.extent.size

    def rounds(names: Names, run: Run, at: int) -> Iterator[Any]:
        name, source = sources[at]
        for item in list_items(source(names, run), run):
            run.meter.spend(cost)
            inner = Layer({name: item}, names)
            if at + 1 < len(sources):
                yield from rounds(inner, run, at + 1)
            else:
                yield body(inner, run)

    def evaluate(names: Names, run: Run) -> Any:
        values = rounds(names, run, 0)
        if node.kind == "some":
            return any_of(values)
        if node.kind == "every":
            return all_of(values)
        found = []
        for value in values:
            found.append(value)
            if len(found) > MAX_ITEMS:
                run.meter.spend_items(len(found))
        return found

    return evaluate


def list_items(value: Any, run: Run) -> list[Any]:
    """Return what an iteration runs over: a list, the whole numbers of a range, or one value."""
    if isinstance(value, Range):
        if not isinstance(value.low, Decimal) or not isinstance(value.high, Decimal):
            return []
        low, high = (int(end) if abs(end) < _FAR else int(_FAR.copy_sign(end)) for end in (value.low, value.high))
        run.meter.spend_items(abs(high - low))
        step = 1 if low <= high else -1
        return [Decimal(number) for number in range(low, high + step, step)]
    return value if isinstance(value, list) else [] if value is None else [value]


def _unary_tests(node: tree.UnaryTests) -> Evaluator:
    tests = [build_test(test) for test in node.tests]
    if not tests:
        return lambda names, run: True

    def evaluate(names: Names, run: Run) -> bool:
        return any(test(names, run) for test in tests) is not node.is_negated

    return evaluate


_BUILDERS = cast(
    dict[type, Callable[[Any], Evaluator]],
    {
        tree.Literal: lambda node: lambda names, run: node.value,
        tree.Name: _name,
        tree.Input: lambda node: lambda names, run: names.get(INPUT),
        tree.ListOf: _list,
        tree.ContextOf: _context,
        tree.RangeOf: _range,
        tree.Member: _member,
        tree.Filter: _filter,
        tree.Call: _call,
        tree.FunctionOf: _function,
        tree.Invocation: _invocation,
        tree.Negative: _negative,
        tree.Arithmetic: _arithmetic,
        tree.Comparison: _comparison,
        tree.Between: _between,
        tree.InTests: _in_tests,
        tree.InstanceOf: _instance_of,
        tree.Conjunction: _connective,
        tree.Disjunction: _connective,
        tree.Conditional: _conditional,
        tree.Iteration: _iteration,
        tree.UnaryTests: _unary_tests,
    },
)
