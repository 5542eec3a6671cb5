"""`/exchange/processes/{id}/end/`: what operators decide about a process whose ERP is gone."""

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from messaging.api.shapes import ReasonSerializer
from processes.exchange.api import shapes
from processes.exchange.selectors import get_process, present_processes
from processes.exchange.services.operations import end_by_operator

END_EXAMPLE = OpenApiExample(
    "the ERP is gone", value={"version": 1, "reason": "its server has burnt down"}, request_only=True
)


class EndView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @extend_schema(
        operation_id="exchange_end",
        tags=["exchange"],
        request=ReasonSerializer,
        responses=shapes.ProcessSerializer,
        examples=[END_EXAMPLE],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """End a STARTED process: its messages are offered again at once, a late API_3 hears CANCELLED.

        In any other status 409 `process_not_started`.
        """
        asked = ReasonSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        end_by_operator(process_id=process_id, reason=asked.validated_data["reason"], actor=actor_of(request))
        return Response(present_processes([get_process(process_id)])[0])
