"""`/exchange/processes/{id}/end/`: what operators decide about a process whose ERP is gone."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from messaging.api.shapes import ReasonSerializer
from messaging.protocol import UnsupportedVersion
from processes.exchange.api import shapes
from processes.exchange.errors import ProcessNotFound, ProcessNotStarted
from processes.exchange.selectors import get_process, present_processes
from processes.exchange.services.operations import end_by_operator


class EndView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @describe_call(
        operation_id="exchange_end",
        summary="End a process by hand",
        tags=["exchange"],
        request=ReasonSerializer,
        responses=shapes.ProcessSerializer,
        errors=[UnsupportedVersion, ProcessNotFound, ProcessNotStarted],
    )
    def post(self, request: Request, process_id: UUID) -> Response:
        """End a STARTED process: its messages are offered again at once, a late API_3 is answered CANCELLED.

        In any other status 409 `process_not_started`.
        """
        asked = ReasonSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        end_by_operator(process_id=process_id, reason=asked.validated_data["reason"], actor=actor_of(request))
        return Response(present_processes([get_process(process_id)])[0])
