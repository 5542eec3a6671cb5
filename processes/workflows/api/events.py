"""`/workflows/events/`: send an event, which instances that wait for it take and start events start by."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import owner_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from processes.workflows.api import shapes
from processes.workflows.services.events.receive import receive_event


class EventsView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_events_send",
        summary="Send an event to workflows",
        tags=["workflows"],
        request=shapes.EventSerializer,
        responses={202: shapes.ReceivedSerializer},
    )
    def post(self, request: Request) -> Response:
        """Send an event: instances that wait for its type take it, and start events of that type start instances.

        `type` is `custom.` and the name of the message or signal, as the file has it. Under an `id` that the caller
        gives, it counts once.
        """
        serializer = shapes.EventSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        event_id = receive_event(source=owner_of(request), at=timezone.now(), **serializer.validated_data)
        return Response({"id": event_id}, status=202)
