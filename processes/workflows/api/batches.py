"""`/workflows/batches/`: one operation over many instances, with a dry run and an undo."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import paginate
from processes.workflows.api import batch_shapes as shapes
from processes.workflows.errors import BatchNotFound, NotPossible, TooManyBatches, TooManyInstances
from processes.workflows.filters import filter_instances
from processes.workflows.models import BatchItem, WorkflowBatch, WorkflowInstance
from processes.workflows.presentation import present_batch, present_batch_item
from processes.workflows.selectors import list_outcomes
from processes.workflows.services.batches.create import (
    BatchRequest,
    carry_out,
    create_batch,
    get_batch,
    stop_batch,
    undo_batch,
)

PARAMETERS = ("variables", "revision", "elements", "note")


class BatchesView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ, "POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_batches_list",
        summary="List batches",
        tags=["workflows"],
        parameters=PAGE_PARAMETERS,
        responses=shapes.BatchListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the batches of the last 30 days, newest first."""
        found = paginate(request, WorkflowBatch.objects.all(), order=["-id"])
        return Response({"results": [present_batch(batch) for batch in found.results], "next": found.next})

    @describe_call(
        operation_id="workflow_batches_create",
        summary="Change many instances",
        tags=["workflows"],
        request=shapes.BatchSerializer,
        responses={201: shapes.BatchDetailSerializer},
        errors=[TooManyInstances, TooManyBatches],
    )
    def post(self, request: Request) -> Response:
        """Do one operation to all instances that a filter finds now, or that are named; at most 10,000.

        The operations are `retry` (every open incident of an instance; `note`), `suspend`, `resume`, `set_variables`
        (`variables`), `migrate` (`revision`, `elements`) and `terminate`. A filter without a status means instances
        that have not ended. The work is done in the background, each instance once, and goes on after a crash: ask for
        the batch until its status is `done`; `stop/` ends it before. With `dry_run` nothing is changed: when the
        status is `checked`, the answer says how many would change and why others would be refused, and `run/` carries
        it out over the same instances.
        """
        serializer = shapes.BatchSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        said = serializer.validated_data
        if "filter" in said:
            wanted, rows = dict(serializer.initial_data["filter"]), filter_instances(shapes.read_filter(said["filter"]))
        else:
            rows = WorkflowInstance.objects.filter(pk__in=said["instances"])
            wanted = {"instances": len(said["instances"])}
        asked = BatchRequest(
            said["operation"],
            {name: said[name] for name in PARAMETERS if name in said},
            wanted,
            is_dry_run=said["dry_run"],
            ended_too="instances" in said or "status" in said["filter"],
        )
        return Response(_present_whole(create_batch(asked, rows, actor=actor_of(request))), status=201)


class BatchView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_batches_get",
        summary="Read a batch",
        tags=["workflows"],
        responses=shapes.BatchDetailSerializer,
        errors=[BatchNotFound],
    )
    def get(self, request: Request, batch_id: UUID) -> Response:
        """Return how far a batch has come, and what has become of how many instances, with reasons and examples."""
        return Response(_present_whole(get_batch(batch_id)))


class BatchItemsView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_batches_instances",
        summary="List the instances of a batch",
        tags=["workflows"],
        parameters=[shapes.BatchItemQuery, *PAGE_PARAMETERS],
        responses=shapes.BatchItemListSerializer,
        errors=[BatchNotFound],
    )
    def get(self, request: Request, batch_id: UUID) -> Response:
        """List the instances of a batch, with what became of each, and its versions before and after."""
        serializer = shapes.BatchItemQuery(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        rows = BatchItem.objects.filter(batch=get_batch(batch_id), **serializer.validated_data)
        found = paginate(request, rows, order=["instance"])
        return Response({"results": [present_batch_item(item) for item in found.results], "next": found.next})


class RunView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_batches_run",
        summary="Carry out a dry run, or continue a stopped batch",
        tags=["workflows"],
        request=None,
        responses=shapes.BatchDetailSerializer,
        errors=[BatchNotFound, NotPossible],
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        """Do what a dry run has tried out, over the same instances; each is judged anew when its turn comes.

        A batch that was stopped goes on with the instances that it had not come to.
        """
        return Response(_present_whole(carry_out(batch_id, actor=actor_of(request))))


class StopView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_batches_stop",
        summary="Stop a batch",
        tags=["workflows"],
        request=None,
        responses=shapes.BatchDetailSerializer,
        errors=[BatchNotFound, NotPossible],
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        """Leave the instances alone that a batch with the status `running` has not come to yet.

        Those that it has changed stay changed: `undo/` returns them, `run/` continues with the others.
        """
        return Response(_present_whole(stop_batch(batch_id, actor=actor_of(request))))


class UndoView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_batches_undo",
        summary="Undo a batch",
        tags=["workflows"],
        request=shapes.UndoSerializer,
        responses=shapes.BatchDetailSerializer,
        errors=[BatchNotFound, NotPossible],
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        """Return the instances to the versions that they had before the batch, in the background.

        An instance that has gone on since stays as it is (`kept`), with the reason. What a batch has done outside is
        treated as by any return: what has not left is cancelled, what has not arrived recalled.
        """
        serializer = shapes.UndoSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        reason = serializer.validated_data.get("reason", "")
        return Response(_present_whole(undo_batch(batch_id, reason=reason, actor=actor_of(request))))


def _present_whole(batch: WorkflowBatch) -> dict[str, Any]:
    return {**present_batch(batch), "outcomes": [asdict(each) for each in list_outcomes(batch.pk)]}
