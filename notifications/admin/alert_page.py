"""The timeline on the page of an alert: what happened to it, who was notified, and whether the message arrived."""

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.common.actors import say_actor
from config.common.text_templates import render_text
from notifications.admin.presentation import delivery_badge
from notifications.models import Alert, Delivery, Event
from notifications.presentation import say_reason
from notifications.selectors import newest_about
from notifications.subjects import alert_subject

ROWS = 50

WORDS: dict[str, Promise] = {
    "alert.raised": _("raised"),
    "alert.acknowledged": _("acknowledged"),
    "alert.muted": _("muted"),
    "alert.resolved": pgettext_lazy("alert", "resolved"),
}


@dataclass(frozen=True)
class TimelineEntry:
    at: datetime
    words: str
    who: str
    badge: SafeString | None = None
    """The status of a delivery; None for an event of the alert itself."""
    more: str = ""


@dataclass(frozen=True)
class AlertPage:
    timeline: list[TimelineEntry]


def build_alert_page(request: HttpRequest, alert: Alert) -> AlertPage:
    """Return the newest events and deliveries of an alert that the user may see, oldest first."""
    subject, entries = alert_subject(alert.pk), list[TimelineEntry]()
    if request.user.has_perm("notifications.view_event"):
        events = Event.objects.filter(subject=subject, type__in=WORDS).order_by("-id")[:ROWS]
        entries += [_event_entry(event) for event in events]
    if request.user.has_perm("notifications.view_delivery"):
        newest = newest_about(Delivery.objects.all(), subject, limit=ROWS)
        deliveries = Delivery.objects.filter(pk__in=newest).select_related("endpoint")
        entries += [_delivery_entry(delivery) for delivery in deliveries]
    return AlertPage(sorted(entries, key=lambda entry: entry.at))


def _event_entry(event: Event) -> TimelineEntry:
    payload = event.payload
    by = str(payload.get("by") or "")
    who = say_actor(by) if by else (gettext("automatically") if event.type == "alert.resolved" else "")
    resolution = render_text(payload.get("resolution", ""), {})
    return TimelineEntry(event.at, str(WORDS[event.type]), who, more=resolution)


def _delivery_entry(delivery: Delivery) -> TimelineEntry:
    channel, _colon, address = delivery.endpoint.url.partition(":")
    words = {"mailto": gettext("e-mail to"), "sms": gettext("SMS to")}.get(channel, channel)
    tries = gettext("attempts: %(count)s") % {"count": delivery.attempts_made} if delivery.attempts_made > 1 else ""
    more = ", ".join(part for part in (say_reason(delivery.reason), tries) if part)
    return TimelineEntry(delivery.created_at, words, address, delivery_badge(delivery), more)
