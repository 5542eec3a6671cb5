"""Values of FEEL and their operators. A value is null, a boolean, a number (`Decimal`), text, a temporal value, a list,
a context (`dict`) or a range; what has no meaning is null, so that one odd entry of a table does not end the decision.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal, DecimalException
from typing import Any

from processes.workflows.engine.feel import temporal
from processes.workflows.engine.feel.limits import MAX_DIGITS, MAX_POWER, Meter
from processes.workflows.engine.feel.temporal import Months

NUMBERS = Context(prec=MAX_DIGITS, Emax=6_144, Emin=-6_143)
"""Decimal128; its own context, as the thread's may have been changed by anyone."""
TEMPORAL = (date, time, timedelta, Months)


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`; one without an end there is unbounded."""

    low: Any
    high: Any
    includes_low: bool
    includes_high: bool
    has_low: bool = True
    has_high: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function as a value."""

    parameters: tuple[str, ...]
    call: Callable[[Any, Sequence[Any]], Any]
    """Called with the run and the arguments in their order."""

    def arrange(self, values: Sequence[Any], names: Sequence[str]) -> Sequence[Any] | None:
        """Return the arguments in their order; None where they do not fit the parameters."""
        if names:
            given = dict(zip(names, values, strict=True))
            return [given[name] for name in self.parameters] if given.keys() == set(self.parameters) else None
        return values if len(values) == len(self.parameters) else None


def is_equal(left: Any, right: Any, meter: Meter) -> bool | None:
    """Compare two values; None where they are of different kinds."""
    if left is None or right is None:
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right if isinstance(left, bool) and isinstance(right, bool) else None
    if isinstance(left, list) and isinstance(right, list):
        return _is_list_equal(left, right, meter)
    if isinstance(left, dict) and isinstance(right, dict):
        meter.spend_items(len(left))
        return left.keys() == right.keys() and all(is_equal(left[key], right[key], meter) for key in left)
    if isinstance(left, TEMPORAL) and isinstance(right, TEMPORAL):
        return bool(left == right) if temporal.is_comparable(left, right) else None
    return bool(left == right) if type(left) is type(right) else None


def _is_list_equal(left: list[Any], right: list[Any], meter: Meter) -> bool:
    meter.spend_items(len(left))
    if len(left) != len(right):
        return False
    return all(is_equal(one, other, meter) for one, other in zip(left, right, strict=True))


def compare(operator: str, left: Any, right: Any) -> bool | None:
    """Order two numbers, texts or temporal values of one kind; None for anything else."""
    if type(left) is type(right) and isinstance(left, Decimal | str):
        return _ORDERINGS[operator](left, right)
    if isinstance(left, TEMPORAL) and isinstance(right, TEMPORAL) and temporal.is_comparable(left, right):
        return _ORDERINGS[operator](left, right)
    return None


_ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def is_in_range(value: Any, span: Range) -> bool | None:
    above = compare(">=" if span.includes_low else ">", value, span.low) if span.has_low else True
    below = compare("<=" if span.includes_high else "<", value, span.high) if span.has_high else True
    return all_of((above, below))


def all_of(values: Any) -> bool | None:
    """Join by `and` of three-valued logic: false wins, then null."""
    result: bool | None = True
    for value in values:
        if value is False:
            return False
        if value is not True:
            result = None
    return result


def any_of(values: Any) -> bool | None:
    """Join by `or` of three-valued logic: true wins, then null."""
    result: bool | None = False
    for value in values:
        if value is True:
            return True
        if value is not False:
            result = None
    return result


def calculate(operator: str, left: Any, right: Any, meter: Meter) -> Any:
    """Apply an operator of arithmetic; None where it has no meaning or no result."""
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return _calculate_number(operator, left, right)
    if isinstance(left, str) and isinstance(right, str) and operator == "+":
        meter.spend_characters(len(left) + len(right))
        return left + right
    if isinstance(left, TEMPORAL) or isinstance(right, TEMPORAL):
        return _calculate_temporal(operator, left, right)
    return None


def _calculate_number(operator: str, left: Decimal, right: Decimal) -> Decimal | None:
    if operator == "**" and abs(right) > MAX_POWER:
        return None
    try:
        return check_number(_ARITHMETIC[operator](left, right))
    except DecimalException:
        return None


_ARITHMETIC: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": NUMBERS.add,
    "-": NUMBERS.subtract,
    "*": NUMBERS.multiply,
    "/": NUMBERS.divide,
    "**": NUMBERS.power,
}


def check_number(number: Decimal) -> Decimal | None:
    return number if number.is_finite() else None


def _calculate_temporal(operator: str, left: Any, right: Any) -> Any:
    if operator == "+":
        return temporal.add(left, right)
    if operator == "-":
        return temporal.subtract(left, right)
    if operator == "/" and isinstance(left, timedelta | Months):
        return temporal.divide(left, right)
    if operator == "*" and isinstance(left, timedelta | Months) and isinstance(right, Decimal):
        return temporal.multiply(left, right)
    if operator == "*" and isinstance(right, timedelta | Months) and isinstance(left, Decimal):
        return temporal.multiply(right, left)
    return None


def get_member(value: Any, name: str, meter: Meter) -> Any:
    """Read `value.name`: an entry of a context, that of each item of a list, a part of a temporal value or a range."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list):
        meter.spend_items(len(value))
        return [get_member(item, name, meter) for item in value]
    if isinstance(value, Range):
        return _RANGE_PARTS[name](value) if name in _RANGE_PARTS else None
    for kind, parts in _PARTS.items():
        if isinstance(value, kind) and name in parts:
            found = parts[name](value)
            return Decimal(found) if isinstance(found, int) and not isinstance(found, bool) else found
    return None


_RANGE_PARTS: dict[str, Callable[[Range], Any]] = {
    "start": lambda span: span.low,
    "end": lambda span: span.high,
    "start included": lambda span: span.includes_low,
    "end included": lambda span: span.includes_high,
}
_DATE_PARTS: dict[str, Callable[[Any], Any]] = {
    "year": lambda value: value.year,
    "month": lambda value: value.month,
    "day": lambda value: value.day,
    "weekday": lambda value: value.isoweekday(),
}
_CLOCK_PARTS: dict[str, Callable[[Any], Any]] = {
    "hour": lambda value: value.hour,
    "minute": lambda value: value.minute,
    "second": lambda value: value.second,
    "time offset": lambda value: value.utcoffset(),
}
_PARTS: dict[type, dict[str, Callable[[Any], Any]]] = {
    datetime: _DATE_PARTS | _CLOCK_PARTS,
    date: _DATE_PARTS,
    time: _CLOCK_PARTS,
    timedelta: {
        "days": lambda value: _whole(value.total_seconds() / 86_400),
        "hours": lambda value: _whole(value.total_seconds() / 3_600) % 24,
        "minutes": lambda value: _whole(value.total_seconds() / 60) % 60,
        "seconds": lambda value: _whole(value.total_seconds()) % 60,
    },
    Months: {"years": lambda value: _whole(value.count / 12), "months": lambda value: value.count % 12},
}


def _whole(number: float) -> int:
    return int(number)


def type_of(value: Any) -> str:
    """Return the name that FEEL has for the type of a value."""
    return next((name for name, kinds in TYPES.items() if is_of_type(value, kinds)), "Any")


def is_of_type(value: Any, kinds: tuple[type, ...]) -> bool:
    # A boolean of Python is a number, and a date and time is a date: the exact class decides.
    return type(value) in kinds


TYPES: dict[str, tuple[type, ...]] = {
    "number": (Decimal,),
    "string": (str,),
    "boolean": (bool,),
    "date": (date,),
    "time": (time,),
    "date and time": (datetime,),
    "days and time duration": (timedelta,),
    "years and months duration": (Months,),
    "list": (list,),
    "context": (dict,),
    "range": (Range,),
    "function": (Closure,),
}
