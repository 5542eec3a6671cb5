"""The limits of single fields, as the OpenAPI document has them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from config.runtime.bounds.bound import count

UNITS = {"maxLength": "characters", "maximum": "", "maxItems": "entries"}
LENGTH_IN_PATTERN = re.compile(r"\^\[[^\]]+\]\{\d+,(\d+)\}\$")
"""A pattern of one class of characters, which says the length as well."""


@dataclass(frozen=True)
class FieldBound:
    """The limit of one field of a call."""

    method: str
    path: str
    place: str
    field: str
    """With the fields around it: `filter.record`; `clients[]` is an entry of `clients`."""
    rule: str
    limit: float


def field_bounds() -> Iterator[FieldBound]:
    """Read the largest length, number and count of every field and query parameter off the OpenAPI document."""
    document = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for place, name, shape in _fields(document, operation):
                for rule, limit in _limits(shape).items():
                    yield FieldBound(method.upper(), path, place, name, rule, limit)


def field_rows() -> list[str]:
    """Say a limit once for all the methods of a path that share it."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for bound in field_bounds():
        limit = count(bound.limit, UNITS[bound.rule])
        found.setdefault((bound.path.removeprefix("/api/v1"), bound.field, limit), set()).add(bound.method)
    return [
        f"| `{', '.join(sorted(methods))} {path}` | `{field}` | {limit} |"
        for (path, field, limit), methods in sorted(found.items())
    ]


def _fields(document: Any, operation: Any) -> Iterator[tuple[str, str, Any]]:
    for parameter in operation.get("parameters", []):
        yield parameter["in"], parameter["name"], _resolved(document, parameter["schema"])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for name, shape in _inner_fields(document, "", _resolved(document, body.get("schema", {}))):
        yield "body", name, shape


def _inner_fields(document: Any, around: str, shape: Any) -> Iterator[tuple[str, Any]]:
    inner = {f"{around}.{name}".lstrip("."): each for name, each in shape.get("properties", {}).items()}
    if around and "items" in shape:
        inner[f"{around}[]"] = shape["items"]
    for name, each in inner.items():
        found = _resolved(document, each)
        yield name, found
        yield from _inner_fields(document, name, found)


def _limits(shape: Any) -> dict[str, float]:
    # A version, whose smallest is its largest, is no bound.
    limits = {rule: shape[rule] for rule in UNITS if rule in shape and shape.get("minimum") != shape[rule]}
    if "maxLength" not in shape and (found := LENGTH_IN_PATTERN.fullmatch(shape.get("pattern", ""))):
        limits["maxLength"] = int(found[1])
    return limits


def _resolved(document: Any, shape: Any) -> Any:
    """Follow references to where the shape stands."""
    while "$ref" in shape or len(shape.get("allOf", ())) == 1:
        reference = shape.get("$ref")
        shape = document["components"]["schemas"][reference.rpartition("/")[2]] if reference else shape["allOf"][0]
    return shape
