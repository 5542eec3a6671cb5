"""What the page of an alert tells beside its fields: who was told what, when, and whether it reached them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import badge
from config.common.text_templates import render_text
from notifications.models import Alert, Delivery, Event
from notifications.selectors import newest_about
from notifications.subjects import alert_subject

ROWS = 50

WORDS: dict[str, Promise] = {
    "alert.raised": _("raised"),
    "alert.acknowledged": _("acknowledged"),
    "alert.muted": _("muted"),
    "alert.resolved": pgettext_lazy("alert", "resolved"),
}
COLOURS = {
    Delivery.Status.PENDING: "info",
    Delivery.Status.DELIVERED: "success",
    Delivery.Status.SUPERSEDED: "default",
    Delivery.Status.DEAD: "danger",
    Delivery.Status.CANCELLED: "warning",
}


@dataclass(frozen=True)
class Entry:
    at: datetime
    words: str
    who: str
    badge: SafeString | None = None
    """How a delivery fares; what happened to the alert itself has none."""
    more: str = ""


@dataclass(frozen=True)
class AlertPage:
    timeline: list[Entry]


def build_alert_page(request: HttpRequest, alert: Alert) -> AlertPage:
    def seen(permission: str, read: Callable[[], list[Entry]]) -> list[Entry]:
        return read() if request.user.has_perm(permission) else []

    subject = alert_subject(alert.pk)
    entries = seen("notifications.view_event", lambda: _events(subject))
    entries += seen("notifications.view_delivery", lambda: _deliveries(subject))
    return AlertPage(sorted(entries, key=lambda entry: entry.at))


def _events(subject: str) -> list[Entry]:
    newest = Event.objects.filter(subject=subject, type__in=WORDS).order_by("-id")[:ROWS]
    return [_happened(event) for event in newest]


def _happened(event: Event) -> Entry:
    who = event.payload.get("by") or (gettext("by itself") if event.type == "alert.resolved" else "")
    return Entry(event.at, str(WORDS[event.type]), who, more=render_text(event.payload.get("resolution", ""), {}))


def _deliveries(subject: str) -> list[Entry]:
    newest = Delivery.objects.filter(pk__in=newest_about(Delivery.objects.all(), subject, limit=ROWS))
    return [_sent(delivery) for delivery in newest.select_related("endpoint")]


def _sent(delivery: Delivery) -> Entry:
    channel, _colon, address = delivery.endpoint.url.partition(":")
    words = {"mailto": gettext("e-mail to"), "sms": gettext("SMS to")}.get(channel, channel)
    state = badge(delivery.get_status_display(), COLOURS[Delivery.Status(delivery.status)])
    tries = gettext("attempts: %(count)s") % {"count": delivery.attempts_made} if delivery.attempts_made > 1 else ""
    more = ", ".join(part for part in (render_text(delivery.reason, {}), tries) if part)
    return Entry(delivery.created_at, words, address, state, more)
