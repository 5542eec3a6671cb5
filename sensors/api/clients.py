"""`/clients/`: the registry of clients, their secrets and their change log."""

from functools import partial

import msgspec
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.idempotency import begin_once
from config.api.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS
from config.audit.api.changes import ChangeListSerializer
from config.audit.as_of import BeforeRecords, NotRegisteredThen
from config.common.web.pagination import paginate
from notifications.errors import ClientInactive, PingUnderWay
from notifications.services.pings import begin_ping, finish_ping
from sensors.api.registry import READ, WRITE, answer_changes
from sensors.api.shapes import (
    AttemptSerializer,
    ClientAnswer,
    ClientListSerializer,
    ClientReadSerializer,
    ClientSerializer,
    NewClientSerializer,
    PastClientQuery,
    SecretSerializer,
    present_attempt,
    present_client,
    present_past_client,
    read_as_of,
)
from sensors.as_of import get_client_at, sensors_of_client_at
from sensors.errors import ClientNotFound
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

SENSORS_NAMED = 1000
"""How many of its sensors the answer about a client in the past names."""


class ClientsView(ApiView):
    scopes = {**READ, **WRITE}

    @describe_call(
        operation_id="clients_list",
        summary="List clients",
        tags=["clients"],
        parameters=PAGE_PARAMETERS,
        responses=ClientListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the clients, those that get webhooks about sensors, in order of id."""
        found = paginate(request, Client.objects.select_related("endpoint"), order=["id"])
        return Response({"results": [present_client(client) for client in found.results], "next": found.next})

    @describe_call(
        operation_id="clients_create",
        summary="Register a client",
        tags=["clients"],
        request=ClientSerializer,
        responses={201: NewClientSerializer},
    )
    def post(self, request: Request) -> Response:
        """Register a client: webhooks about its sensors go to its URL.

        The answer holds the secret that signs them, this once.
        """
        asked = ClientSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        made = create_client(actor=actor_of(request), **asked.validated_data)
        return Response(present_client(get_client(made.client_id), secret=made.text), status=201)


class ClientView(ApiView):
    scopes = {**READ, **WRITE}

    @describe_call(
        operation_id="clients_get",
        summary="Read a client",
        tags=["clients"],
        parameters=[PastClientQuery],
        responses=ClientReadSerializer,
        errors=[ClientNotFound, NotRegisteredThen, BeforeRecords],
    )
    def get(self, request: Request, client_id: int) -> Response:
        """Return a client; with `at`, its settings and sensors as they were at that time.

        At most 1,000 sensors are named, in order of id; `after` with the last of them asks for those behind it.
        404 `not_registered_then` before it was registered, `before_records` before the change log begins, with
        `data.records_begin`.
        """
        asked = PastClientQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        at = read_as_of(request)
        if at is None:
            return Response(_present(client_id))
        after = asked.validated_data.get("after", "")
        then = get_client_at(client_id, at)
        named, count = sensors_of_client_at(client_id, at, limit=SENSORS_NAMED, after=after)
        return Response(present_past_client(then, named, count))

    @describe_call(
        operation_id="clients_change",
        summary="Change a client",
        tags=["clients"],
        request=ClientSerializer,
        responses=ClientSerializer,
        errors=[ClientNotFound],
    )
    def patch(self, request: Request, client_id: int) -> Response:
        """Change the named fields of a client; one that is switched on again gets the newest message of each sensor."""
        known = {"present": lambda: msgspec.structs.asdict(_present(client_id))}
        asked = ClientSerializer(data=request.data, partial=True, context=known)
        asked.is_valid(raise_exception=True)
        update_client(client_id=client_id, actor=actor_of(request), **asked.validated_data)
        return Response(_present(client_id))

    @describe_call(
        operation_id="clients_deactivate",
        summary="Deactivate a client",
        tags=["clients"],
        responses={204: None},
        errors=[ClientNotFound],
    )
    def delete(self, request: Request, client_id: int) -> Response:
        """Deactivate the client: nothing is sent to it from now on, its history stays readable."""
        deactivate_client(client_id=client_id, actor=actor_of(request))
        return Response(status=204)


class RotateSecretView(ApiView):
    scopes = WRITE

    @describe_call(
        operation_id="clients_rotate_secret",
        summary="Rotate a client's secret",
        tags=["clients"],
        request=None,
        responses=SecretSerializer,
        errors=[ClientNotFound],
    )
    def post(self, request: Request, client_id: int) -> Response:
        """Replace the secret that signs webhooks; the old one signs beside the new one for 24 hours."""
        made = rotate_secret(client_id=client_id, actor=actor_of(request))
        return Response({"secret": made.text})


class PauseView(ApiView):
    scopes = WRITE

    @describe_call(
        operation_id="clients_pause",
        summary="Pause a client",
        tags=["clients"],
        request=None,
        responses=ClientSerializer,
        errors=[ClientNotFound],
    )
    def post(self, request: Request, client_id: int) -> Response:
        """Hold back what is due to the client until it is resumed; nothing is lost, and no attempt is used up."""
        pause_client(client_id=client_id, actor=actor_of(request))
        return Response(_present(client_id))


class ResumeView(ApiView):
    scopes = WRITE

    @describe_call(
        operation_id="clients_resume",
        summary="Resume a client",
        tags=["clients"],
        request=None,
        responses=ClientSerializer,
        errors=[ClientNotFound],
    )
    def post(self, request: Request, client_id: int) -> Response:
        """Go on sending to a paused client: of each sensor the newest message."""
        resume_client(client_id=client_id, actor=actor_of(request))
        return Response(_present(client_id))


class PingView(ApiView):
    scopes = WRITE
    idempotent = False  # it calls the network; the key is honoured all the same

    @describe_call(
        operation_id="clients_ping",
        summary="Ping a client",
        tags=["clients"],
        parameters=[IDEMPOTENCY_KEY],
        request=None,
        responses=AttemptSerializer,
        errors=[ClientNotFound, ClientInactive, PingUnderWay],
    )
    def post(self, request: Request, client_id: int) -> Response:
        """Send a `ping` to the client's URL now, past pause and circuit breaker, and answer with the attempt.

        The answer comes within ten seconds. 200 means that the attempt was made: whether the client took it, its
        `status` says.
        """
        endpoint_id = get_client(client_id).endpoint_id
        ping_id, is_new = begin_once(request, partial(begin_ping, endpoint_id))
        return Response(present_attempt(finish_ping(ping_id, is_new=is_new)))


class ClientChangesView(ApiView):
    scopes = READ

    @describe_call(
        operation_id="clients_changes",
        summary="Read a client's change log",
        tags=["changes"],
        parameters=PAGE_PARAMETERS,
        responses=ChangeListSerializer,
        errors=[ClientNotFound],
    )
    def get(self, request: Request, client_id: int) -> Response:
        """List who changed what of a client, newest first; a change can be reverted by its id."""
        get_client(client_id)
        return answer_changes(request, kind="client", object_id=str(client_id))


def _present(client_id: int) -> ClientAnswer:
    return present_client(get_client(client_id))
