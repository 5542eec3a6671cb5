import threading
from functools import cache
from typing import Any

from django.http import HttpResponse
from django.utils.translation import get_language, override
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

_RENDERERS: dict[str, Any] = {"json": OpenApiJsonRenderer, "yaml": OpenApiYamlRenderer}
_GENERATOR: Any = SchemaGenerator
_rendering = threading.Lock()


class SchemaView(SpectacularAPIView):
    """The OpenAPI document, in JSON or YAML as the caller accepts it."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer = request.accepted_renderer
        with _rendering:  # whoever asks meanwhile waits for the same one
            document = _render(str(renderer.format), get_language() or "en")
        return HttpResponse(document, content_type=f"{renderer.media_type}; charset=utf-8")


@cache
def _render(form: str, language: str) -> bytes:
    """Make the document once: anyone may ask for it, and it takes seconds of a processor as the API grows."""
    with override(language):
        schema = _GENERATOR().get_schema(public=True)
    document: bytes = _RENDERERS[form]().render(schema, renderer_context={})
    return document
