"""What every answer of Django goes through: failures outside of the REST views, and the content security policy."""

import sys

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from config.common.correlation import correlation_id
from config.common.web.failures import Failure, find_failure, internal_failure
from config.common.web.json_codec import encode_json, log_failure

API = "/api/"
DOCS = "/api/v1/docs/"
PUBLIC = (DOCS, "/api/v1/schema/")
ADMIN = "/admin/"

_CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_OWN_PAGES = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'self'; "
)
POLICIES = (
    (DOCS, _OWN_PAGES + "script-src 'self'"),
    (API, _CLOSED),
    # The admin theme's Alpine evaluates expressions; it has no inline script.
    (ADMIN, _OWN_PAGES + "script-src 'self' 'unsafe-eval'"),
    ("/", _CLOSED + "; style-src 'unsafe-inline'"),
)


class FailureMiddleware(MiddlewareMixin):
    """Answer what a view outside of the REST frame could not: the database away, the disk full.

    Synchronous alone, and the innermost: it makes the whole chain run in the thread of the call's slot. With an
    asynchronous chain each middleware hops there and back, which was measured to cost a quarter of a call.
    """

    async_capable = False

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        failure = find_failure(error)
        if failure is None:
            return None  # Django reports it and calls `handle_error` below
        return answer_failure(request, error, failure)


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Set the content security policy by path, unless the view has set one."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        policy = next(policy for start, policy in POLICIES if request.path.startswith(start))
        response.headers.setdefault("Content-Security-Policy", policy)
        return response


class NoStoreMiddleware(MiddlewareMixin):
    """Forbid caches to store what is answered to a key or a session; the description of the API is public."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        of_the_api = request.path.startswith(API) and not request.path.startswith(PUBLIC)
        if of_the_api or "HTTP_AUTHORIZATION" in request.META:
            response.headers.setdefault("Cache-Control", "no-store")
        return response


def handle_exception(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400, 403 and 404 for the URL configuration."""
    failure = find_failure(exception)
    return answer_failure(request, exception, failure or internal_failure())


def handle_error(request: HttpRequest) -> HttpResponse:
    """Answer what failed inside a middleware, and bugs; Django calls this while it handles the exception."""
    error = sys.exc_info()[1]
    failure = None if error is None else find_failure(error)
    if error is None or failure is None:
        return _answer(request, internal_failure())
    return answer_failure(request, error, failure)


def answer_failure(request: HttpRequest, error: BaseException, failure: Failure) -> HttpResponse:
    log_failure(error, failure)
    response = _answer(request, failure)
    # Django would report it once more, with a traceback.
    response._has_been_logged = failure.status >= 500  # type: ignore[attr-defined]
    return response


def _answer(request: HttpRequest, failure: Failure) -> HttpResponse:
    """JSON for the API, a page for people; neither touches the database, which may be what failed."""
    if f"{request.path}/".startswith(API):
        body, kind = encode_json(failure.body()), "application/json"
    else:
        page = render_to_string("failure.html", {"failure": failure, "correlation_id": correlation_id()})
        body, kind = page.encode(), "text/html; charset=utf-8"
    return HttpResponse(body, status=failure.status, content_type=kind, headers=failure.headers)
