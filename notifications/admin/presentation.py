"""How pages word sessions: how they fare, when they are repeated, by whom."""

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext

from config.admin_base.pages import badge
from config.common.times import format_time
from notifications.models import RepeatSession, Theme

Status = RepeatSession.Status
LONGEST_IN_WORDS = 7 * 86_400
"""Seconds; beyond a week, months and years would have to be rounded."""
_EPOCH = datetime(2000, 1, 1)
COLOURS = {Status.ACTIVE: "primary", Status.SAVED: "info", Status.EXHAUSTED: "danger"}


def status_badge(session: RepeatSession) -> SafeString:
    if session.is_repeating:
        return badge(gettext("being repeated"), "primary")
    return badge(session.get_status_display(), COLOURS[Status(session.status)])


def repeater_of(theme: Theme) -> str:
    """Name who repeats the sessions of a theme: its handler, or the host of its URL."""
    return theme.handler or urlsplit(theme.url).netloc


def next_time(session: RepeatSession, now: datetime) -> SafeString:
    """Say when something happens next; the exact time is shown on pointing."""
    if session.due_at is None:
        return nowrap(pgettext("session", "only by hand"))
    words = _words_of_time(session, session.due_at, now)
    return format_html('<span class="pst-nowrap" title="{}">{}</span>', say_moment(session.due_at), words)


def say_moment(moment: datetime) -> str:
    try:
        return date_format(localtime(moment), "DATETIME_FORMAT")
    except OverflowError:  # a caller may name the last hour of the year 9999, which is over elsewhere
        return format_time(moment)


def say_length(length: timedelta) -> str:
    """Say a length of time as people do: its largest unit, whole seconds where it is short."""
    if length < timedelta(minutes=1):
        return gettext("%(seconds)s s") % {"seconds": max(0, round(length.total_seconds()))}
    return timesince(_EPOCH, _EPOCH + length, depth=1)


def say_seconds(seconds: float) -> str:
    """Say a setting of a theme exactly: in minutes, hours or days where these are whole."""
    number = int(seconds) if float(seconds).is_integer() else seconds
    if number < 60 or number > LONGEST_IN_WORDS or number % 60:
        return gettext("%(seconds)s s") % {"seconds": number_format(number)}
    return timesince(_EPOCH, _EPOCH + timedelta(seconds=number), depth=3)


def count_words(count: int, most: int) -> str:
    """Write a count that ended at a limit as “so many or more”."""
    return number_format(count, force_grouping=True) + ("+" if count >= most else "")


def nowrap(text: str) -> SafeString:
    return format_html('<span class="pst-nowrap">{}</span>', text)


def _words_of_time(session: RepeatSession, due_at: datetime, now: datetime) -> str:
    distance = due_at - now
    told = {"time": say_length(abs(distance))}
    if session.is_repeating:
        return gettext("under way")
    if session.status == Status.ACTIVE:
        if distance <= timedelta(0):
            return gettext("saved by itself in a moment")
        return gettext("saved by itself in %(time)s") % told
    if distance > timedelta(0):
        return gettext("in %(time)s") % told
    return gettext("now") if -distance < timedelta(minutes=1) else gettext("overdue by %(time)s") % told
