"""`/clients/`: the registry of clients, their secrets and their change log."""

from functools import partial

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.api.base_view import ApiView
from config.api.idempotency import begin_once
from config.api.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS
from config.audit.api.changes import ChangeSerializer
from config.common.web.pagination import paginate
from notifications.services.pings import begin_ping, finish_ping
from sensors.api.registry import READ, WRITE, answer_changes
from sensors.api.shapes import (
    AttemptSerializer,
    ClientAnswer,
    ClientListSerializer,
    ClientSerializer,
    NewClientSerializer,
    SecretSerializer,
    present_attempt,
    present_client,
)
from sensors.models import Client
from sensors.selectors import get_client
from sensors.services.clients import (
    create_client,
    deactivate_client,
    pause_client,
    resume_client,
    rotate_secret,
    update_client,
)


class ClientsView(ApiView):
    scopes = {**READ, **WRITE}

    @extend_schema(
        operation_id="clients_list", tags=["clients"], parameters=PAGE_PARAMETERS, responses=ClientListSerializer
    )
    def get(self, request: Request) -> Response:
        found = paginate(request, Client.objects.select_related("endpoint"), order=["id"])
        return Response({"results": [present_client(client) for client in found.results], "next": found.next})

    @extend_schema(
        operation_id="clients_create",
        tags=["clients"],
        request=ClientSerializer,
        responses={201: NewClientSerializer},
    )
    def post(self, request: Request) -> Response:
        """Register a client. The answer holds its secret, this once."""
        asked = ClientSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        made = create_client(actor=actor_of(request), **asked.validated_data)
        return Response(present_client(get_client(made.client_id), secret=made.text), status=201)


class ClientView(ApiView):
    scopes = {**READ, **WRITE}

    @extend_schema(operation_id="clients_get", tags=["clients"], responses=ClientSerializer)
    def get(self, request: Request, client_id: int) -> Response:
        return Response(_present(client_id))

    @extend_schema(
        operation_id="clients_change", tags=["clients"], request=ClientSerializer, responses=ClientSerializer
    )
    def patch(self, request: Request, client_id: int) -> Response:
        known = {"present": lambda: msgspec.structs.asdict(_present(client_id))}
        asked = ClientSerializer(data=request.data, partial=True, context=known)
        asked.is_valid(raise_exception=True)
        update_client(client_id=client_id, actor=actor_of(request), **asked.validated_data)
        return Response(_present(client_id))

    @extend_schema(operation_id="clients_deactivate", tags=["clients"], responses={204: None})
    def delete(self, request: Request, client_id: int) -> Response:
        """Deactivate the client; its history stays readable."""
        deactivate_client(client_id=client_id, actor=actor_of(request))
        return Response(status=204)


class RotateSecretView(ApiView):
    scopes = WRITE

    @extend_schema(operation_id="clients_rotate_secret", tags=["clients"], request=None, responses=SecretSerializer)
    def post(self, request: Request, client_id: int) -> Response:
        """Replace the secret; the old one signs beside the new one for 24 hours."""
        made = rotate_secret(client_id=client_id, actor=actor_of(request))
        return Response({"secret": made.text})


class PauseView(ApiView):
    scopes = WRITE

    @extend_schema(operation_id="clients_pause", tags=["clients"], request=None, responses=ClientSerializer)
    def post(self, request: Request, client_id: int) -> Response:
        """Hold back what is owed to the client until it is resumed."""
        pause_client(client_id=client_id, actor=actor_of(request))
        return Response(_present(client_id))


class ResumeView(ApiView):
    scopes = WRITE

    @extend_schema(operation_id="clients_resume", tags=["clients"], request=None, responses=ClientSerializer)
    def post(self, request: Request, client_id: int) -> Response:
        """Send again what is owed: of each sensor the newest message."""
        resume_client(client_id=client_id, actor=actor_of(request))
        return Response(_present(client_id))


class PingView(ApiView):
    scopes = WRITE
    idempotent = False  # it calls the network; the key is honoured all the same

    @extend_schema(
        operation_id="clients_ping",
        tags=["clients"],
        parameters=[IDEMPOTENCY_KEY],
        request=None,
        responses=AttemptSerializer,
    )
    def post(self, request: Request, client_id: int) -> Response:
        """Send a ping now, past pause and breaker, and answer with what became of it within ten seconds."""
        endpoint_id = get_client(client_id).endpoint_id
        ping_id, is_new = begin_once(request, partial(begin_ping, endpoint_id))
        return Response(present_attempt(finish_ping(ping_id, is_new=is_new)))


class ClientChangesView(ApiView):
    scopes = READ

    @extend_schema(
        operation_id="clients_changes",
        tags=["changes"],
        parameters=PAGE_PARAMETERS,
        responses=ChangeSerializer(many=True),
    )
    def get(self, request: Request, client_id: int) -> Response:
        get_client(client_id)
        return answer_changes(request, kind="client", object_id=str(client_id))


def _present(client_id: int) -> ClientAnswer:
    return present_client(get_client(client_id))
