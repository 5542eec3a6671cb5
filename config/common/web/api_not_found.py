"""The answer to every path of the API that is not there."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from config.common.errors import NotFound


@csrf_exempt
def api_not_found(request: HttpRequest) -> HttpResponse:
    """Answer 404. Without a view Django would redirect to the path with a slash, and the body would be lost."""
    raise NotFound
