"""Words and badges of the pages: how deliveries and sessions fare, when something happens next, how long ago it was."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext, pgettext

from config.admin_base.pages import badge
from config.admin_base.times import time_element
from config.common import durations
from notifications.alert_kinds import Severity
from notifications.models import Delivery, RepeatSession, Theme
from notifications.names import Named, name_subject, name_subjects

Status = RepeatSession.Status
LONGEST_IN_WORDS = 7 * 86_400
"""In seconds; longer times are not said in words, because months and years would have to be rounded."""
_EPOCH = datetime(2000, 1, 1)
COLOURS = {Status.ACTIVE: "primary", Status.SAVED: "info", Status.EXHAUSTED: "danger"}
DELIVERY_COLOURS = {
    Delivery.Status.PENDING: "info",
    Delivery.Status.DELIVERED: "success",
    Delivery.Status.SUPERSEDED: "default",
    Delivery.Status.DEAD: "danger",
    Delivery.Status.CANCELLED: "warning",
}


def delivery_badge(delivery: Delivery) -> SafeString:
    return badge(delivery.get_status_display(), DELIVERY_COLOURS[Delivery.Status(delivery.status)])


def status_badge(session: RepeatSession) -> SafeString:
    if session.is_repeating:
        return badge(gettext("being repeated"), "primary")
    return badge(session.get_status_display(), COLOURS[Status(session.status)])


def repeater_of(theme: Theme) -> str:
    """Return who repeats the sessions of a theme: its handler, or the host of its URL."""
    return theme.handler or urlsplit(theme.url).netloc


def next_time(session: RepeatSession, now: datetime) -> SafeString:
    """Return when a session is repeated next, in words, with the exact time as its title."""
    if session.due_at is None:
        return nowrap(pgettext("session", "manually only"))
    words = _due_words(session, session.due_at, now)
    return time_element(session.due_at, words)


def say_length(length: timedelta) -> str:
    """Return a length of time in its largest unit; a short one in whole seconds."""
    if length < timedelta(minutes=1):
        return gettext("%(seconds)s s") % {"seconds": max(0, round(length.total_seconds()))}
    return timesince(_EPOCH, _EPOCH + length, depth=1)


def say_seconds(seconds: float) -> str:
    """Return a setting of a theme exactly: in minutes, hours or days if these are whole."""
    number = int(seconds) if float(seconds).is_integer() else seconds
    if number < 60 or number > LONGEST_IN_WORDS or number % 60:
        return gettext("%(seconds)s s") % {"seconds": number_format(number)}
    return timesince(_EPOCH, _EPOCH + timedelta(seconds=number), depth=3)


def count_words(count: int, most: int) -> str:
    """Return a count; with a plus if it ended at its limit."""
    return number_format(count, force_grouping=True) + ("+" if count >= most else "")


def bare_address(url: str) -> str:
    """Return where messages go as people write it: a mailbox or a phone number without its scheme."""
    return url.removeprefix("mailto:").removeprefix("sms:")


def subject_element(subject: str, named: Named | None) -> SafeString | str:
    """Return what a row is about by its name, with a link to its page; the code that programs know is the hint."""
    if named is None:
        return subject or "–"
    if not named.page:
        return format_html('<span class="pst-url" title="{}">{}</span>', subject, named.text)
    return format_html('<a class="pst-link pst-url" href="{}" title="{}">{}</a>', named.page, subject, named.text)


def name_rows(rows: Iterable[Any]) -> None:
    """Find the names of the subjects of a whole list by a few queries; each rides along to the column."""
    names = name_subjects([row.subject for row in rows])
    for row in rows:
        row.named = names.get(row.subject)


def named_of(row: Any) -> Named | None:
    """Return the name of a row's subject: of a list it was found before."""
    return row.named if hasattr(row, "named") else name_subject(row.subject)


def severity_element(severity: Severity) -> SafeString:
    """Return a severity as a word with its icon; the colour of both says the same once more."""
    return format_html(
        '<span class="pst-severity" data-severity="{}"><i class="material-symbols-outlined" aria-hidden="true"></i>{}'
        "</span>",
        severity.code,
        severity.label,
    )


def nowrap(text: str) -> SafeString:
    return format_html('<span class="pst-nowrap">{}</span>', text)


def _due_words(session: RepeatSession, due_at: datetime, now: datetime) -> str:
    distance = due_at - now
    values = {"time": durations.say_length(abs(distance))}
    if session.is_repeating:
        return gettext("in progress")
    if session.status == Status.ACTIVE:
        if distance <= timedelta(0):
            return gettext("saved automatically in a moment")
        return gettext("saved automatically in %(time)s") % values
    if distance > timedelta(0):
        return gettext("in %(time)s") % values
    return gettext("now") if -distance < timedelta(minutes=1) else gettext("overdue by %(time)s") % values
