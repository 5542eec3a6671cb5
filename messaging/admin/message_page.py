"""What the page of a message shows beside its fields: its content, its processes, its replies, its log."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from config.admin_base.pages import explain
from config.admin_base.times import format_local
from config.common.errors import ApplicationError
from config.records.models import LogEntry
from messaging.admin.presentation import status_badge
from messaging.files.preview import Content, read_content
from messaging.models import Message
from messaging.stages import Stage, find_stages
from messaging.subjects import subject_of

ROWS = 50
T = TypeVar("T")


@dataclass(frozen=True)
class MessagePage:
    content: Content | None
    problem: str
    """Why there is no content."""
    stages: list[Stage]
    asked: tuple[Message, SafeString] | None
    """The message that this one replies to, with the badge of its status."""
    replies: list[tuple[Message, SafeString]]
    log: list[LogEntry] | None
    """None to those who may not see it."""


def build_message_page(request: HttpRequest, message: Message) -> MessagePage:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    content, problem = _content(message)
    replies = Message.objects.filter(enterprise=message.enterprise_id, reply_to=message.public_id)
    entries = LogEntry.objects.filter(subject=subject_of(message)).order_by("-id")[:ROWS]
    return MessagePage(
        content=content,
        problem=problem,
        stages=find_stages(message, may=request.user.has_perm, most=ROWS),
        asked=_asked(message),
        replies=[(reply, status_badge(reply)) for reply in replies.order_by("created_at", "id")[:ROWS]],
        # Of its own database alone.
        log=seen(
            "records.view_logentry",
            lambda: [entry for entry in entries if entry.data.get("database") == message.database_id],
        ),
    )


def _content(message: Message) -> tuple[Content | None, str]:
    if message.file_gone_at is not None:
        at = format_local(message.file_gone_at)
        return None, gettext("The file has been missing since %(at)s.") % {"at": at}
    try:
        return read_content(message), ""
    except ApplicationError as error:
        return None, explain(error)


def _asked(message: Message) -> tuple[Message, SafeString] | None:
    if not message.reply_to:
        return None
    asked = Message.objects.filter(enterprise=message.enterprise_id, public_id=message.reply_to).first()
    return None if asked is None else (asked, status_badge(asked))
