"""`describe_call`: what a view says about one of its calls, for the OpenAPI document and whoever reads it."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from drf_spectacular.utils import extend_schema

from config.common.errors import ApplicationError

Errors: TypeAlias = Sequence[type[ApplicationError]] | Callable[[], Sequence[type[ApplicationError]]]
MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def describe_call(
    *,
    operation_id: str,
    summary: str,
    errors: Errors = (),
    needs_body: bool = False,
    **schema: Any,
) -> Callable[[MethodT], MethodT]:
    """Describe a call as `extend_schema` does; the description is the docstring of the method.

    `errors` are those that this call has beside what any call can be refused with (`config.api.call_errors`); a
    function where other apps register them.
    `needs_body` is for a body of several shapes: one of them alone says by its fields whether it is needed.
    """

    def decorate(method: MethodT) -> MethodT:
        described = extend_schema(operation_id=operation_id, summary=summary, **schema)(method)
        shown = described.kwargs["schema"]  # type: ignore[attr-defined]  # extend_schema puts it there
        shown.find_errors = staticmethod(errors if callable(errors) else lambda: errors)
        shown.needs_body = needs_body
        return described

    return decorate
