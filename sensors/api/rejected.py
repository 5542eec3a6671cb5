from django.db.models import F
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import paginate
from sensors.api.history import READ
from sensors.api.history_shapes import RejectedListSerializer
from sensors.models import RejectedSignal

COLUMNS = ("id", "code", "message", "sensor_id", "raw", "count", "minute", "last_at")


class RejectedSignalsView(ApiView):
    scopes = READ

    @extend_schema(
        operation_id="signals_rejected",
        tags=["signals"],
        parameters=PAGE_PARAMETERS,
        responses=RejectedListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List what was refused, with the reason; equal refusals within a minute are one row with their number."""
        rows = RejectedSignal.objects.annotate(minute=F("recorded_at")).values(*COLUMNS)
        found = paginate(request, rows, order=["-id"])
        return Response({"results": found.results, "next": found.next})
