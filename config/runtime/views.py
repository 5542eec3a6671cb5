"""The pages that machines watch: is the process there, do its engines answer, what has it counted, whom to write to."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from ipaddress import IPv6Address, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from config.access.permissions import ScopePermission
from config.access.scopes import Scope
from config.runtime.health import engine_states
from config.runtime.metrics import render_metrics

SECURITY_TXT_LASTS = timedelta(days=180)
# One thread, so that a hundred probes at once wait for one answer instead of taking a hundred threads.
_asking = ThreadPoolExecutor(1, "readyz")


async def healthz(request: HttpRequest) -> HttpResponse:
    """Answer as long as the process serves; touches no database and no thread."""
    return HttpResponse("ok", content_type="text/plain")


async def readyz(request: HttpRequest) -> HttpResponse:
    """Return the state of each engine; only a missing database takes the node out of service."""
    states = await asyncio.get_running_loop().run_in_executor(_asking, engine_states)
    return JsonResponse(states, status=503 if states["database"] == "down" else 200)


def ingest_liveness(request: HttpRequest) -> HttpResponse:
    """Answer from one of the slots that signals use: a web process calls this to see whether sensors get through."""
    return HttpResponse("ok", content_type="text/plain")


def security_txt(request: HttpRequest) -> HttpResponse:
    """Return the contact for reports of vulnerabilities (RFC 9116)."""
    home = settings.PUBLIC_URL.geturl().rstrip("/")
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    lines = {
        "Contact": f"mailto:{settings.ADMIN_EMAIL}" if settings.ADMIN_EMAIL else f"{home}/",
        "Expires": (today + SECURITY_TXT_LASTS).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Preferred-Languages": "en, ru",
        "Canonical": f"{home}/.well-known/security.txt",
    }
    text = "".join(f"{name}: {value}\n" for name, value in lines.items())
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


class FromAllowedNetwork(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        try:
            address = ip_address(request.META.get("REMOTE_ADDR", ""))
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in settings.METRICS_ALLOWED_NETWORKS)


class _AnyForm(BaseContentNegotiation):
    """Take whatever the caller says it accepts: there is one form, and Prometheus asks for several others first."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class MetricsView(APIView):
    scopes = {"GET": Scope.OPERATIONS}
    permission_classes = [FromAllowedNetwork | ScopePermission]
    content_negotiation_class = _AnyForm
    schema = None

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(render_metrics(), content_type=CONTENT_TYPE_LATEST)
