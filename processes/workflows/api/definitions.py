"""`/workflows/definitions/`: published files as numbered revisions, with their sources and diagrams."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.errors import NotFound
from config.common.times import format_time
from config.common.web.json_codec import JSONParser
from config.common.web.pagination import paginate
from processes.workflows.api import definition_shapes
from processes.workflows.diagrams import mark_report, respond_with_diagram
from processes.workflows.engine.bpmn.xml import MAX_BYTES
from processes.workflows.engine.dialects.report import Drawn, Ran, Report, Translated
from processes.workflows.engine.form_files import FormFile
from processes.workflows.engine.problems import Problem
from processes.workflows.errors import (
    DefinitionNotFound,
    KeyTaken,
    KindDiffers,
    NotExecutable,
    NothingBeside,
    PublishedBefore,
    RevisionNotFound,
    ScenariosFailed,
    ShadowExists,
    TooManyShadows,
)
from processes.workflows.models import WorkflowDefinition, WorkflowRevision
from processes.workflows.selectors import get_revision, list_revisions
from processes.workflows.services.definitions.file_reports import get_file_report
from processes.workflows.services.definitions.library import get_compiled
from processes.workflows.services.definitions.publish import Published, list_problems, publish_definition
from processes.workflows.visits.figures import Period, read_figures


class NoDiagram(NotFound):
    """This file has no diagram, so there is nothing to draw."""


class DefinitionsView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ, "POST": Scope.WORKFLOWS_WRITE}
    parser_classes = [JSONParser, MultiPartParser]

    @describe_call(
        operation_id="workflow_definitions_list",
        summary="List workflow definitions",
        tags=["workflows"],
        parameters=PAGE_PARAMETERS,
        responses=definition_shapes.DefinitionListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the published definitions with their newest revision, in order of key."""
        found = paginate(request, WorkflowDefinition.objects.all(), order=["key"])
        return Response({"results": [_definition(each) for each in found.results], "next": found.next})

    @describe_call(
        operation_id="workflow_definitions_publish",
        needs_body=True,
        summary="Publish a workflow definition",
        tags=["workflows"],
        parameters=[definition_shapes.PublishQuery],
        request={
            "application/json": definition_shapes.PublishSerializer,
            "multipart/form-data": definition_shapes.UploadSerializer,
        },
        responses={200: definition_shapes.PublishedSerializer, 201: definition_shapes.PublishedSerializer},
        errors=[
            *(NotExecutable, ScenariosFailed, KeyTaken, KindDiffers),
            *(PublishedBefore, NothingBeside, ShadowExists, TooManyShadows),
        ],
    )
    def post(self, request: Request) -> Response:
        """Publish a BPMN, CMMN or DMN file as the next revision of its definition; the same source is the same one.

        The file comes as JSON in `source`, or as the part `file` of a form; each executable process and each decision
        in it is a definition of its own, under its id. What cannot run is not stored: 400 `not_executable` names each
        element, its line and what is wrong with it. Files of other tools are translated: `report` lists what runs,
        what was translated and how, and what is only drawn. Forms of JSON that user tasks link to are sent with the
        file, as `forms`, and become a part of it; one that is missing is listed as only drawn. With `strict=true` a
        file of which something would have no effect is refused the same way; with `drawing=true` one that cannot run
        is kept to look at, and cannot be started. `warnings` lists what may be wrong although it can run: elements
        that nothing leads to, joins that wait for ever, conditions and rules that overlap or leave gaps, timers in the
        past. What does otherwise than the scenarios of its definition expect is 409 `scenarios_failed`. With
        `shadow=true` the current revision goes on starting instances, and the new one is tried beside it: see
        `…/shadow/`.
        """
        source, enterprise, forms = _read(request)
        query = definition_shapes.PublishQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        published = publish_definition(
            source=source,
            enterprise=enterprise,
            actor=actor_of(request),
            at=timezone.now(),
            strict=query.validated_data.get("strict", False),
            drawing=query.validated_data.get("drawing", False),
            forms=forms,
            shadow=query.validated_data.get("shadow", False),
        )
        answer = {
            **_key(published),
            "executable": published.is_executable,
            "shadow": published.is_shadow,
            "definitions": [_key(each) for each in published.definitions],
            **describe_file(published.report, published.problems),
            "warnings": [asdict(finding) for finding in published.warnings],
        }
        return Response(answer, status=201 if published.is_new else 200)


