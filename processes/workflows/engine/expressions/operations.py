"""The operators of the language.

Values from variables are checked before they are used: only JSON's own types pass, so no other class's method runs.
"""

import operator
from collections.abc import Callable
from types import NoneType
from typing import Any

from processes.workflows.engine.expressions.errors import ExpressionFailed
from processes.workflows.engine.expressions.limits import MAX_INTEGER, Meter

UNBOUNDED = frozenset({str, bool, NoneType, list, dict})
"""Types whose every value may be read."""


def check_value(value: Any) -> Any:
    """Return a value read from variables unchanged; fail if its type is not one of JSON's."""
    kind = type(value)
    if kind in UNBOUNDED:
        return value
    if kind is int or kind is float:
        return check_number(value)
    raise ExpressionFailed(f"a value of type {kind.__name__[:40]} is not JSON")


def check_number(number: int | float) -> int | float:
    """Return a number unchanged; fail if it is too large, infinite or NaN."""
    if type(number) is int:
        if -MAX_INTEGER <= number <= MAX_INTEGER:
            return number
    elif number - number == 0:  # neither infinite nor NaN
        return number
    raise ExpressionFailed("a number is too large or undefined")


def look_up(value: Any, key: Any) -> Any:
    """Read `value[key]` of a map or a list; what is not there is null."""
    kind = type(value)
    if kind is dict and type(key) is str:
        return check_value(value.get(key))
    if kind is list and type(key) is int:
        return check_value(value[key]) if -len(value) <= key < len(value) else None
    if value is None:
        return None
    if kind is dict or kind is list:
        raise ExpressionFailed(f"{type_name(value)} has no key that is {type_name(key)}")
    raise ExpressionFailed(f"nothing can be looked up in {type_name(value)}")


def negate(value: Any) -> int | float:
    if type(value) is int or type(value) is float:
        return -value
    raise ExpressionFailed(f"{type_name(value)} has no negative")


def add(left: Any, right: Any, meter: Meter) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is str:
            meter.spend_characters(len(left) + len(right))
            return left + right
        if kind is list:
            meter.spend_items(len(left) + len(right))
            return left + right
    if {kind, type(right)} in ({str, int}, {str, float}):
        raise ExpressionFailed("text and a number cannot be added: use string(…) or number(…)")
    _check_numbers("+", left, right)
    return check_number(left + right)


def subtract(left: Any, right: Any, meter: Meter) -> int | float:
    _check_numbers("-", left, right)
    return check_number(left - right)


def multiply(left: Any, right: Any, meter: Meter) -> int | float:
    _check_numbers("*", left, right)
    return check_number(left * right)


def divide(left: Any, right: Any, meter: Meter) -> int | float:
    """Divide; two whole numbers give a whole one where it comes out even, also past what a float holds exactly."""
    _check_divisor("/", left, right)
    if type(left) is int and type(right) is int and left % right == 0:
        return left // right
    return check_number(left / right)


def remainder(left: Any, right: Any, meter: Meter) -> int | float:
    _check_divisor("%", left, right)
    return check_number(left % right)


ARITHMETIC: dict[str, Callable[[Any, Any, Meter], Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
}

ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ORDERED = frozenset({int, float, str})


def compare_ordered(symbol: str, left: Any, right: Any) -> bool:
    if (type(left) in _NUMBERS and type(right) in _NUMBERS) or (type(left) is str and type(right) is str):
        return ORDERINGS[symbol](left, right)
    raise ExpressionFailed(f"{type_name(left)} and {type_name(right)} cannot be compared by {symbol}")


def is_equal(left: Any, right: Any, meter: Meter) -> bool:
    # Types first: in Python True equals 1, in JSON it does not.
    kind = type(left)
    if kind is type(right):
        if kind is list or kind is dict:
            return _is_equal_inside(left, right, meter)
        return bool(kind in _SCALARS and left == right)
    return kind in _NUMBERS and type(right) in _NUMBERS and bool(left == right)


def is_in(item: Any, container: Any, meter: Meter) -> bool:
    kind = type(container)
    if kind is list:
        meter.spend_items(len(container))
        for each in container:  # noqa: SIM110  (a generator inside any() takes twice as long)
            if is_equal(item, each, meter):
                return True
        return False
    if kind is dict and type(item) is str:
        return item in container
    if kind is str and type(item) is str:
        meter.spend_characters(len(container))
        return item in container
    raise ExpressionFailed(f"{type_name(item)} cannot be looked for in {type_name(container)}")


def type_name(value: Any) -> str:
    return _TYPE_NAMES.get(type(value), "another value")


_NUMBERS = frozenset({int, float})
_SCALARS = frozenset({int, float, str, bool, NoneType})
_TYPE_NAMES = {
    NoneType: "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a map",
}


def _check_numbers(symbol: str, left: Any, right: Any) -> None:
    if type(left) not in _NUMBERS or type(right) not in _NUMBERS:
        raise ExpressionFailed(f"{symbol} is not defined for {type_name(left)} and {type_name(right)}")


def _check_divisor(symbol: str, left: Any, right: Any) -> None:
    _check_numbers(symbol, left, right)
    if right == 0:
        raise ExpressionFailed("division by zero")


def _is_equal_inside(left: Any, right: Any, meter: Meter) -> bool:
    """Compare item by item, without recursion: data may be nested deeper than Python's stack."""
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        kind = type(one)
        if kind is type(other) and (kind is list or kind is dict):
            if len(one) != len(other) or (kind is dict and one.keys() != other.keys()):
                return False
            meter.spend_items(len(one))
            pairs.extend(zip(one, other, strict=True) if kind is list else ((one[key], other[key]) for key in one))
        elif not is_equal(one, other, meter):
            return False
    return True
