"""`/workflows/external-tasks/`: work for outside workers, fetched under a lock, completed or failed."""

from datetime import timedelta

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from processes.workflows.api import shapes
from processes.workflows.errors import Abandoned, NotLocked, NotPossible, TaskNotFound
from processes.workflows.presentation import present_fetched, present_instance, present_lock
from processes.workflows.services.work_items import (
    complete_external_task,
    extend_lock,
    fail_external_task,
    fetch_external_tasks,
    raise_external_error,
)


class FetchView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_external_fetch",
        summary="Fetch external tasks",
        tags=["workflows"],
        request=shapes.FetchSerializer,
        responses=shapes.FetchedListSerializer,
    )
    def post(self, request: Request) -> Response:
        """Fetch and lock tasks of a topic, the oldest first. A lock that runs out frees the task for another worker."""
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

    @describe_call(
        operation_id="workflow_external_complete",
        summary="Complete an external task",
        tags=["workflows"],
        request=shapes.CompleteSerializer,
        responses=shapes.InstanceSerializer,
        errors=[TaskNotFound, NotLocked, Abandoned, NotPossible],
    )
    def post(self, request: Request, task: str) -> Response:
        """Complete a task that the worker has locked; its variables go into the instance."""
        serializer = shapes.CompleteSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = {"variables": {}, **serializer.validated_data}
        head = complete_external_task(task=task, actor=actor_of(request), at=timezone.now(), **values)
        return Response(present_instance(head))


class FailView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_external_fail",
        summary="Report a failed external task",
        tags=["workflows"],
        request=shapes.FailSerializer,
        responses={204: None},
        errors=[TaskNotFound, NotLocked, Abandoned, NotPossible],
    )
    def post(self, request: Request, task: str) -> Response:
        """Give a task back, or raise a BPMN error at it.

        Without a `code` it is offered again after `delay` seconds, or with no `retries` left becomes an incident. What
        of these the call leaves out, the file says by its retries; where it says nothing, there is no other attempt.
        With a `code`, the nearest error event that catches the code goes on with the `variables`, whatever `retries`
        says; where nothing catches it, that is an incident.
        """
        serializer = shapes.FailSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        if "code" in values:
            raise_external_error(
                task=task,
                worker=values["worker"],
                code=values["code"],
                message=values.get("error_message") or values.get("error", ""),
                variables=values.get("variables", {}),
                actor=actor_of(request),
                at=timezone.now(),
            )
        else:
            fail_external_task(
                task=task,
                worker=values["worker"],
                error=values["error"],
                retries=values.get("retries"),
                delay=timedelta(seconds=values["delay"]) if "delay" in values else None,
                at=timezone.now(),
            )
        return Response(status=204)


class ExtendLockView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_external_extend_lock",
        summary="Extend the lock of an external task",
        tags=["workflows"],
        request=shapes.ExtendLockSerializer,
        responses=shapes.LockSerializer,
        errors=[TaskNotFound, NotLocked, Abandoned, NotPossible],
    )
    def post(self, request: Request, task: str) -> Response:
        """Keep a task that the worker has locked for `lock_seconds` from now on."""
        serializer = shapes.ExtendLockSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        lock = timedelta(seconds=values["lock_seconds"])
        return Response(present_lock(extend_lock(task=task, worker=values["worker"], lock=lock)))
