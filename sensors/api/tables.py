"""`/sensors/import/` and `/sensors/export/`: the registry as a file."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile
from django.http import StreamingHttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.common.errors import Invalid
from config.common.web.tables import answer_table
from sensors.api.registry import READ, WRITE, read_filter
from sensors.api.shapes import ImportReportSerializer, SensorQuery
from sensors.errors import BadLines, RegistryMoved
from sensors.services.exports import export_sensors
from sensors.services.imports import import_sensors, plan_import

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_TABLE = {"type": "string", "format": "binary"}


class CsvParser(BaseParser):
    """Passes the body on as it is: the service parses it."""

    media_type = "text/csv"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return stream.read()


class XlsxParser(CsvParser):
    media_type = XLSX


class CsvRenderer(BaseRenderer):
    """Lets a caller ask for CSV; the answer itself is streamed."""

    media_type = "text/csv"
    format = "csv"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        raise NotImplementedError("a table is streamed, never rendered at once")


class TableOrJson(DefaultContentNegotiation):
    """Negotiates by `?format=`; an unknown one is left to the view, which refuses it by field."""

    def filter_renderers(self, renderers: Any, format: str) -> list[Any]:
        return [renderer for renderer in renderers if renderer.format == format] or list(renderers)


class ImportQuery(serializers.Serializer[Any]):
    dry_run = serializers.BooleanField(required=False, help_text=_("say what would happen, and change nothing"))


class ImportView(ApiView):
    scopes = WRITE
    parser_classes = [CsvParser, XlsxParser, MultiPartParser]

    @describe_call(
        operation_id="sensors_import",
        needs_body=True,
        summary="Import sensors from a table",
        tags=["sensors"],
        parameters=[ImportQuery],
        request={
            "text/csv": _TABLE,
            XLSX: _TABLE,
            "multipart/form-data": {"type": "object", "properties": {"file": _TABLE}, "required": ["file"]},
        },
        responses={200: ImportReportSerializer},
        errors=[RegistryMoved],
    )
    def post(self, request: Request) -> Response:
        """Import a CSV or XLSX table, all or nothing; at most 10 MB and 100,000 rows.

        The first line names the columns: `id`, `address`, `notes`, `active`, `heartbeat_timeout`, `clients` (names or
        ids of clients, separated by semicolons; ids also by spaces), `open_limit` (empty: no limit). Known sensors are
        changed, others registered. Every bad line is named in `data.lines` with its number, field and rule, and then
        nothing is imported.
        """
        asked = ImportQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        content, dry_run = _content(request), bool(asked.validated_data.get("dry_run"))
        if not dry_run:
            report = import_sensors(content=content, actor=actor_of(request))
            return Response({"dry_run": False, **asdict(report)})
        plan = plan_import(content)
        if plan.faults:
            raise BadLines(plan.faults)
        return Response({"dry_run": True, **asdict(plan.report())})


class ExportView(ApiView):
    scopes = READ

    @describe_call(
        operation_id="sensors_export",
        summary="Export sensors as a table",
        tags=["sensors"],
        parameters=[SensorQuery],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Download the table that the import takes, of all sensors or of those that the filter finds.

        It has the column `open_limit` where a sensor has a limit.

        A cell that a spreadsheet would take for a formula has an apostrophe before it; the import takes it away again.
        """
        return answer_table(export_sensors(read_filter(request)), name="sensors.csv")


def _content(request: Request) -> bytes:
    if isinstance(request.data, bytes):
        return request.data
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise Invalid({"file": [gettext("Send the file as the body, or as the form part “file”.")]})
    content: bytes = file.read()
    return content
