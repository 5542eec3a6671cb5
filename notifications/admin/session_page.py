"""What the page of a session tells beside its fields: its records, and what happened to it."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Left
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from config.admin_base.json_text import format_json, make_visible
from config.admin_base.pages import badge
from notifications.models import RepeatSession, SessionRecord, SessionStep
from notifications.sessions.operations import Verdict
from notifications.sessions.storage import LONGEST_TIMELINE
from notifications.subjects import theme_subject

MOST_RECORDS = 100
LONGEST_RECORD = 16_384
LONGEST_PAGE = 262_144
"""A page ends before the text of its records is longer than this, if it has one."""

What = SessionStep.What
COLOURS = {
    What.FAILED: "danger",
    What.DIED: "danger",
    What.EXHAUSTED: "danger",
    What.LAPSED: "warning",
    What.STOPPED: "warning",
    What.REVIVED: "success",
}
VERDICT_COLOURS = {"acknowledged": "success", "refused": "danger"}


@dataclass(frozen=True)
class ShownRecord:
    position: int
    text: str
    is_whole: bool


@dataclass(frozen=True)
class ShownVerdict:
    verdict: Verdict
    badge: SafeString


@dataclass(frozen=True)
class Entry:
    at: datetime
    badge: SafeString
    detail: str
    verdicts: list[ShownVerdict]


@dataclass(frozen=True)
class SessionPage:
    records: list[ShownRecord]
    more_records: int
    timeline: list[Entry]
    """The newest first."""
    alerts: str
    """The address of the alerts that an exhausted one has raised; empty to those who may not see them."""


def build_session_page(request: HttpRequest, session: RepeatSession) -> SessionPage:
    records = _records(session)
    is_alerting = session.status == RepeatSession.Status.EXHAUSTED and request.user.has_perm("notifications.view_alert")
    alerts = {"q": theme_subject(session.theme_id)}
    return SessionPage(
        records=records,
        more_records=max(0, session.record_count - len(records)),
        timeline=_timeline(session),
        alerts=reverse("admin:notifications_alert_changelist", query=alerts) if is_alerting else "",
    )


def _records(session: RepeatSession) -> list[ShownRecord]:
    rows = SessionRecord.objects.filter(session=session).order_by("position")
    heads = rows.annotate(head=Left("body", LONGEST_RECORD + 1)).values_list("position", "head")
    shown, length = list[ShownRecord](), 0
    for position, head in heads[:MOST_RECORDS]:
        record = _record(position, head)
        length += len(record.text)
        if shown and length > LONGEST_PAGE:
            break
        shown.append(record)
    return shown


def _record(position: int, head: str) -> ShownRecord:
    if len(head) > LONGEST_RECORD:
        return ShownRecord(position + 1, make_visible(head[:LONGEST_RECORD]), is_whole=False)
    return ShownRecord(position + 1, format_json(head, longest=4 * LONGEST_RECORD), is_whole=True)


def _timeline(session: RepeatSession) -> list[Entry]:
    steps = SessionStep.objects.filter(session=session).order_by("-pk")[:LONGEST_TIMELINE]
    created = Entry(session.created_at, badge(pgettext("session", "created"), "default"), "", [])
    return [*(_entry(step) for step in steps), created]


def _entry(step: SessionStep) -> Entry:
    what = What(step.what)
    detail = step.detail
    if what in (What.APPENDED, What.REWRITTEN):
        detail = gettext("records: %(count)s") % {"count": detail}
    verdicts = [ShownVerdict(each, _verdict_badge(each)) for each in step.verdicts]
    return Entry(step.at, badge(what.label, COLOURS.get(what, "info")), detail, verdicts)


def _verdict_badge(verdict: Verdict) -> SafeString:
    words = {
        "acknowledged": pgettext("verdict", "acknowledged"),
        "refused": pgettext("verdict", "refused"),
        "cancelled": pgettext("verdict", "cancelled"),
    }
    status = verdict["status"]
    return badge(words.get(status, status), VERDICT_COLOURS.get(status, "default"))
