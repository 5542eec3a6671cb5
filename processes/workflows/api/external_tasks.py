"""`/workflows/external-tasks/`: work for outside workers, fetched under a lock, completed or failed."""

from datetime import timedelta

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from processes.workflows.api import shapes
from processes.workflows.presentation import present_fetched, present_instance
from processes.workflows.services.work_items import (
    complete_external_task,
    fail_external_task,
    fetch_external_tasks,
)


class FetchView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @extend_schema(
        operation_id="workflow_external_fetch",
        tags=["workflows"],
        request=shapes.FetchSerializer,
        responses=shapes.FetchedListSerializer,
    )
    def post(self, request: Request) -> Response:
        """Fetch and lock tasks of a topic, the oldest first."""
        serializer = shapes.FetchSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        tasks = fetch_external_tasks(
            topic=values["topic"],
            worker=values["worker"],
            limit=values["max"],
            lock=timedelta(seconds=values["lock_seconds"]),
        )
        return Response({"results": [present_fetched(task) for task in tasks], "next": None})


class CompleteView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @extend_schema(
        operation_id="workflow_external_complete",
        tags=["workflows"],
        request=shapes.CompleteSerializer,
        responses=shapes.InstanceSerializer,
    )
    def post(self, request: Request, task: str) -> Response:
        """Complete a task that the worker holds."""
        serializer = shapes.CompleteSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = {"variables": {}, **serializer.validated_data}
        head = complete_external_task(task=task, actor=actor_of(request), at=timezone.now(), **values)
        return Response(present_instance(head))


class FailView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @extend_schema(
        operation_id="workflow_external_fail",
        tags=["workflows"],
        request=shapes.FailSerializer,
        responses={204: None},
    )
    def post(self, request: Request, task: str) -> Response:
        """Give a task back: to be offered again after the delay, or with no tries left as an incident."""
        serializer = shapes.FailSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        fail_external_task(
            task=task,
            worker=values["worker"],
            error=values["error"],
            retries=values["retries"],
            delay=timedelta(seconds=values["delay"]),
            at=timezone.now(),
        )
        return Response(status=204)
