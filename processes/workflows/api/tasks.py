"""`/workflows/tasks/`: open tasks; whose they are and by when."""

from collections.abc import Callable
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.errors import Invalid
from config.common.web.pagination import paginate
from processes.workflows.api import shapes
from processes.workflows.errors import Abandoned, NotPossible, TaskNotFound, TaskTaken
from processes.workflows.models import WorkItem
from processes.workflows.presentation import present_task
from processes.workflows.selectors import DUE_ORDER, filter_tasks
from processes.workflows.services.task_assignment import (
    Schedule,
    assign_task,
    claim_task,
    find_task,
    release_task,
    schedule_task,
)
from processes.workflows.task_rights import Person, person_of


class TasksView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_tasks_list",
        summary="List open tasks",
        tags=["workflows"],
        parameters=[shapes.TaskQuery, *PAGE_PARAMETERS],
        responses=shapes.OpenTaskListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the open tasks of all instances, oldest first.

        With any of the filters: those of people alone, by due date, then by priority.
        """
        serializer = shapes.TaskQuery(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        asked = {name: value for name, value in serializer.validated_data.items() if value}
        found = paginate(request, filter_tasks(**asked), order=DUE_ORDER if asked else ["pk"])
        return Response({"results": [present_task(item) for item in found.results], "next": found.next})


class TaskView(ApiView):
    """The base of what is done to one task; its assignee and its candidates need no scope but that of reading."""

    scopes = {"POST": Scope.WORKFLOWS_READ}

    def change(self, request: Request, task: str, act: Callable[[int, Person], WorkItem]) -> Response:
        item = act(find_task(task).pk, person_of(request.user))
        return Response(present_task(item))


ERRORS: list[Any] = [TaskNotFound, NotPossible, Abandoned]


class ClaimView(TaskView):
    @describe_call(
        operation_id="workflow_tasks_claim",
        summary="Claim a task",
        tags=["workflows"],
        request=shapes.ClaimSerializer,
        responses=shapes.OpenTaskSerializer,
        errors=[*ERRORS, TaskTaken],
    )
    def post(self, request: Request, task: str) -> Response:
        """Make a task that nobody has somebody's own; of two at once one has it, and the other is told who.

        A member of staff who is a candidate, or may change workflows, claims it for themselves; a service key with
        `workflows:write` names the `assignee`. Said twice it is once. No new version of the instance is made.
        """
        serializer = shapes.ClaimSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        name = serializer.validated_data.get("assignee", "")
        if not (name or person_of(request.user).name):
            raise Invalid({"assignee": ["A key has no name of its own: say whose the task is to be."]})
        return self.change(request, task, lambda pk, person: claim_task(pk, person, actor=actor_of(request), name=name))


class UnclaimView(TaskView):
    @describe_call(
        operation_id="workflow_tasks_unclaim",
        summary="Give a task back",
        tags=["workflows"],
        request=None,
        responses=shapes.OpenTaskSerializer,
        errors=ERRORS,
    )
    def post(self, request: Request, task: str) -> Response:
        """Give a task back: to whoever has delegated it, else to its candidates."""
        return self.change(request, task, lambda pk, person: release_task(pk, person, actor=actor_of(request)))


class AssignView(TaskView):
    @describe_call(
        operation_id="workflow_tasks_assign",
        summary="Assign or delegate a task",
        tags=["workflows"],
        request=shapes.AssignSerializer,
        responses=shapes.OpenTaskSerializer,
        errors=ERRORS,
    )
    def post(self, request: Request, task: str) -> Response:
        """Give a task to a member of staff. If its assignee does so, they stay its owner: given back, it is theirs."""
        serializer = shapes.AssignSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        name = serializer.validated_data["assignee"]
        return self.change(request, task, lambda pk, person: assign_task(pk, person, name, actor=actor_of(request)))


class ScheduleView(TaskView):
    @describe_call(
        operation_id="workflow_tasks_set",
        summary="Schedule a task",
        tags=["workflows"],
        request=shapes.ScheduleSerializer,
        responses=shapes.OpenTaskSerializer,
        errors=ERRORS,
    )
    def post(self, request: Request, task: str) -> Response:
        """Set when a task is due and to be followed up, and its priority.

        What is left out stays as it is; `null` is at no time.
        """
        serializer = shapes.ScheduleSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        said = serializer.validated_data

        def act(pk: int, person: Person) -> WorkItem:
            return schedule_task(pk, person, Schedule(**said), actor=actor_of(request))

        return self.change(request, task, act)
