"""`/workflows/definitions/`: published files as numbered revisions, with their sources and diagrams."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.common.errors import NotFound
from config.common.times import format_time
from config.common.web.json_codec import JSONParser
from config.common.web.pagination import paginate
from processes.workflows.api import shapes
from processes.workflows.diagrams import respond_with_diagram
from processes.workflows.models import WorkflowDefinition, WorkflowRevision
from processes.workflows.selectors import get_revision, list_revisions
from processes.workflows.services.publish import publish_definition


class NoDiagram(NotFound):
    """This file holds no diagram, so there is nothing to draw."""


class DefinitionsView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ, "POST": Scope.WORKFLOWS_WRITE}
    parser_classes = [JSONParser, MultiPartParser]

    @extend_schema(
        operation_id="workflow_definitions_list",
        tags=["workflows"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.DefinitionListSerializer,
    )
    def get(self, request: Request) -> Response:
        found = paginate(request, WorkflowDefinition.objects.all(), order=["key"])
        return Response({"results": [_definition(each) for each in found.results], "next": found.next})

    @extend_schema(
        operation_id="workflow_definitions_publish",
        tags=["workflows"],
        request={"application/json": shapes.PublishSerializer, "multipart/form-data": shapes.UploadSerializer},
        responses={200: shapes.PublishedSerializer, 201: shapes.PublishedSerializer},
    )
    def post(self, request: Request) -> Response:
        """Publish a file as the next revision of its definition; the same source again is the same revision."""
        source, enterprise = _read(request)
        published = publish_definition(source=source, enterprise=enterprise, actor=actor_of(request), at=timezone.now())
        answer = {"key": published.key, "revision": published.revision, "kind": published.kind}
        return Response(answer, status=201 if published.is_new else 200)


class RevisionsView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @extend_schema(
        operation_id="workflow_revisions_list",
        tags=["workflows"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.RevisionListSerializer,
    )
    def get(self, request: Request, key: str) -> Response:
        found = paginate(request, list_revisions(key).select_related("definition"), order=["-number"])
        return Response({"results": [_revision(each) for each in found.results], "next": found.next})


class RevisionView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @extend_schema(
        operation_id="workflow_revisions_get", tags=["workflows"], responses=shapes.RevisionWithSourceSerializer
    )
    def get(self, request: Request, key: str, number: int) -> Response:
        revision = get_revision(key, number)
        source = bytes(revision.source).decode("utf-8", errors="replace")
        return Response({**_revision(revision), "source": source})


class DiagramView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @extend_schema(
        operation_id="workflow_revisions_diagram",
        tags=["workflows"],
        responses={(200, "image/svg+xml"): OpenApiTypes.STR},
    )
    def get(self, request: Request, key: str, number: int) -> HttpResponse:
        """Draw the diagram that the file holds."""
        answer = respond_with_diagram(get_revision(key, number))
        if answer is None:
            raise NoDiagram
        return answer


def _read(request: Request) -> tuple[bytes, str | None]:
    if isinstance(request.data, dict) and not request.FILES and "file" not in request.data:
        serializer: Any = shapes.PublishSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        return serializer.validated_data["source"].encode(), serializer.validated_data.get("enterprise")
    serializer = shapes.UploadSerializer(data=request.data)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data["file"].read(), serializer.validated_data.get("enterprise")


def _definition(definition: WorkflowDefinition) -> dict[str, Any]:
    return {
        "key": definition.key,
        "revision": definition.newest,
        "kind": definition.kind,
        "name": definition.name,
        "enterprise": definition.enterprise_id,
    }


def _revision(revision: WorkflowRevision) -> dict[str, Any]:
    return {
        "key": revision.definition_id,
        "revision": revision.number,
        "kind": revision.definition.kind,
        "at": format_time(revision.created_at),
        "actor": revision.actor,
    }
