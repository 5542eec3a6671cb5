"""`/workflows/decisions/`: published decisions, evaluated to try them."""

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from processes.workflows.api import definition_shapes
from processes.workflows.engine.dmn.evaluation import EvaluatedDecision
from processes.workflows.errors import DecisionFailed, DefinitionNotFound, NoDecision, RevisionNotFound
from processes.workflows.services.definitions.decisions import try_decision


class EvaluateView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_decisions_evaluate",
        summary="Evaluate a decision",
        tags=["workflows"],
        request=definition_shapes.EvaluateSerializer,
        responses=definition_shapes.EvaluationSerializer,
        errors=[DefinitionNotFound, RevisionNotFound, NoDecision, DecisionFailed],
    )
    def post(self, request: Request, key: str) -> Response:
        """Evaluate a decision for these variables, with the rules that match; nothing is stored.

        The newest revision is evaluated, unless another is named. `decisions` lists what was evaluated on the way, the
        decision itself last.
        """
        serializer: Any = definition_shapes.EvaluateSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        given = serializer.validated_data
        tried = try_decision(key, given.get("revision"), given.get("variables", {}), at=timezone.now())
        return Response(
            {
                "key": key,
                "revision": tried.revision,
                "result": tried.evaluation.result,
                "decisions": [present_decision(each) for each in tried.evaluation.decisions],
            }
        )


def present_decision(decision: EvaluatedDecision) -> dict[str, Any]:
    return {
        "key": decision.id,
        "name": decision.name,
        "result": decision.result,
        "inputs": [{"label": label, "value": value} for label, value in decision.inputs],
        "rules": [{"number": rule.number, "id": rule.id, "outputs": rule.outputs} for rule in decision.rules],
    }
