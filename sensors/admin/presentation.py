"""Texts and badges for sensors and deliveries on pages: 1 is open, 0 is closed."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext, pgettext

from config.admin_base.pages import badge
from notifications.models import Delivery
from notifications.sending.policy import is_success
from sensors.selectors import Connection

CONNECTION_COLOURS = {
    Connection.ONLINE: "success",
    Connection.LOST: "danger",
    Connection.NEVER_SEEN: "default",
    Connection.UNKNOWN: "warning",
}
DELIVERY_COLOURS = {
    Delivery.Status.PENDING: "info",
    Delivery.Status.DELIVERED: "success",
    Delivery.Status.SUPERSEDED: "default",
    Delivery.Status.DEAD: "danger",
    Delivery.Status.CANCELLED: "warning",
}


def state_word(value: int | None) -> str:
    if value is None:
        return "–"
    return pgettext("door", "open") if value else pgettext("door", "closed")


def duration_since(at: datetime | None) -> str:
    """Return how long something has been so, in one unit."""
    return _on_one_line(at, "%(time)s")


def ago(at: datetime | None) -> str:
    """Return how long ago something was, in one unit."""
    return _on_one_line(at, gettext("%(time)s ago"))


def _on_one_line(at: datetime | None, words: str) -> str:
    if at is None:
        return "–"
    now = timezone.now()
    is_new = now - at < timedelta(minutes=1)
    text = gettext("just now") if is_new else words % {"time": timesince(at, now, depth=1)}
    return format_html('<span class="pst-nowrap">{}</span>', text)


def connection_badge(connection: Connection) -> SafeString:
    return badge(connection.label, CONNECTION_COLOURS[connection])


def delivery_badge(delivery: Delivery) -> SafeString:
    return badge(delivery.get_status_display(), DELIVERY_COLOURS[Delivery.Status(delivery.status)])


def attempt_badge(status: int | None) -> SafeString:
    if status is None:
        return badge(gettext("no answer"), "danger")
    return badge(str(status), "success" if is_success(status) else "danger")
