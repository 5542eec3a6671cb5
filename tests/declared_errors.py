"""Watch the calls of all tests: which of their errors does the OpenAPI document not have?"""

from typing import Any

import pytest
from rest_framework.response import Response
from rest_framework.views import APIView

from config.api.base_view import ApiView
from config.api.call_errors import call_of, errors_of

ANYWHERE = frozenset({"method_not_allowed", "not_acceptable", "not_found", "bad_request"})
"""Of no call in particular: no such method, no such path, no such form of an answer, a broken upload."""


def watch_errors(patch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with the errors of calls that are not declared for them."""
    undeclared: list[str] = []
    finalize = ApiView.finalize_response

    def watch(view: ApiView, request: Any, response: Response, *args: Any, **kwargs: Any) -> Response:
        answer = finalize(view, request, response, *args, **kwargs)
        if 400 <= answer.status_code < 500 and not type(view).__module__.startswith("tests."):
            code, data = answer.data["code"], set(answer.data["data"])
            shown = declared_errors(view, str(request.method))
            if code not in shown.keys() | ANYWHERE or (code in shown and shown[code] not in (None, data)):
                undeclared.append(f"{request.method} {request.path}: {answer.status_code} {code} {sorted(data)}")
        return answer

    patch.setattr(ApiView, "finalize_response", watch)
    return undeclared


def declared_errors(view: APIView, method: str) -> dict[str, set[str] | None]:
    """Return the codes of a call, whether it has a body and an idempotency key or not, and what their data name.

    What any call can have is None: its data are of many kinds.
    """
    method = "GET" if method == "HEAD" else method
    call = call_of(view, method, media_types=["application/json"], headers=["Idempotency-Key"])
    return {error.code: None for error in errors_of(call)} | {error.code: set(error.sample) for error in call.own}
