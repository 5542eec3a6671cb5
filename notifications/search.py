"""What the search of the admin finds here, by its number: deliveries, events, alerts, repeat sessions."""

from django.db.models import Q
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime

from config.admin_base.search import Found, SearchHit, SearchText
from notifications.models import Alert, Delivery, Event, RepeatSession
from notifications.names import say_row


def find_deliveries(asked: SearchText, most: int) -> Found:
    """Return the delivery of this number, and that of this webhook-id."""
    named = Q()
    if asked.number is not None:
        named |= Q(pk=asked.number)
    if asked.uuid_range is not None:
        named |= Q(message_id__range=asked.uuid_range)
    rows = Delivery.objects.filter(named).order_by()[:most] if named else ()
    hits = []
    for delivery in rows:
        page = reverse("admin:notifications_delivery_change", args=[delivery.pk])
        words = f"{say_row(delivery)} · {delivery.get_status_display()}"
        hits.append(SearchHit(f"#{delivery.pk}", words, page, is_exact=True))
    return Found(hits)


def find_events(asked: SearchText, most: int) -> Found:
    rows = Event.objects.filter(pk=asked.number) if asked.number is not None else ()
    hits = []
    for event in rows:
        page = reverse("admin:notifications_event_change", args=[event.pk])
        at = date_format(localtime(event.at), "SHORT_DATETIME_FORMAT")
        hits.append(SearchHit(f"#{event.pk}", f"{say_row(event)} · {at}", page, is_exact=True))
    return Found(hits)


def find_alerts(asked: SearchText, most: int) -> Found:
    rows = Alert.objects.filter(pk=asked.number) if asked.number is not None else ()
    hits = []
    for alert in rows:
        page = reverse("admin:notifications_alert_change", args=[alert.pk])
        words = f"{alert.words} · {alert.get_status_display()}"
        hits.append(SearchHit(f"#{alert.pk}", words, page, is_exact=True))
    return Found(hits)


def find_sessions(asked: SearchText, most: int) -> Found:
    """Return the session of this number, also written as `theme/number`."""
    number = SearchText(asked.text.rpartition("/")[2]).number
    rows = RepeatSession.objects.filter(pk=number) if number is not None else ()
    hits = []
    for session in rows:
        page = reverse("admin:notifications_repeatsession_change", args=[session.pk])
        hits.append(SearchHit(str(session), str(session.get_status_display()), page, is_exact=True))
    return Found(hits)
