"""Functions of contexts and of ranges."""

import re
from typing import Any

from processes.workflows.engine.feel.functions.registry import define
from processes.workflows.engine.feel.run import Run
from processes.workflows.engine.feel.temporal import parse_temporal
from processes.workflows.engine.feel.values import NUMBERS, Range, compare, is_equal, is_in_range


@define("get value(m, key)")
def _get_value(run: Run, context: Any, key: Any) -> Any:
    return context.get(key) if isinstance(context, dict) and isinstance(key, str) else None


@define("get entries(m)")
def _get_entries(run: Run, context: Any) -> list[dict[str, Any]] | None:
    if not isinstance(context, dict):
        return None
    run.meter.spend_items(len(context))
    return [{"key": key, "value": value} for key, value in context.items()]


@define("context put(context, key, value)")
def _put(run: Run, context: Any, key: Any, value: Any) -> dict[str, Any] | None:
    if not isinstance(context, dict) or not isinstance(key, str):
        return None
    run.meter.spend_items(len(context) + 1)
    return {**context, key: value}


@define("context merge(contexts)")
def _merge(run: Run, contexts: Any) -> dict[str, Any] | None:
    if not isinstance(contexts, list) or not all(isinstance(each, dict) for each in contexts):
        return None
    run.meter.spend_items(sum(map(len, contexts)))
    return {key: value for each in contexts for key, value in each.items()}


@define("before(a, b)")
def _before(run: Run, left: Any, right: Any) -> bool | None:
    end, is_end_in = (left.high, left.includes_high) if isinstance(left, Range) else (left, True)
    start, is_start_in = (right.low, right.includes_low) if isinstance(right, Range) else (right, True)
    both_points = not isinstance(left, Range) and not isinstance(right, Range)
    return compare("<" if both_points or (is_end_in and is_start_in) else "<=", end, start)


@define("after(a, b)")
def _after(run: Run, left: Any, right: Any) -> bool | None:
    result: bool | None = _before(run, right, left)
    return result


@define("includes(range, point)")
def _includes(run: Run, span: Any, value: Any) -> bool | None:
    if not isinstance(span, Range):
        return None
    if not isinstance(value, Range):
        return is_in_range(value, span)
    low = compare("<" if value.includes_low and not span.includes_low else "<=", span.low, value.low)
    high = compare(">" if value.includes_high and not span.includes_high else ">=", span.high, value.high)
    return None if low is None or high is None else low and high


@define("during(point, range)")
def _during(run: Run, value: Any, span: Any) -> bool | None:
    result: bool | None = _includes(run, span, value)
    return result


@define("overlaps(range1, range2)")
def _overlaps(run: Run, left: Any, right: Any) -> bool | None:
    if not isinstance(left, Range) or not isinstance(right, Range):
        return None
    apart = (_before(run, left, right), _before(run, right, left))
    return None if None in apart else not any(apart)


@define("coincides(a, b)")
def _coincides(run: Run, left: Any, right: Any) -> bool | None:
    return is_equal(left, right, run.meter)


@define("is defined(value)")
def _is_defined(run: Run, value: Any) -> bool:
    return value is not None


@define("get or else(value, default)")
def _get_or_else(run: Run, value: Any, default: Any) -> Any:
    return default if value is None else value


@define("range(from)")
def _range(run: Run, text: Any) -> Range | None:
    """Read an interval of numbers, dates, times, durations or texts, such as `[1..5]`."""
    match = _RANGE.fullmatch(text) if isinstance(text, str) and len(text) < 500 else None
    ends = [_read_end(match[name]) for name in ("low", "high")] if match else []
    if match is None or None in ends or compare("<=", ends[0], ends[1]) is not True:
        return None
    return Range(ends[0], ends[1], match["open"] == "[", match["close"] == "]")


_RANGE = re.compile(
    r"\s*(?P<open>[\[(\]])(?P<low>[^.]*(?:\.[^.]+)*)\.\.(?P<high>[^.]*(?:\.[^.]+)*)(?P<close>[\])\[])\s*"
)
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?", re.ASCII)


def _read_end(text: str) -> Any:
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return NUMBERS.create_decimal(text)
    if text.startswith('@"') and text.endswith('"'):
        return parse_temporal(text[2:-1])
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else None
