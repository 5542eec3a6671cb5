"""Between JSON, which variables are, and values of FEEL. Numbers are read by their digits: 0.1 is exactly that."""

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from processes.workflows.engine.feel.functions.strings import format_number
from processes.workflows.engine.feel.limits import Meter
from processes.workflows.engine.feel.temporal import (
    format_temporal,
    parse_date,
    parse_datetime,
    parse_duration,
    parse_time,
)
from processes.workflows.engine.feel.values import NUMBERS, TEMPORAL, Range


class JsonNames(Mapping[str, Any]):
    """Variables as values of FEEL, each converted when it is first asked for."""

    __slots__ = ("_found", "_given", "_meter", "_types")

    def __init__(self, given: Mapping[str, Any], meter: Meter, types: Mapping[str, str] | None = None) -> None:
        self._given = given
        self._meter = meter
        self._types = types or {}
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            value = from_json(self._given[name], self._meter)
            self._found[name] = read_as(value, self._types.get(name, ""))
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def from_json(value: Any, meter: Meter) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return NUMBERS.create_decimal(value)
    if isinstance(value, float):
        number = NUMBERS.create_decimal(repr(value))
        return number if number.is_finite() else None
    if isinstance(value, list):
        meter.spend_items(len(value))
        return [from_json(item, meter) for item in value]
    if isinstance(value, dict):
        meter.spend_items(len(value))
        return {key: from_json(item, meter) for key, item in value.items()}
    return None


def to_json(value: Any, meter: Meter) -> Any:
    """Convert a result; what is in it several times counts as often, for it is written as often."""
    if isinstance(value, str):
        meter.spend_characters(len(value))
        return value
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Decimal):
        return to_number(value)
    if isinstance(value, TEMPORAL):
        return format_temporal(value)
    if isinstance(value, list):
        meter.spend(1 + len(value))
        return [to_json(item, meter) for item in value]
    if isinstance(value, dict):
        meter.spend(1 + len(value))
        return {key: to_json(item, meter) for key, item in value.items()}
    return _format_range(value) if isinstance(value, Range) else None


def to_number(number: Decimal) -> int | float | None:
    """Return a whole number where it is one and fits into 64 bits, else a float; None where none is that large."""
    if number == number.to_integral_value() and abs(number) < 2**63:
        return int(number)
    value = float(number)
    return value if math.isfinite(value) else None


def _format_range(span: Range) -> str:
    ends = (
        format_number(end) if isinstance(end, Decimal) else format_temporal(end) if isinstance(end, TEMPORAL) else end
        for end in (span.low, span.high)
    )
    low, high = (str(end) if end is not None else "" for end in ends)
    return f"{'[' if span.includes_low else '('}{low}..{high}{']' if span.includes_high else ')'}"


def read_as(value: Any, type_name: str) -> Any:
    """Read text as the temporal type that a file declares for it; JSON has no dates of its own."""
    parse = _TEMPORAL_TYPES.get(type_name.rpartition(":")[2].replace(" ", "").lower())
    if parse is None or not isinstance(value, str):
        return value
    found = parse(value)
    return value if found is None else found


def _parse_any_datetime(text: str) -> Any:
    return parse_datetime(text) or parse_date(text)


_TEMPORAL_TYPES: dict[str, Callable[[str], Any]] = {
    "date": parse_date,
    "time": parse_time,
    "datetime": _parse_any_datetime,
    "dateandtime": _parse_any_datetime,
    "duration": parse_duration,
    "daytimeduration": parse_duration,
    "daysandtimeduration": parse_duration,
    "yearmonthduration": parse_duration,
    "yearsandmonthsduration": parse_duration,
}
