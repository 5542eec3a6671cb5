"""`/workflows/instances/`: instances, their commands, versions and returns."""

from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.errors import Invalid
from config.common.web.pagination import RenderedRows, paginate
from processes.workflows.api import shapes
from processes.workflows.api.batch_shapes import InstanceQuery
from processes.workflows.errors import (
    Abandoned,
    DefinitionNotFound,
    InstanceNotFound,
    NotPossible,
    RevisionNotFound,
    TaskNotFound,
    VersionConflict,
    VersionNotFound,
)
from processes.workflows.filters import filter_instances
from processes.workflows.heads import get_head
from processes.workflows.presentation import (
    present_difference,
    present_instance,
    present_instances,
    present_version,
    present_versions,
)
from processes.workflows.selectors import get_version, list_versions
from processes.workflows.services.commands import command_instance
from processes.workflows.services.returns import preview_return, return_instance
from processes.workflows.services.start import StartRequest, start_instance


class InstancesView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ, "POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_instances_list",
        summary="List workflow instances",
        tags=["workflows"],
        parameters=[InstanceQuery, *PAGE_PARAMETERS],
        responses=shapes.InstanceListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List instances, newest first, by everything that is asked for.

        `element` and `variable` find instances that have not ended: where they stand, and the values of their top-level
        variables that are texts of at most 200 characters, numbers or booleans. `incident` finds a part of the text of
        an open incident, in English as it is stored.
        """
        serializer = InstanceQuery(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        rendered = RenderedRows(present_instances)
        rows = filter_instances(serializer.read())
        found = paginate(request, rows, order=["-id"], weigh=rendered.weigh)
        return Response({"results": rendered.results(found.results), "next": found.next})

    @describe_call(
        operation_id="workflow_instances_start",
        summary="Start a workflow instance",
        tags=["workflows"],
        request=shapes.StartInstanceSerializer,
        responses={201: shapes.InstanceSerializer},
        errors=[DefinitionNotFound, RevisionNotFound, NotPossible],
    )
    def post(self, request: Request) -> Response:
        """Start an instance of a definition: of its newest revision, unless another is named."""
        serializer = shapes.StartInstanceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        head = start_instance(StartRequest(**serializer.validated_data), actor=actor_of(request), at=timezone.now())
        return Response(present_instance(head), status=201)


class InstanceView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_instances_get",
        summary="Read a workflow instance",
        tags=["workflows"],
        responses=shapes.InstanceSerializer,
        errors=[InstanceNotFound],
    )
    def get(self, request: Request, instance_id: UUID) -> Response:
        """Return an instance.

        Its status and version, its variables, where it waits, its tasks, timers and incidents.
        """
        return Response(present_instance(get_head(instance_id)))


class CommandsView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_instances_command",
        summary="Command a workflow instance",
        tags=["workflows"],
        request=shapes.CommandSerializer,
        responses=shapes.InstanceSerializer,
        errors=[InstanceNotFound, RevisionNotFound, VersionConflict, NotPossible, Abandoned, TaskNotFound],
    )
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Give an instance a command. One that was tried and did not go through leaves an incident in the answer.

        BPMN and CMMN: `complete_task` (`task`, `variables`), `send_message` (`name`, `variables`), `set_variables`
        (`variables`), `suspend`, `resume`, `terminate`, `migrate` (`revision`, `elements`: where elements of other ids
        continue), `retry_incident` (`note`, `variables`). CMMN: `start`, `plan` (a discretionary item), `occur`,
        `disable`, `reenable`, `suspend_item`, `resume_item`, `terminate_item`, `complete_item`, `reactivate_item` (one
        that has failed), each with `item`; `close`, and `reactivate`, by which a case that is suspended or has ended
        goes on. With `expected_version` the command is refused when the instance has moved on.
        """
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

    @describe_call(
        operation_id="workflow_versions_list",
        summary="List the versions of an instance",
        tags=["workflows"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.VersionListSerializer,
        errors=[InstanceNotFound],
    )
    def get(self, request: Request, instance_id: UUID) -> Response:
        """List every state that the instance has been in, newest first."""
        get_head(instance_id)
        rendered = RenderedRows(present_versions)
        found = paginate(request, list_versions(instance_id), order=["-number"], weigh=rendered.weigh)
        return Response({"results": rendered.results(found.results), "next": found.next})


class VersionView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_versions_get",
        summary="Read a version of an instance",
        tags=["workflows"],
        responses=shapes.VersionSerializer,
        errors=[InstanceNotFound, VersionNotFound],
    )
    def get(self, request: Request, instance_id: UUID, number: int) -> Response:
        """Return one state that the instance has been in: what caused it, who, when, and its variables."""
        return Response(present_version(get_version(instance_id, number)))


class DifferenceView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_versions_compare",
        summary="Compare two versions",
        tags=["workflows"],
        parameters=[shapes.DifferenceQuery],
        responses=shapes.DifferenceSerializer,
        errors=[InstanceNotFound, VersionNotFound],
    )
    def get(self, request: Request, instance_id: UUID) -> Response:
        """Compare two versions: which variables and which active elements were added, removed or changed."""
        serializer = shapes.DifferenceQuery(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        before, after = (get_version(instance_id, serializer.validated_data[name]) for name in ("from", "to"))
        return Response(present_difference(before, after))


class ReturnView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_instances_return",
        summary="Return to an earlier version",
        tags=["workflows"],
        request=shapes.ReturnSerializer,
        responses=PolymorphicProxySerializer(
            "Returned", [shapes.InstanceSerializer, shapes.PreviewSerializer], resource_type_field_name=None
        ),
        errors=[InstanceNotFound, VersionNotFound, VersionConflict, NotPossible],
    )
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Make an earlier version the present again; with `dry_run` say what that would do, and change nothing.

        The answer is the instance, or for a dry run what would be cancelled, restarted, and cannot be taken back.
        """
        serializer = shapes.ReturnSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        version, at = serializer.validated_data["version"], timezone.now()
        if serializer.validated_data["dry_run"]:
            return Response(preview_return(instance_id, version=version, at=at))
        reason = serializer.validated_data["reason"]
        head = return_instance(instance_id, version=version, reason=reason, actor=actor_of(request), at=at)
        return Response(present_instance(head))
