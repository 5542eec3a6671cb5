"""Lengths of time in words, as they stand beside “ago”, “in”, “for” and “by”: Russian has another case there."""

from datetime import datetime, timedelta
from typing import Any

from django.utils.timesince import timesince
from django.utils.translation import gettext, npgettext_lazy

UNITS: dict[str, Any] = {
    "year": npgettext_lazy("for, in, ago", "%(num)d year", "%(num)d years", "num"),
    "month": npgettext_lazy("for, in, ago", "%(num)d month", "%(num)d months", "num"),
    "week": npgettext_lazy("for, in, ago", "%(num)d week", "%(num)d weeks", "num"),
    "day": npgettext_lazy("for, in, ago", "%(num)d day", "%(num)d days", "num"),
    "hour": npgettext_lazy("for, in, ago", "%(num)d hour", "%(num)d hours", "num"),
    "minute": npgettext_lazy("for, in, ago", "%(num)d minute", "%(num)d minutes", "num"),
}
_EPOCH = datetime(2000, 1, 1)


def say_length(length: timedelta, *, depth: int = 1) -> str:
    """Return a length of time in its largest units; one under a minute in whole seconds."""
    if length < timedelta(minutes=1):
        return gettext("%(seconds)s s") % {"seconds": max(0, round(length.total_seconds()))}
    return timesince(_EPOCH, _EPOCH + length, time_strings=UNITS, depth=depth)


def say_ago(at: datetime, now: datetime, *, depth: int = 1) -> str:
    """Return how long ago a time was; within the last minute it is “just now”."""
    if now - at < timedelta(minutes=1):
        return gettext("just now")
    return gettext("%(time)s ago") % {"time": say_length(now - at, depth=depth)}
