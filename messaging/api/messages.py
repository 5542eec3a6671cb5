"""`/messages/`: what devices send, fetch and confirm, and what became of it."""

from typing import cast

from django.conf import settings
from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import Principal, principal_of
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.common.errors import NotFound
from config.common.times import format_time, truncate_to_milliseconds
from config.common.web.streaming import stream
from config.records.models import AccessKey
from messaging.api.shapes import (
    AcceptedSerializer,
    ConfirmSerializer,
    FetchQuery,
    MessagesSerializer,
    NewMessageSerializer,
    ReceiptSerializer,
)
from messaging.errors import IdTaken, MessageNotFound
from messaging.files.envelope import VERSION
from messaging.files.names import name_of
from messaging.models import Device, ExchangeDatabase
from messaging.protocol import Body, UnsupportedVersion, megabytes, read_body
from messaging.selectors import get_receipt
from messaging.services.fetch import confirm_message, fetch_messages
from messaging.services.send import NewMessage, send_message
from messaging.services.values import Limits

DEVICE = {AccessKey.Kind.DEVICE}


class MessagesView(ApiView):
    key_kinds = {"GET": DEVICE, "POST": DEVICE}
    idempotent = False  # messages have ids of their own
    reads_body_itself = True

    @describe_call(
        operation_id="messages_fetch",
        summary="Fetch messages",
        tags=["messages"],
        parameters=[FetchQuery],
        responses=MessagesSerializer,
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Fetch the oldest messages that are addressed to this device; they come again until they are confirmed."""
        asked = FetchQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        most = min(asked.validated_data.get("max_mb", settings.EXCHANGE_MAX_MB), settings.EXCHANGE_MAX_MB)
        limits = Limits(asked.validated_data["limit"], megabytes(most))
        chunks = fetch_messages(device=calling_device(request), limits=limits)
        return StreamingHttpResponse(stream(chunks), content_type="application/json")

    @describe_call(
        operation_id="messages_send",
        summary="Send a message",
        tags=["messages"],
        request=NewMessageSerializer,
        responses={201: AcceptedSerializer, 200: AcceptedSerializer},
        errors=[UnsupportedVersion, IdTaken],
    )
    def post(self, request: Request) -> Response:
        """Send a message to a database of the same enterprise.

        The same id with the same body is one message, however often it is sent: 201 the first time, then 200 with the
        same answer. Without `id` one is made, and then a repeat is another message.
        """
        body = read_body(request._request.body, NewMessage)
        at = truncate_to_milliseconds(timezone.now())
        accepted = send_message(device=calling_device(request), body=body, at=at)
        message = accepted.message
        answer = {
            "version": VERSION,
            "id": message.public_id,
            "name": name_of(message),
            "accepted_at": format_time(message.accepted_at),
        }
        return Response(answer, status=201 if accepted.is_new else 200)


class ConfirmView(ApiView):
    key_kinds = {"POST": DEVICE}
    idempotent = False
    reads_body_itself = True

    @describe_call(
        operation_id="messages_confirm",
        summary="Confirm a message",
        tags=["messages"],
        request=ConfirmSerializer,
        responses={204: None},
        errors=[UnsupportedVersion, MessageNotFound],
    )
    def post(self, request: Request, message_id: str) -> Response:
        """Say that the device has stored a message: it goes to Log and is not offered again.

        204 also the second time.
        """
        if request._request.body:
            read_body(request._request.body, Body)
        confirm_message(device=calling_device(request), public_id=message_id)
        return Response(status=204)


class ReceiptView(ApiView):
    key_kinds = {"GET": {AccessKey.Kind.DEVICE, AccessKey.Kind.DATABASE}}

    @describe_call(
        operation_id="messages_receipt",
        summary="Read a receipt",
        tags=["messages"],
        responses=ReceiptSerializer,
        errors=[MessageNotFound],
    )
    def get(self, request: Request, message_id: str) -> Response:
        """Return what became of a message that the caller sent.

        Its status, the error if there was one, the ids of replies.
        """
        caller = principal_of(request)
        receipt = get_receipt(public_id=message_id, **_sender(caller))
        return Response(
            {
                "version": VERSION,
                "status": receipt.status,
                "error_text": receipt.error_text or None,
                "error_code": receipt.error_code,
                "replies": receipt.replies,
                "updated_at": receipt.updated_at,
                "correlation_id": receipt.correlation_id,
            }
        )


def calling_device(request: Request) -> Device:
    return cast(Device, principal_of(request).holder)


def _sender(caller: Principal) -> dict[str, str]:
    if isinstance(caller.holder, Device):
        return {"enterprise_id": caller.holder.subsystem.enterprise_id, "device_id": caller.holder.pk}
    if isinstance(caller.holder, ExchangeDatabase):
        return {"enterprise_id": caller.holder.enterprise_id, "database_id": caller.holder.pk}
    raise NotFound
