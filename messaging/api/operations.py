"""`/messages/{id}/set-aside/`, `/bring-back/`: what operators decide about a message that waits for a database."""

from typing import Any, ClassVar, Protocol

from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from messaging.api.shapes import MessageReasonSerializer, WaitingMessageSerializer
from messaging.errors import AlreadySetAside, MessageNotFound, NotSetAside, NotWaiting
from messaging.files.envelope import VERSION
from messaging.models import Message
from messaging.protocol import UnsupportedVersion
from messaging.selectors import get_message
from messaging.services.set_aside import bring_back_message, set_aside_message


class _Decide(Protocol):
    def __call__(self, *, message_id: int, reason: str, actor: str) -> None: ...


class _DecisionView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}
    decide: ClassVar[_Decide]

    def answer(self, request: Request, message_id: str) -> Response:
        asked = MessageReasonSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        named = {"enterprise_id": asked.validated_data["enterprise"], "public_id": message_id}
        message = get_message(**named)
        type(self).decide(message_id=message.pk, reason=asked.validated_data["reason"], actor=actor_of(request))
        return Response(_present(get_message(**named)))


class SetAsideView(_DecisionView):
    decide = staticmethod(set_aside_message)

    @describe_call(
        operation_id="messages_set_aside",
        summary="Set a message aside",
        tags=["messages"],
        request=MessageReasonSerializer,
        responses=WaitingMessageSerializer,
        errors=[UnsupportedVersion, MessageNotFound, NotWaiting, AlreadySetAside],
    )
    def post(self, request: Request, message_id: str) -> Response:
        """Keep a waiting message from being offered until it is brought back; its receipt says why.

        409 `not_waiting` where a process holds it or it has ended, `already_set_aside` the second time.
        """
        return self.answer(request, message_id)


class BringBackView(_DecisionView):
    decide = staticmethod(bring_back_message)

    @describe_call(
        operation_id="messages_bring_back",
        summary="Bring a message back",
        tags=["messages"],
        request=MessageReasonSerializer,
        responses=WaitingMessageSerializer,
        errors=[UnsupportedVersion, MessageNotFound, NotSetAside],
    )
    def post(self, request: Request, message_id: str) -> Response:
        """Offer a message again that was set aside, in its old place by time; otherwise 409 `not_set_aside`."""
        return self.answer(request, message_id)


def _present(message: Message) -> dict[str, Any]:
    return {
        "version": VERSION,
        "id": message.public_id,
        "enterprise": message.enterprise_id,
        "database": message.database_id,
        "status": message.status,
        "set_aside_at": message.set_aside_at,
    }
