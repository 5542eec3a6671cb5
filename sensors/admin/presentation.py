"""Texts and badges for sensors and deliveries on pages: 1 is open, 0 is closed."""

from django.utils.safestring import SafeString
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


def connection_badge(connection: Connection) -> SafeString:
    return badge(connection.label, CONNECTION_COLOURS[connection])


def delivery_badge(delivery: Delivery) -> SafeString:
    return badge(delivery.get_status_display(), DELIVERY_COLOURS[Delivery.Status(delivery.status)])


def attempt_badge(status: int | None) -> SafeString:
    if status is None:
        return badge(gettext("no response"), "danger")
    return badge(str(status), "success" if is_success(status) else "danger")
