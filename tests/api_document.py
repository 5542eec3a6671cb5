"""The OpenAPI document as callers get it, made once for all tests of a worker: that takes seconds."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

from config.common.web.json_codec import decode_json


@cache
def document() -> Any:
    found = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return decode_json(OpenApiJsonRenderer().render(found))


def operations() -> Iterator[tuple[str, str, Any]]:
    """Yield method, path and description of every call."""
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation
