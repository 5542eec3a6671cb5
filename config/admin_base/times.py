"""Times on pages: one element that says a time in the viewer's zone, and in UTC to whoever points at it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from config.common.durations import say_ago
from config.common.times import format_time


def format_local(at: datetime, form: str = "DATETIME_FORMAT") -> str:
    """Return a time as text in the viewer's zone."""
    try:
        return date_format(timezone.localtime(at), form)
    except OverflowError:  # the last hours of the year 9999 do not exist in zones east of UTC
        return format_time(at)


def time_element(at: datetime | None, words: Any = "") -> SafeString:
    """Return a time as a `<time>` element: in the viewer's zone, or in the given words; a dash for None.

    Its tooltip has the exact time in UTC, and in the viewer's zone where the words do not say it.
    """
    if at is None:
        return SafeString("–")
    local, universal = format_local(at), f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    is_universal = timezone.get_current_timezone_name() == "UTC"
    if not words:
        return format_html('<time datetime="{}" title="{}">{}</time>', format_time(at), universal, local)
    title = universal if is_universal else f"{local} · {universal}"
    return format_html('<time class="pst-nowrap" datetime="{}" title="{}">{}</time>', format_time(at), title, words)


def ago_element(at: datetime | None, *, depth: int = 1) -> SafeString:
    """Return how long ago a time was, as a `<time>` element."""
    return time_element(at, None if at is None else ago_words(at, depth=depth))


def length_element(since: datetime | None) -> SafeString:
    """Return how long something has been so, as a `<time>` element."""
    if since is None or timezone.now() - since < timedelta(minutes=1):
        return ago_element(since)
    return time_element(since, timesince(since, timezone.now(), depth=1))


def ago_words(at: datetime, *, depth: int = 2) -> str:
    return say_ago(at, timezone.now(), depth=depth)
