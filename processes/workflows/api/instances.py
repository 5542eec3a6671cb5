"""`/workflows/instances/`: instances, their commands, versions and returns; `/workflows/tasks/`: open tasks."""

from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.common.errors import Invalid
from config.common.web.pagination import RenderedRows, paginate
from processes.workflows.api import shapes
from processes.workflows.heads import get_head
from processes.workflows.presentation import (
    present_difference,
    present_instance,
    present_instances,
    present_task,
    present_version,
    present_versions,
)
from processes.workflows.selectors import filter_instances, get_version, list_open_tasks, list_versions
from processes.workflows.services.commands import command_instance
from processes.workflows.services.returns import preview_return, return_instance
from processes.workflows.services.start import StartRequest, start_instance


class InstancesView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ, "POST": Scope.WORKFLOWS_WRITE}

    @extend_schema(
        operation_id="workflow_instances_list",
        tags=["workflows"],
        parameters=[shapes.InstanceQuery, *PAGE_PARAMETERS],
        responses=shapes.InstanceListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List instances, newest first."""
        serializer = shapes.InstanceQuery(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        rendered = RenderedRows(present_instances)
        found = paginate(request, filter_instances(**serializer.validated_data), order=["-id"], weigh=rendered.weigh)
        return Response({"results": rendered.results(found.results), "next": found.next})

    @extend_schema(
        operation_id="workflow_instances_start",
        tags=["workflows"],
        request=shapes.StartInstanceSerializer,
        responses={201: shapes.InstanceSerializer},
    )
    def post(self, request: Request) -> Response:
        """Start an instance of a definition: of its newest revision, unless another is named."""
        serializer = shapes.StartInstanceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        head = start_instance(StartRequest(**serializer.validated_data), actor=actor_of(request), at=timezone.now())
        return Response(present_instance(head), status=201)


class InstanceView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @extend_schema(operation_id="workflow_instances_get", tags=["workflows"], responses=shapes.InstanceSerializer)
    def get(self, request: Request, instance_id: UUID) -> Response:
        return Response(present_instance(get_head(instance_id)))


class CommandsView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @extend_schema(
        operation_id="workflow_instances_command",
        tags=["workflows"],
        request=shapes.CommandSerializer,
        responses=shapes.InstanceSerializer,
    )
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Give an instance a command. One that was tried and did not go through leaves an incident in the answer."""
        if not isinstance(request.data, dict):
            raise Invalid({"command": ["Is required."]})
        serializer = shapes.ExpectedSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        body = {name: value for name, value in request.data.items() if name != "expected_version"}
        expected = serializer.validated_data.get("expected_version")
        at = timezone.now()
        head = command_instance(instance_id, body, actor=actor_of(request), at=at, expected_version=expected)
        return Response(present_instance(head))


class VersionsView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @extend_schema(
        operation_id="workflow_versions_list",
        tags=["workflows"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.VersionListSerializer,
    )
    def get(self, request: Request, instance_id: UUID) -> Response:
        """List every state that the instance has been in, newest first."""
        get_head(instance_id)
        rendered = RenderedRows(present_versions)
        found = paginate(request, list_versions(instance_id), order=["-number"], weigh=rendered.weigh)
        return Response({"results": rendered.results(found.results), "next": found.next})


class VersionView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @extend_schema(operation_id="workflow_versions_get", tags=["workflows"], responses=shapes.VersionSerializer)
    def get(self, request: Request, instance_id: UUID, number: int) -> Response:
        return Response(present_version(get_version(instance_id, number)))


class DifferenceView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @extend_schema(
        operation_id="workflow_versions_compare",
        tags=["workflows"],
        parameters=[shapes.DifferenceQuery],
        responses=shapes.DifferenceSerializer,
    )
    def get(self, request: Request, instance_id: UUID) -> Response:
        """Compare two versions."""
        serializer = shapes.DifferenceQuery(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        before, after = (get_version(instance_id, serializer.validated_data[name]) for name in ("from", "to"))
        return Response(present_difference(before, after))


class ReturnView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @extend_schema(
        operation_id="workflow_instances_return",
        tags=["workflows"],
        request=shapes.ReturnSerializer,
        responses=PolymorphicProxySerializer(
            "Returned", [shapes.InstanceSerializer, shapes.PreviewSerializer], resource_type_field_name=None
        ),
    )
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Return to an earlier version; with `dry_run` say what that would do, and change nothing."""
        serializer = shapes.ReturnSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        version, at = serializer.validated_data["version"], timezone.now()
        if serializer.validated_data["dry_run"]:
            return Response(preview_return(instance_id, version=version, at=at))
        reason = serializer.validated_data["reason"]
        head = return_instance(instance_id, version=version, reason=reason, actor=actor_of(request), at=at)
        return Response(present_instance(head))


class TasksView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @extend_schema(
        operation_id="workflow_tasks_list",
        tags=["workflows"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.OpenTaskListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the open tasks of all instances, oldest first."""
        found = paginate(request, list_open_tasks(), order=["pk"])
        return Response({"results": [present_task(item) for item in found.results], "next": found.next})