class RevisionsView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_revisions_list",
        summary="List the revisions of a definition",
        tags=["workflows"],
        parameters=PAGE_PARAMETERS,
        responses=definition_shapes.RevisionListSerializer,
        errors=[DefinitionNotFound],
    )
    def get(self, request: Request, key: str) -> Response:
        """List the revisions of a definition, newest first: when and by whom each was published."""
        found = paginate(request, list_revisions(key).select_related("definition"), order=["-number"])
        return Response({"results": [_revision(each) for each in found.results], "next": found.next})


class RevisionView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_revisions_get",
        summary="Read a revision",
        tags=["workflows"],
        responses=definition_shapes.RevisionWithSourceSerializer,
        errors=[DefinitionNotFound, RevisionNotFound],
    )
    def get(self, request: Request, key: str, number: int) -> Response:
        """Return a revision with the XML of its file, and what becomes of everything in it."""
        revision = get_revision(key, number)
        source = bytes(revision.source).decode("utf-8", errors="replace")
        file = get_file_report(revision)
        return Response({**_revision(revision), "source": source, **describe_file(file.report, file.problems)})


class DiagramView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_revisions_diagram",
        summary="Draw a revision",
        tags=["workflows"],
        responses={(200, "image/svg+xml"): OpenApiTypes.STR},
        errors=[DefinitionNotFound, RevisionNotFound, NoDiagram],
    )
    def get(self, request: Request, key: str, number: int) -> HttpResponse:
        """Draw the diagram that the file holds, as SVG."""
        revision = get_revision(key, number)
        answer = respond_with_diagram(revision, mark_report(get_file_report(revision).report))
        if answer is None:
            raise NoDiagram
        return answer


class FiguresView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_revisions_figures",
        summary="Read how often and how long",
        tags=["workflows"],
        parameters=[definition_shapes.FiguresQuery],
        responses=definition_shapes.FiguresSerializer,
        errors=[DefinitionNotFound, RevisionNotFound],
    )
    def get(self, request: Request, key: str, number: int) -> Response:
        """Return how often each element of a revision was entered, how long stays lasted, and how many stand there.

        The figures are those of the heat map: totals that follow the steps of instances within seconds. Elements of
        which nothing is known are left out. The period begins with a whole hour or day, in UTC, or later where the
        counting does: `since` says when. The median is estimated from how many stays there are of which length.
        """
        query = definition_shapes.FiguresQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        revision = get_revision(key, number)
        figures = read_figures(revision, Period(query.validated_data["period"]), now=timezone.now())
        nodes = get_compiled(key, number).nodes if figures.elements else {}
        return Response(
            {
                "key": key,
                "revision": number,
                "period": figures.period.value,
                "since": None if figures.since is None else format_time(figures.since),
                "elements": [
                    {
                        "element": element,
                        "name": nodes[element].name if element in nodes else "",
                        "entered": each.entered,
                        "stays": each.stays,
                        "mean_seconds": _round(each.mean),
                        "median_seconds": _round(each.median),
                        "standing": each.standing,
                    }
                    for element, each in figures.elements.items()
                ],
            }
        )


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _read(request: Request) -> tuple[bytes, str | None, list[FormFile]]:
    if isinstance(request.data, dict) and not request.FILES and "file" not in request.data:
        serializer: Any = definition_shapes.PublishSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        forms = [FormFile(str(form.get("id", "")), msgspec.json.encode(form)) for form in values.get("forms", ())]
        return values["source"].encode(), values.get("enterprise"), forms
    serializer = definition_shapes.UploadSerializer(data=request.data)
    serializer.is_valid(raise_exception=True)
    values = serializer.validated_data
    forms = [FormFile(form.name or "", form.read(MAX_BYTES + 1)) for form in values.get("forms", ())]
    return values["file"].read(), values.get("enterprise"), forms


def describe_file(report: Report, problems: Sequence[Problem]) -> dict[str, Any]:
    """Return the three lists of a file and its problems, as JSON."""
    lists = {
        "runs": [_entry(entry, "what") for entry in report.runs],
        "translated": [_entry(entry, "what", "before", "after") for entry in report.translated],
        "drawn": [_entry(entry, "what", "why") for entry in report.drawn],
    }
    return {"report": {**lists, "more": report.more}, "problems": list_problems(problems)}


def _entry(entry: Ran | Translated | Drawn, *names: str) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("element", "line", "name", *names)}


def _key(published: Published) -> dict[str, Any]:
    return {"key": published.key, "revision": published.revision, "kind": published.kind}


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
        "executable": revision.is_executable,
        "version_tag": revision.version_tag,
    }
