"""The view that every view of the API is: keys and scopes, rates, idempotency keys."""

import time
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from config.access.authentication import Principal
from config.access.scopes import Scope
from config.api.idempotency import answer_once
from config.api.openapi import find_declared_call
from config.audit.refusals import record_refused_answer
from config.common.database.failures import WHOLE_BODY
from config.common.errors import Invalid
from config.common.web.limits.calls import HEAD_ALONE
from config.common.web.rates import configured_rates, seconds_to_wait
from config.records.models import AccessKey


class KeyThrottle(BaseThrottle):
    """Refuse a key that calls more than `KEY_RATE` times a minute, or with others of its enterprise too often."""

    _wait: int | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        if not isinstance(request.auth, AccessKey) or not isinstance(request.user, Principal):
            return True
        limits = {f"key:{request.auth.prefix}": settings.KEY_RATE}
        if request.user.enterprise is not None:
            limits[f"enterprise:{request.user.enterprise}"] = settings.ENTERPRISE_RATE
        rates, at = configured_rates(), time.time()
        # A call that the first limit refuses does not count against the second.
        waits = (seconds_to_wait(rates, name, limit=limit, at=at) for name, limit in limits.items())
        self._wait = next((wait for wait in waits if wait is not None), None)
        return self._wait is None

    def wait(self) -> int | None:
        return self._wait


class ApiView(APIView):
    """Declare who may call each method; what is not declared is closed.

    A `POST` honours `Idempotency-Key` by running in one transaction with the record of its answer. A view that calls
    the network (see `begin_once`), streams its answer or has ids of its own says `idempotent = False`.
    """

    scopes: ClassVar[Mapping[str, Scope]] = {}
    key_kinds: ClassVar[Mapping[str, Collection[str]]] = {}
    idempotent: ClassVar[bool] = True
    checks_head: ClassVar[bool] = True
    """Key and scope can be checked before the body is there."""
    reads_body_itself: ClassVar[bool] = False
    """The bytes are decoded straight into types, as JSON, whatever the content type says."""

    throttle_classes = [KeyThrottle]
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        # REST framework takes a body without a length, that is a chunked one, for no body.
        if "CONTENT_LENGTH" not in request.META:
            request.META["CONTENT_LENGTH"] = str(len(request.body))
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in self.allowed_methods:
            self._refuse_undeclared(request)
            if _is_head_alone(request):
                setattr(self, (request.method or "").lower(), lambda *_, **__: Response(status=204))
                return
        if request.method == "POST" and self.idempotent and hasattr(self, "post"):
            setattr(self, "post", partial(self._post_once, self.post))  # noqa: B010 (a handler of this request alone)

    def check_throttles(self, request: Request) -> None:
        if not _is_head_alone(request):  # the call itself is counted when its body has come
            super().check_throttles(request)

    def _refuse_undeclared(self, request: Request) -> None:
        """Raise `Invalid` for a query parameter that the call does not have, or for a body where it takes none.

        A mistyped filter would answer with everything, and a caller who sends a reason would believe that it is kept.
        An empty object is no body: some clients send one with every `POST`. Nor is an empty form, which others send;
        what is no JSON is not read at all.
        """
        if request.query_params:
            unknown = sorted(
                request.query_params.keys() - find_declared_call(self).query - {api_settings.URL_FORMAT_OVERRIDE}
            )
            if unknown:
                raise Invalid({name: [gettext("Unknown parameter.")] for name in unknown})
        if find_declared_call(self).has_body or request.content_type.partition(";")[0].strip() != "application/json":
            return
        if request._request.body and request.data not in ({}, None):
            names = sorted(request.data) if isinstance(request.data, dict) else [WHOLE_BODY]
            raise Invalid({name: [gettext("This call takes no body.")] for name in names})

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        record_refused_answer(request, answer)
        return answer

    def _post_once(self, post: Any, request: Request, *args: Any, **kwargs: Any) -> Any:
        return answer_once(request, partial(post, request, *args, **kwargs))


def _is_head_alone(request: Request) -> bool:
    """Say whether the call is looked at before its body has come."""
    return bool(getattr(request._request, "scope", {}).get(HEAD_ALONE))
