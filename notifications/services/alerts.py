"""Alerts: raised in the transaction of their cause, counted while they are not resolved, closed when the cause is over.

One row per kind and subject is not resolved (`alert_once_until_resolved`): raising it again counts on that row.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.audit.changes import record_change
from config.audit.log import write_log_entry
from config.common.background.ring import ring
from config.common.correlation import correlation_id
from config.common.database.sql import load_engine_sql
from config.common.text import clean_text, encode_clean
from config.common.text_templates import nested_text, on_one_line
from config.common.times import format_time, truncate_to_milliseconds
from config.common.web.links import absolute_url
from config.records.models import ChangeRecord, LogEntry
from notifications.alert_kinds import severity_of
from notifications.decisions import awaits_decision
from notifications.errors import AlertAcknowledged, AlertNotFound, AlertResolved, DecisionNeeded
from notifications.models import Alert
from notifications.names import page_of_subject
from notifications.services.alert_messages import CLOSED, enqueue_to_earlier_recipients
from notifications.services.events import NewEvent, record_event
from notifications.subjects import alert_subject

ALERTS = "alerts"
KIND = "alert"
OVER = gettext_noop("Closed: %(alert)s. %(reason)s")
TEST, TEST_SUBJECT = "test", "escalation/test"
TEST_TITLE = gettext_noop("Test alert by %(by)s: nothing is wrong")
RESOLVED = gettext_noop("Resolved by %(by)s: %(alert)s. %(reason)s")


def raise_alert(kind: str, subject: str, title: str, detail: dict[str, Any] | None = None) -> int:
    """Raise an alert in the transaction of its cause; return its id.

    An alert that is not resolved yet counts the repeat and takes over title and detail; nobody is notified again.
    `title` is a source text of `gettext` that may name keys of `detail` as `%(name)s`.
    """
    stored_title = clean_text(on_one_line(title), 300)
    values: dict[str, str | int] = {
        "kind": kind,
        "severity": severity_of(kind).value,
        "subject": subject,
        "title": stored_title,
        "detail": encode_clean(detail or {}),
        "chain": correlation_id(),
    }
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(load_engine_sql("notifications", "raise_alert"), values)
            alert_id, count = cursor.fetchone()
        # The statement inserts the row or counts on the one that is there: nobody is notified of a repeat.
        if count == 1:
            payload = {"kind": kind, "about": subject, "title": stored_title, "detail": detail or {}}
            record_event(NewEvent("alert.raised", alert_subject(alert_id), timezone.now(), payload))
            _log(LogEntry.Level.ERROR, alert_id, stored_title, {**(detail or {}), "about": subject})
            ring(ALERTS)
    return int(alert_id)


def raise_test_alert(actor: str) -> tuple[int, bool]:
    """Raise an alert that tries out the escalation; return its id, and whether it is new.

    As long as one is not resolved there is no other: whoever presses twice is told of one.
    """
    with transaction.atomic():
        waiting = Alert.objects.filter(kind=TEST, subject=TEST_SUBJECT).exclude(status=Alert.Status.RESOLVED)
        known = waiting.values_list("pk", flat=True).first()
        if known is not None:
            return known, False
        return raise_alert(TEST, TEST_SUBJECT, TEST_TITLE, {"by": actor}), True


def close_alert(kind: str, subject: str, note: str = "") -> None:
    """Close the alert of a cause that is over, if there is one, and notify those who had a message about it."""
    with transaction.atomic():
        rows = Alert.objects.select_for_update(no_key=True).filter(kind=kind, subject=subject)
        alert = rows.exclude(status=Alert.Status.RESOLVED).first()
        if alert is None:
            return
        _close(alert, by="", resolution=note)
        if alert.muted_until is None or alert.muted_until <= timezone.now():
            enqueue_to_earlier_recipients(alert, CLOSED)


def acknowledge_alert(alert_id: int, actor: str) -> None:
    """Take an alert on: it is escalated no further."""
    with transaction.atomic():
        alert = _lock_unresolved(alert_id)
        if alert.status == Alert.Status.ACKNOWLEDGED:
            raise AlertAcknowledged(acknowledged_by=alert.acknowledged_by)
        before = _values(alert)
        alert.status = Alert.Status.ACKNOWLEDGED
        alert.acknowledged_by, alert.acknowledged_at = actor[:160], _now()
        _write(alert, "status", "acknowledged_by", "acknowledged_at")
        _record_deed("acknowledged", alert, before, actor)


def resolve_alert(alert_id: int, actor: str, note: str = "") -> None:
    """Close an alert by hand, unless it stands for a decision. If its cause comes again, that is a new alert."""
    with transaction.atomic():
        alert = _lock_unresolved(alert_id)
        if awaits_decision(alert.kind, alert.subject):
            raise DecisionNeeded(page=absolute_url(page_of_subject(alert.subject)), subject=alert.subject)
        before = _values(alert)
        _close(alert, by=actor[:160], resolution=note)
        _record_change(alert, before, actor)


def mute_alert(alert_id: int, actor: str, seconds: int) -> None:
    """Notify nobody about this alert for a while; if it is still open then, its escalation goes on."""
    with transaction.atomic():
        alert = _lock_unresolved(alert_id)
        before = _values(alert)
        alert.muted_until = _now() + timedelta(seconds=seconds)
        # The fence overtakes whoever has claimed the row for its next rung; the next claim sees that it is muted.
        due_at = Now() if alert.status == Alert.Status.OPEN else None
        Alert.objects.filter(pk=alert.pk).update(muted_until=alert.muted_until, due_at=due_at, fence=F("fence") + 1)
        _record_deed("muted", alert, before, actor)
        ring(ALERTS)


def _lock_unresolved(alert_id: int) -> Alert:
    alert = None
    if 0 < alert_id < 2**63:
        alert = Alert.objects.select_for_update(no_key=True).filter(pk=alert_id).first()
    if alert is None:
        raise AlertNotFound
    if alert.status == Alert.Status.RESOLVED:
        raise AlertResolved
    return alert


def _close(alert: Alert, *, by: str, resolution: str) -> None:
    alert.status, alert.resolution = Alert.Status.RESOLVED, clean_text(on_one_line(resolution), 300)
    alert.resolved_by, alert.resolved_at = by, _now()
    _write(alert, "status", "resolved_by", "resolved_at", "resolution")
    payload = {"kind": alert.kind, "about": alert.subject, "by": by, "resolution": alert.resolution}
    record_event(NewEvent("alert.resolved", alert_subject(alert.pk), timezone.now(), payload))
    logged = {"alert": nested_text(alert.title, alert.detail), "by": by, "reason": alert.resolution}
    logged["about"] = alert.subject
    _log(LogEntry.Level.INFO, alert.pk, RESOLVED if by else OVER, logged)


def _log(level: LogEntry.Level, alert_id: int, template: str, data: dict[str, Any]) -> None:
    write_log_entry(
        level=level, kind=LogEntry.Kind.ALERT, subject=alert_subject(alert_id), template=template, data=data
    )


def _write(alert: Alert, *names: str) -> None:
    """Write these columns and end the escalation; the fence overtakes whoever has claimed the row for its next rung."""
    changes = {name: getattr(alert, name) for name in names}
    Alert.objects.filter(pk=alert.pk).update(**changes, due_at=None, fence=F("fence") + 1)


def _record_deed(verb: str, alert: Alert, before: dict[str, Any], actor: str) -> None:
    """Record what somebody did to an alert: a line of the change log and an event."""
    after = _record_change(alert, before, actor)
    payload = {"kind": alert.kind, "about": alert.subject, "by": actor, "muted_until": after["muted_until"]}
    record_event(NewEvent(f"alert.{verb}", alert_subject(alert.pk), timezone.now(), payload))


def _record_change(alert: Alert, before: dict[str, Any], actor: str) -> dict[str, Any]:
    after = _values(alert)
    record_change(
        kind=KIND,
        object_id=str(alert.pk),
        action=ChangeRecord.Action.CHANGED,
        before=before,
        after=after,
        actor=actor,
    )
    return after


def _values(alert: Alert) -> dict[str, Any]:
    muted_until = None if alert.muted_until is None else format_time(alert.muted_until)
    return {"status": str(alert.status), "muted_until": muted_until, "resolution": alert.resolution}


def _now() -> datetime:
    return truncate_to_milliseconds(timezone.now())
