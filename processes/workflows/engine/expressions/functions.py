"""The functions of the language.

| function | gives |
| --- | --- |
| `len(x)` | the number of characters, items or keys |
| `lower(text)`, `upper(text)`, `trim(text)` | |
| `contains(x, part)` | the same as `part in x` |
| `starts_with(text, part)`, `ends_with(text, part)` | |
| `min(a, b, …)`, `max(a, b, …)`, or of one list | the least or greatest of numbers or of texts; null of an empty list |
| `sum(list)` | 0 of an empty list |
| `abs(number)` | |
| `round(number)`, `round(number, digits)` | a half goes away from zero, by the digits as they are written |
| `int(x)` | a number cut to a whole one, or text read as one |
| `number(x)` | text read as a number; a number stays |
| `string(x)` | text of a number, a boolean or null; text stays |
| `keys(map)` | the keys, sorted |
| `coalesce(a, b, …)`, `default(a, b, …)` | the first that is not null; those after it are not evaluated |
| `duration("PT1H")` | seconds; weeks and smaller, as months have no fixed length |
| `timestamp("2030-01-31T08:00:00Z")` | seconds since 1970, in UTC where no zone is named |
| `moment(seconds)` | the same backwards, as text |
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from processes.workflows.engine.expressions.errors import ExpressionFailed
from processes.workflows.engine.expressions.limits import Meter
from processes.workflows.engine.expressions.operations import check_number, check_value, is_in, type_name
from processes.workflows.engine.iso import NotIso, parse_datetime, parse_duration


@dataclass(frozen=True, slots=True)
class Function:
    usage: str
    least: int
    most: int | None
    call: Callable[..., Any] | None
    """Called with the meter and the arguments; None: arguments are evaluated up to the first that is not null."""

    def takes(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)


FUNCTIONS: dict[str, Function] = {
    "coalesce": Function("coalesce(a, b, …)", 1, None, None),
    "default": Function("default(a, b, …)", 1, None, None),
}
"""By name; the others are added where they are defined."""

_MAX_DIGITS = 12
# From here on a float has no fraction to round.
_FIRST_WITHOUT_FRACTION = 2.0**53
# Its own context: the thread's may have been changed by anyone.
_ROUNDING = Context(prec=40, rounding=ROUND_HALF_UP)
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = re.compile(r"[+-]?[0-9]+")


def _define(usage: str, *, least: int = 1, most: int | None = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function to the language under the name that its usage begins with."""

    def add(call: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[usage.partition("(")[0]] = Function(usage, least, most, call)
        return call

    return add


@_define("len(x)")
def _len(meter: Meter, value: Any) -> int:
    if type(value) in (str, list, dict):
        return len(value)
    raise ExpressionFailed(f"{type_name(value)} has no length")


@_define("lower(text)")
def _lower(meter: Meter, value: Any) -> str:
    return _require_text("lower", _require_text("lower", value, meter).lower(), meter)


@_define("upper(text)")
def _upper(meter: Meter, value: Any) -> str:
    # The result is measured too: one character may become three, and two in lower case.
    return _require_text("upper", _require_text("upper", value, meter).upper(), meter)


@_define("trim(text)")
def _trim(meter: Meter, value: Any) -> str:
    return _require_text("trim", value, meter).strip()


@_define("contains(x, part)", least=2, most=2)
def _contains(meter: Meter, value: Any, part: Any) -> bool:
    return is_in(part, value, meter)


@_define("starts_with(text, part)", least=2, most=2)
def _starts_with(meter: Meter, value: Any, part: Any) -> bool:
    return _require_text("starts_with", value, meter).startswith(_require_text("starts_with", part, meter))


@_define("ends_with(text, part)", least=2, most=2)
def _ends_with(meter: Meter, value: Any, part: Any) -> bool:
    return _require_text("ends_with", value, meter).endswith(_require_text("ends_with", part, meter))


@_define("min(a, b, …) or min(list)", least=1, most=None)
def _min(meter: Meter, *values: Any) -> Any:
    return min(_require_comparable("min", values, meter), default=None)


@_define("max(a, b, …) or max(list)", least=1, most=None)
def _max(meter: Meter, *values: Any) -> Any:
    return max(_require_comparable("max", values, meter), default=None)


@_define("sum(list)")
def _sum(meter: Meter, values: Any) -> int | float:
    total: int | float = 0
    for value in _require_list("sum", values, meter):
        total = check_number(total + _require_number("sum", value))
    return total


@_define("abs(number)")
def _abs(meter: Meter, value: Any) -> int | float:
    return abs(_require_number("abs", value))


@_define("round(number) or round(number, digits)", least=1, most=2)
def _round(meter: Meter, value: Any, digits: Any = 0) -> int | float:
    number = _require_number("round", value)
    if type(digits) is not int or not 0 <= digits <= _MAX_DIGITS:
        raise ExpressionFailed(f"round takes 0 to {_MAX_DIGITS} digits")
    if type(number) is float and abs(number) < _FIRST_WITHOUT_FRACTION:
        # By the digits as they are written: 2.675 becomes 2.68, though its binary value is a little less.
        number = float(Decimal(repr(number)).quantize(Decimal(1).scaleb(-digits), context=_ROUNDING))
    return number if digits else _to_integer(number)


@_define("int(x)")
def _int(meter: Meter, value: Any) -> int:
    if type(value) is str:
        return _to_integer(_parse_number("int", value, _INTEGER, meter))
    return _to_integer(_require_number("int", value))


@_define("number(x)")
def _number(meter: Meter, value: Any) -> int | float:
    return _parse_number("number", value, _NUMBER, meter) if type(value) is str else _require_number("number", value)


@_define("string(x)")
def _string(meter: Meter, value: Any) -> str:
    if type(value) is str:
        return value
    if value is None or type(value) is bool:
        return {None: "null", True: "true", False: "false"}[value]
    return repr(_require_number("string", value))


@_define("keys(map)")
def _keys(meter: Meter, value: Any) -> list[str]:
    if type(value) is not dict:
        raise ExpressionFailed(f"keys is not defined for {type_name(value)}")
    meter.spend_items(len(value))
    if not all(type(key) is str for key in value):
        raise ExpressionFailed("a key of a map is not text")
    return sorted(value)


@_define('duration("PT1H")')
def _duration(meter: Meter, value: Any) -> int | float:
    try:
        duration = parse_duration(_require_text("duration", value, meter))
    except NotIso as error:
        raise ExpressionFailed(str(error)) from error
    if duration.months:
        raise ExpressionFailed("months and years have no fixed length: use days")
    return _count_seconds(duration.rest)


@_define('timestamp("2030-01-31T08:00:00Z")')
def _timestamp(meter: Meter, value: Any) -> int | float:
    try:
        return _count_seconds(parse_datetime(_require_text("timestamp", value, meter)) - _EPOCH)
    except NotIso as error:
        raise ExpressionFailed(str(error)) from error


@_define("moment(seconds)")
def _format_seconds(meter: Meter, value: Any) -> str:
    try:
        moment = _EPOCH + timedelta(seconds=_require_number("moment", value))
    except OverflowError as error:
        raise ExpressionFailed("the moment is outside the years 1 to 9999") from error
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _require_text(function: str, value: Any, meter: Meter) -> str:
    if type(value) is not str:
        raise ExpressionFailed(f"{function} is not defined for {type_name(value)}")
    meter.spend_characters(len(value))
    return value


def _require_list(function: str, value: Any, meter: Meter) -> list[Any]:
    if type(value) is not list:
        raise ExpressionFailed(f"{function} is not defined for {type_name(value)}")
    meter.spend_items(len(value))
    return value


def _require_number(function: str, value: Any) -> int | float:
    if type(value) is int or type(value) is float:
        return check_number(value)
    raise ExpressionFailed(f"{function} is not defined for {type_name(value)}")


def _require_comparable(function: str, arguments: Sequence[Any], meter: Meter) -> Sequence[Any]:
    """Return the arguments, or the items of a single list argument; all numbers or all texts, else it fails."""
    values = _require_list(function, arguments[0], meter) if len(arguments) == 1 else arguments
    kinds = {type(check_value(value)) for value in values}
    if kinds <= {int, float} or kinds <= {str}:
        return values
    raise ExpressionFailed(f"{function} takes only numbers or only strings")


def _to_integer(number: int | float) -> int:
    return int(check_number(int(number)))


def _parse_number(function: str, text: str, pattern: re.Pattern[str], meter: Meter) -> int | float:
    meter.spend_characters(len(text))
    written = text.strip()
    if pattern.fullmatch(written) is None:
        raise ExpressionFailed(f"{function} cannot read {text[:40]!a}")
    return check_number(int(written) if _DIGITS.fullmatch(written) else float(written))


def _count_seconds(length: timedelta) -> int | float:
    return length // timedelta(seconds=1) if length.microseconds == 0 else length.total_seconds()
