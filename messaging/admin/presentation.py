"""Texts and badges for messages on pages: sender and addressee, status, waiting time."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext

from config.admin_base.pages import badge
from messaging.models import Message

COLOURS = {
    Message.Status.WAITING: "info",
    Message.Status.IN_PROCESS: "primary",
    Message.Status.PROCESSED: "success",
    Message.Status.INCORRECT: "danger",
    Message.Status.IN_DOUBT: "warning",
}


def status_badge(message: Message) -> SafeString:
    if message.set_aside_at is not None:
        return badge(gettext("set aside"), "warning")
    return badge(message.get_status_display(), COLOURS[Message.Status(message.status)])


def route_html(message: Message) -> SafeString:
    """Return the names of sender and addressee, in the direction of the message."""
    names = (message.device.name, message.database.name)
    if message.direction == Message.Direction.REPLY:
        names = names[::-1]
    return format_html('{} <span class="pst-arrow">→</span> {}', *names)


def waiting_text(message: Message) -> str:
    """Return how long it took until the message was settled, or how long it has waited."""
    return format_duration((message.settled_at or timezone.now()) - message.accepted_at)


def folder_text(message: Message) -> str:
    """Return the folder of the file, and the one it is still to be moved to."""
    if message.file_gone_at is not None:
        return gettext("deleted")
    if not message.moving_from:
        return message.get_folder_display()
    return f"{message.get_moving_from_display()} → {message.get_folder_display()}"


def format_duration(length: timedelta) -> str:
    seconds = max(0.0, length.total_seconds())
    if seconds < 60:
        return gettext("%(seconds)s s") % {"seconds": number_format(seconds, 1 if seconds < 10 else 0)}
    now = datetime(2000, 1, 1)
    return timesince(now - length, now, depth=1)


def nowrap(text: str) -> SafeString:
    return format_html('<span class="pst-nowrap">{}</span>', text)
