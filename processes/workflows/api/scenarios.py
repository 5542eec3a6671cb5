"""`/workflows/definitions/{key}/scenarios/`: what a definition is expected to do."""

from typing import Any

import msgspec
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.common.errors import Invalid
from config.common.times import format_time
from processes.workflows.api import definition_shapes
from processes.workflows.errors import DefinitionNotFound, RevisionNotFound
from processes.workflows.models import WorkflowDefinition, WorkflowScenarios
from processes.workflows.selectors import get_definition, get_revision
from processes.workflows.services.definitions.library import get_compiled
from processes.workflows.services.definitions.scenarios import rehearse, save_scenarios


class ScenariosView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ, "PUT": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_scenarios_get",
        summary="Read the scenarios of a definition",
        tags=["workflows"],
        responses=definition_shapes.ScenariosSerializer,
        errors=[DefinitionNotFound],
    )
    def get(self, request: Request, key: str) -> Response:
        """Return the scenarios as they were saved; a definition that has none answers an empty list."""
        return Response(_present(get_definition(key)))

    @describe_call(
        operation_id="workflow_scenarios_save",
        needs_body=True,
        summary="Replace the scenarios of a definition",
        tags=["workflows"],
        request=definition_shapes.ScenariosBody,
        responses=definition_shapes.ScenariosSerializer,
        errors=[DefinitionNotFound],
    )
    def put(self, request: Request, key: str) -> Response:
        """Save what the definition is expected to do; from now on a file that does otherwise is not published.

        Each scenario has a name and steps, and may have `variables`, a `record` and a `start` event. A step completes a
        task (`complete`), does work of a service task (`work`, with `error` to fail it by a code), sends a `message` or
        an `event`, lets time pass (`wait`: `PT1H`), gives a case's `item` a `command`, or compares (`expect` with
        `status`, `path`, `passes`, `avoids`, `variables`, `tasks`).
        """
        definition = get_definition(key)
        if not isinstance(request.data, dict) or set(request.data) != {"scenarios"}:
            raise Invalid({"scenarios": ["This field is required."]})
        text = msgspec.json.encode(request.data["scenarios"]).decode()
        save_scenarios(definition, text, actor=actor_of(request), at=timezone.now())
        return Response(_present(definition))


class RehearsalView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_scenarios_play",
        summary="Play the scenarios of a definition",
        tags=["workflows"],
        request=definition_shapes.RehearsalBody,
        responses=definition_shapes.RehearsalSerializer,
        errors=[DefinitionNotFound, RevisionNotFound],
    )
    def post(self, request: Request, key: str) -> Response:
        """Play all scenarios against a revision, the latest unless another is named; nothing is stored or sent."""
        serializer = definition_shapes.RehearsalBody(data=request.data)
        serializer.is_valid(raise_exception=True)
        definition = get_definition(key)
        revision = get_revision(key, serializer.validated_data.get("revision") or definition.newest)
        found = rehearse(get_compiled(key, revision.number), definition.enterprise_id)
        results = [
            {"scenario": each.name, "passed": each.is_passed, "failures": each.failures, "path": each.path}
            for each in found.played
        ]
        answer = {"revision": revision.number, "passed": not found.failures, "results": results}
        return Response({**answer, "uncovered": found.uncovered})


def _present(definition: WorkflowDefinition) -> dict[str, Any]:
    row = WorkflowScenarios.objects.filter(pk=definition.pk).first()
    if row is None:
        return {"scenarios": [], "saved_at": None, "actor": ""}
    return {"scenarios": msgspec.json.decode(row.body), "saved_at": format_time(row.saved_at), "actor": row.actor}
