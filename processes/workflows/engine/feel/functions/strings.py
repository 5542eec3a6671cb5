"""Functions of texts. Positions count from 1; from the end they are negative."""

from decimal import Decimal
from typing import Any

from processes.workflows.engine.feel.functions.registry import define
from processes.workflows.engine.feel.run import Run
from processes.workflows.engine.feel.temporal import format_temporal
from processes.workflows.engine.feel.values import TEMPORAL
from processes.workflows.engine.patterns import MAX_MATCHED, NotPattern, compile_pattern


def format_number(number: Decimal) -> str:
    """Write a number without an exponent and without zeros at its end."""
    text = format(number.normalize(), "f")
    return "0" if text == "-0" else text


@define("string(from)")
def _string(run: Run, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format_number(value)
    return format_temporal(value) if isinstance(value, TEMPORAL) else None


@define("string length(string)")
def _length(run: Run, text: Any) -> Decimal | None:
    return Decimal(len(text)) if isinstance(text, str) else None


@define("substring(string, start position, length)", least=2)
def _substring(run: Run, text: Any, start: Any, length: Any = None) -> str | None:
    if not isinstance(text, str) or not isinstance(start, Decimal) or start == 0:
        return None
    begin = int(start) - 1 if start > 0 else max(len(text) + int(start), 0)
    if length is None:
        return text[begin:]
    return text[begin : begin + int(length)] if isinstance(length, Decimal) and length >= 1 else None


@define("upper case(string)")
def _upper(run: Run, text: Any) -> str | None:
    return _changed(run, text.upper()) if isinstance(text, str) else None


@define("lower case(string)")
def _lower(run: Run, text: Any) -> str | None:
    return _changed(run, text.lower()) if isinstance(text, str) else None


def _changed(run: Run, text: str) -> str:
    run.meter.spend_characters(len(text))
    return text


@define("trim(string)")
def _trim(run: Run, text: Any) -> str | None:
    return text.strip() if isinstance(text, str) else None


@define("substring before(string, match)")
def _before(run: Run, text: Any, match: Any) -> str | None:
    if not isinstance(text, str) or not isinstance(match, str):
        return None
    head, found, _ = text.partition(match) if match else ("", "", "")
    return head if found else ""


@define("substring after(string, match)")
def _after(run: Run, text: Any, match: Any) -> str | None:
    if not isinstance(text, str) or not isinstance(match, str):
        return None
    return text.partition(match)[2] if match else text


@define("contains(string, match)")
def _contains(run: Run, text: Any, match: Any) -> bool | None:
    return match in text if isinstance(text, str) and isinstance(match, str) else None


@define("starts with(string, match)")
def _starts(run: Run, text: Any, match: Any) -> bool | None:
    return text.startswith(match) if isinstance(text, str) and isinstance(match, str) else None


@define("ends with(string, match)")
def _ends(run: Run, text: Any, match: Any) -> bool | None:
    return text.endswith(match) if isinstance(text, str) and isinstance(match, str) else None


# By the standard the delimiter is a regular expression: only one that means itself is taken.
_SPECIAL = frozenset(".^$*+?()[]{}|")


@define("split(string, delimiter)")
def _split(run: Run, text: Any, delimiter: Any) -> list[str] | None:
    if not isinstance(text, str) or not isinstance(delimiter, str):
        return None
    plain = delimiter.replace("\\s", " ")
    literal = plain[1:] if len(plain) == 2 and plain[0] == "\\" else plain
    if not literal or (literal == plain and _SPECIAL & set(plain)):
        return None
    parts = text.split(literal)
    run.meter.spend_items(len(parts))
    return parts


@define("string join(list, delimiter)", least=1)
def _join(run: Run, items: Any, delimiter: Any = "") -> str | None:
    if not isinstance(items, list) or not (delimiter is None or isinstance(delimiter, str)):
        return None
    texts = [item for item in items if item is not None]
    if not all(isinstance(item, str) for item in texts):
        return None
    between = delimiter or ""
    run.meter.spend_characters(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


@define("is blank(string)")
def _is_blank(run: Run, text: Any) -> bool | None:
    return not text.strip() if isinstance(text, str) else None


@define("matches(input, pattern)")
def _matches(run: Run, text: Any, pattern: Any) -> bool | None:
    """Return whether a part of a text matches a pattern of the common subset (see `patterns`)."""
    if not isinstance(text, str) or not isinstance(pattern, str) or len(text) > MAX_MATCHED:
        return None
    is_from_start, is_to_end = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith("\\$")
    inner = pattern.removeprefix("^")
    inner = inner[:-1] if is_to_end else inner
    whole = f"{'' if is_from_start else _ANY}({inner}){'' if is_to_end else _ANY}"
    run.meter.spend(1 + len(text) * (1 + len(pattern)) // 10)
    try:
        return compile_pattern(whole).matches_whole(text)
    except NotPattern:
        return None


_ANY = "(.|\n)*"


@define("replace(input, pattern, replacement)")
def _replace(run: Run, text: Any, pattern: Any, replacement: Any) -> str | None:
    """Replace a text by another; by the standard it is a regular expression: only one that means itself is taken."""
    if not isinstance(text, str) or not isinstance(pattern, str) or not isinstance(replacement, str):
        return None
    if not pattern or _SPECIAL & set(pattern) or "\\" in pattern or "$" in replacement:
        return None
    run.meter.spend_characters(len(text) + text.count(pattern) * len(replacement))
    return text.replace(pattern, replacement)
