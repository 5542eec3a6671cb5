"""Functions of numbers, of booleans and of what can be compared."""

import re
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    ROUND_UP,
    Context,
    Decimal,
    DecimalException,
)
from typing import Any

from processes.workflows.engine.feel.functions.registry import define
from processes.workflows.engine.feel.limits import MAX_DIGITS
from processes.workflows.engine.feel.run import Run
from processes.workflows.engine.feel.values import NUMBERS, check_number, is_equal, type_of

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,100}(?:\.[0-9]{0,100})?|\.[0-9]{1,100})(?:[eE][+-]?[0-9]{1,4})?")
# Wide enough for any scale that may be asked for.
_WIDE = Context(prec=3 * MAX_DIGITS + 100)
_MAX_SCALE = 100


@define("not(negand)")
def _not(run: Run, value: Any) -> bool | None:
    return not value if isinstance(value, bool) else None


@define("is(value1, value2)")
def _is(run: Run, left: Any, right: Any) -> bool:
    return type_of(left) == type_of(right) and is_equal(left, right, run.meter) is True


@define("number(from, grouping separator, decimal separator)", least=1)
def _number(run: Run, text: Any, grouping: Any = None, point: Any = None) -> Decimal | None:
    if isinstance(text, Decimal):
        return text
    if not isinstance(text, str) or grouping not in (None, " ", ",", ".") or point not in (None, ".", ","):
        return None
    plain = text.replace(grouping, "") if grouping else text
    plain = plain.replace(point, ".") if point else plain
    return check_number(NUMBERS.create_decimal(plain)) if _NUMBER.fullmatch(plain) else None


def _round(number: Any, scale: Any, rounding: str) -> Decimal | None:
    if not isinstance(number, Decimal) or not isinstance(scale, Decimal) or abs(scale) > _MAX_SCALE:
        return None
    try:
        return check_number(NUMBERS.plus(number.quantize(Decimal(1).scaleb(-int(scale)), rounding, _WIDE)))
    except DecimalException:
        return number  # it has fewer digits than could be rounded away


@define("decimal(n, scale)")
def _decimal(run: Run, number: Any, scale: Any) -> Decimal | None:
    return _round(number, scale, ROUND_HALF_EVEN)


@define("floor(n, scale)", least=1)
def _floor(run: Run, number: Any, scale: Any = Decimal(0)) -> Decimal | None:
    return _round(number, scale, ROUND_FLOOR)


@define("ceiling(n, scale)", least=1)
def _ceiling(run: Run, number: Any, scale: Any = Decimal(0)) -> Decimal | None:
    return _round(number, scale, ROUND_CEILING)


@define("round up(n, scale)")
def _round_up(run: Run, number: Any, scale: Any) -> Decimal | None:
    return _round(number, scale, ROUND_UP)


@define("round down(n, scale)")
def _round_down(run: Run, number: Any, scale: Any) -> Decimal | None:
    return _round(number, scale, ROUND_DOWN)


@define("round half up(n, scale)")
def _round_half_up(run: Run, number: Any, scale: Any) -> Decimal | None:
    return _round(number, scale, ROUND_HALF_UP)


@define("round half down(n, scale)")
def _round_half_down(run: Run, number: Any, scale: Any) -> Decimal | None:
    return _round(number, scale, ROUND_HALF_DOWN)


@define("abs(n)")
def _abs(run: Run, number: Any) -> Any:
    return abs(number) if isinstance(number, Decimal) or hasattr(number, "days") else None


@define("modulo(dividend, divisor)")
def _modulo(run: Run, dividend: Any, divisor: Any) -> Decimal | None:
    if not isinstance(dividend, Decimal) or not isinstance(divisor, Decimal) or not divisor:
        return None
    try:
        quotient = NUMBERS.divide(dividend, divisor).to_integral_value(ROUND_FLOOR)
        return check_number(NUMBERS.subtract(dividend, NUMBERS.multiply(divisor, quotient)))
    except DecimalException:
        return None


@define("sqrt(number)")
def _sqrt(run: Run, number: Any) -> Decimal | None:
    return NUMBERS.sqrt(number) if isinstance(number, Decimal) and number >= 0 else None


@define("log(number)")
def _log(run: Run, number: Any) -> Decimal | None:
    return NUMBERS.ln(number) if isinstance(number, Decimal) and number > 0 else None


@define("exp(number)")
def _exp(run: Run, number: Any) -> Decimal | None:
    return check_number(NUMBERS.exp(number)) if isinstance(number, Decimal) and abs(number) < 10_000 else None


@define("odd(number)")
def _odd(run: Run, number: Any) -> bool | None:
    return int(number) % 2 == 1 if _is_whole(number) else None


@define("even(number)")
def _even(run: Run, number: Any) -> bool | None:
    return int(number) % 2 == 0 if _is_whole(number) else None


def _is_whole(number: Any) -> bool:
    return isinstance(number, Decimal) and abs(number) < 10**MAX_DIGITS and number == number.to_integral_value()
