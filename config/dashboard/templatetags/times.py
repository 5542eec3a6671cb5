"""Template filters that write times as people say them, each as the one element of `config.admin_base.times`."""

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from config.admin_base.times import ago_element, ago_words, format_local, time_element
from config.common.durations import say_length

register = template.Library()
register.filter("ago_words", ago_words)


@register.filter
def exact(at: datetime | None) -> SafeString | str:
    """Return date and time."""
    return time_element(at) if at else ""


@register.filter
def clock(at: datetime | None) -> SafeString | str:
    """Return the time of the day to the second."""
    return time_element(at, format_local(at, "H:i:s")) if at else ""


@register.filter
def clock_milliseconds(at: datetime | None) -> SafeString | str:
    """Return the time of the day to the millisecond."""
    return time_element(at, format_local(at, "H:i:s.u")[:12]) if at else ""


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """Return how long ago a time was."""
    return ago_element(at, depth=2) if at else ""


@register.filter
def ahead(moment: datetime) -> str:
    """Return in words how far a time is ahead; one that has passed is due now."""
    now = timezone.now()
    if moment - now < timedelta(seconds=1):
        return gettext("due now")
    return gettext("in %(time)s") % {"time": say_length(moment - now)}
