"""The records and the timeline on the page of a session."""

import re
from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Left
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from config.admin_base.json_text import format_json, make_visible
from config.admin_base.pages import badge
from config.common.actors import say_actor
from notifications.models import RepeatSession, SessionRecord, SessionStep
from notifications.sessions.operations import Append, Delete, Finish, Rewrite, Verdict
from notifications.sessions.storage import LONGEST_TIMELINE
from notifications.subjects import theme_subject

MOST_RECORDS = 100
LONGEST_RECORD = 16_384
LONGEST_PAGE = 262_144
"""The page shows no more text of records than this, but always the first."""

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
DELAY = re.compile(r"\+(\S+) s")
"""How a step keeps the time until the next attempt."""


@dataclass(frozen=True)
class ShownRecord:
    position: int
    text: str
    is_whole: bool


@dataclass(frozen=True)
class ShownVerdict:
    verdict: Verdict
    operation: str
    badge: SafeString


@dataclass(frozen=True)
class TimelineEntry:
    at: datetime
    badge: SafeString
    detail: str
    verdicts: list[ShownVerdict]


@dataclass(frozen=True)
class SessionPage:
    records: list[ShownRecord]
    more_records: int
    timeline: list[TimelineEntry]
    """The newest first."""
    alerts: str
    """The address of the alerts of an exhausted session; empty if the user may not see them."""


def build_session_page(request: HttpRequest, session: RepeatSession) -> SessionPage:
    records = _records(session)
    steps = SessionStep.objects.filter(session=session).order_by("-pk")[:LONGEST_TIMELINE]
    created = TimelineEntry(session.created_at, badge(pgettext("session", "created"), "default"), "", [])
    is_alerting = session.status == RepeatSession.Status.EXHAUSTED and request.user.has_perm("notifications.view_alert")
    alerts = {"q": theme_subject(session.theme_id)}
    return SessionPage(
        records=records,
        more_records=max(0, session.record_count - len(records)),
        timeline=[*(_entry(step) for step in steps), created],
        alerts=reverse("admin:notifications_alert_changelist", query=alerts) if is_alerting else "",
    )


def _records(session: RepeatSession) -> list[ShownRecord]:
    rows = SessionRecord.objects.filter(session=session).order_by("position")
    heads = rows.annotate(head=Left("body", LONGEST_RECORD + 1)).values_list("position", "head")
    shown, length = list[ShownRecord](), 0
    for position, head in heads[:MOST_RECORDS]:
        is_whole = len(head) <= LONGEST_RECORD
        text = format_json(head, longest=4 * LONGEST_RECORD) if is_whole else make_visible(head[:LONGEST_RECORD])
        record = ShownRecord(position + 1, text, is_whole)
        length += len(record.text)
        if shown and length > LONGEST_PAGE:
            break
        shown.append(record)
    return shown


def _entry(step: SessionStep) -> TimelineEntry:
    what = What(step.what)
    detail = step.detail
    if what in (What.APPENDED, What.REWRITTEN):
        detail = gettext("records: %(count)s") % {"count": detail}
    elif what is What.MOVED:
        who, _colon, when = detail.partition(": ")
        detail = f"{say_actor(who)}: {when}" if when else detail
    elif what is What.SAVED and (delay := DELAY.fullmatch(detail)):
        detail = gettext("next attempt in %(seconds)s s") % {"seconds": delay[1]}
    verdicts = [ShownVerdict(each, _say_operation(each), _verdict_badge(each)) for each in step.verdicts]
    return TimelineEntry(step.at, badge(what.label, COLOURS.get(what, "info")), detail, verdicts)


def _say_operation(verdict: Verdict) -> str:
    """Return what the handler asked for, in words; an operation that is not ours stands for itself."""
    words = {
        Delete.op: pgettext("operation", "delete the session"),
        Append.op: pgettext("operation", "append records"),
        Rewrite.op: pgettext("operation", "replace the records"),
        Finish.op: pgettext("operation", "end this attempt"),
    }
    return words.get(verdict["op"], verdict["op"])


def _verdict_badge(verdict: Verdict) -> SafeString:
    words = {
        "acknowledged": pgettext("verdict", "acknowledged"),
        "refused": pgettext("verdict", "refused"),
        "cancelled": pgettext("verdict", "cancelled"),
    }
    status = verdict["status"]
    return badge(words.get(status, status), VERDICT_COLOURS.get(status, "default"))
