"""The OpenAPI document as callers get it, made once for all workers of a run: that takes seconds."""

import fcntl
from collections.abc import Iterator
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

from config.common.web.json_codec import decode_json
from tests.settings import SHARED


@cache
def document() -> Any:
    kept = SHARED / "openapi.json"
    with (SHARED / "openapi.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the file
        if not kept.exists():
            found = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
            half = kept.with_suffix(".half")
            half.write_bytes(OpenApiJsonRenderer().render(found))
            half.rename(kept)
    return decode_json(kept.read_bytes())


def operations() -> Iterator[tuple[str, str, Any]]:
    """Yield method, path and description of every call."""
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation
