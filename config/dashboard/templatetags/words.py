"""Template filters that say stored things in the reader's words."""

from django import template
from django.utils.safestring import SafeString

from config.common.actors import say_actor
from config.records.kinds import say_value
from notifications.event_titles import event_title_html
from notifications.models import Delivery, Event, Incident
from notifications.presentation import say_reason
from processes.workflows.subjects import say_record
from sensors.history.values import PastAttempt

register = template.Library()
register.filter("who", say_actor)
register.filter("about", say_record)
register.filter("value", say_value)


@register.filter
def event_title(row: Event | Delivery | Incident | PastAttempt) -> SafeString:
    """Return what a row tells of, in words, with its type as a hint."""
    match row:
        case Event():
            return event_title_html(row.type, row.payload)
        case Delivery():
            return event_title_html(row.type, row.body)
        case Incident():
            return event_title_html(row.type, row.event.get("payload"))
    return event_title_html(row.type)


@register.filter
def reason(text: str) -> str:
    """Return why a delivery is as it is, or an attempt failed, in the language of the reader."""
    return say_reason(text)
