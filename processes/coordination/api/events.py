"""`/coordination/events/`: how far each change set is, and what a person decides of one that could not be undone."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import paginate_presented
from processes.coordination.api import shapes
from processes.coordination.errors import EventNotFound, NotFailed, StillFailing
from processes.coordination.models import AppEvent
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.statuses import BY_TITLE
from processes.coordination.protocol.transitions import BY_NUMBER
from processes.coordination.selectors import EventOverview as EventOverview
from processes.coordination.selectors import events_in_status, get_event, view_events
from processes.coordination.writer.resolution import Action, resolve_compensation


class EventsView(ApiView):
    scopes = {"GET": Scope.COORDINATION}

    @describe_call(
        operation_id="coordination_events_list",
        summary="List change sets",
        tags=["coordination"],
        parameters=[shapes.EventQuery, *PAGE_PARAMETERS],
        responses=shapes.CoordinationEventListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List change sets, newest first, with the verdict of each reader.

        The steps are those of the Writer and Coordinator.
        """
        asked = shapes.EventQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        rows, at = events_in_status(BY_TITLE.get(asked.validated_data.get("status", ""))), timezone.now()

        def present(part: Sequence[AppEvent]) -> list[Any]:
            return [present_event(view, at=at) for view in view_events(part)]

        found = paginate_presented(request, rows, order=["-id"], present=present)
        return Response({"results": found.results, "next": found.next})


class EventView(ApiView):
    scopes = {"GET": Scope.COORDINATION}

    @describe_call(
        operation_id="coordination_events_get",
        summary="Read a change set",
        tags=["coordination"],
        responses=shapes.CoordinationEventSerializer,
        errors=[EventNotFound],
    )
    def get(self, request: Request, event_id: int) -> Response:
        """Return a change set: how far it is, what each reader decided and why, and every step so far."""
        return Response(present_event(get_event(event_id), at=timezone.now()))


class ResolveView(ApiView):
    scopes = {"POST": Scope.COORDINATION}

    @describe_call(
        operation_id="coordination_events_resolve",
        summary="Resolve a failed compensation",
        tags=["coordination"],
        request=shapes.ResolveEventSerializer,
        responses=shapes.CoordinationEventSerializer,
        errors=[EventNotFound, NotFailed, StillFailing],
    )
    def post(self, request: Request, event_id: int) -> Response:
        """Try a failed compensation again, or accept the Writer's rows as they are and publish them to the readers."""
        asked = shapes.ResolveEventSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        at = timezone.now()
        action, reason = Action(asked.validated_data["action"]), asked.validated_data["reason"]
        resolve_compensation(event_id, action=action, reason=reason, actor=actor_of(request), at=at)
        return Response(present_event(get_event(event_id), at=at))


def present_event(view: EventOverview, *, at: datetime) -> dict[str, Any]:
    """Return an event as the calls show it."""
    return {
        "id": view.event.pk,
        "type": view.type,
        "status": view.status.title,
        "payloads": {"total": view.event.payload_count, "processed": view.processed},
        "readers": [
            {
                "name": reader.name,
                "verdict": reader.verdict,
                "reason": format_reason(reader.reason),
                "lag_seconds": round(reader.lag(view.event.date, at), 3),
            }
            for reader in view.readers
        ],
        "steps": [{"step": number, "at": noted_at} for number, noted_at in view.steps if number in BY_NUMBER],
        "correlation_id": view.event.correlation_id,
        "date": view.event.date,
        "reason": format_reason(view.event.reason),
    }
