"""Template filters that write times as people say them."""

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext

register = template.Library()


@register.filter
def ago(moment: datetime) -> str:
    """Return in words how long ago a time was."""
    now = timezone.now()
    if now - moment < timedelta(minutes=1):
        return gettext("just now")
    return gettext("%(time)s ago") % {"time": timesince(moment, now)}
