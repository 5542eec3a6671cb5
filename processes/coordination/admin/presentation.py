"""Words and badges of the pages: the type and status of a change set, the verdicts of its readers."""

from datetime import datetime, timedelta

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import badge
from config.admin_base.times import time_element
from config.common.durations import say_length
from processes.coordination.models import WriterEventReader
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.transitions import RoleKind
from processes.coordination.schema.entities import ENTITIES, Op, type_number
from processes.coordination.selectors import EventOverview, ReaderOverview

Verdict = WriterEventReader.Verdict
STATUSES: dict[EventStatus, Promise] = {
    EventStatus.CREATED: pgettext_lazy("change set", "created"),
    EventStatus.SAVING: pgettext_lazy("change set", "saving"),
    EventStatus.SAVED: pgettext_lazy("change set", "saved"),
    EventStatus.ACTIVATED: pgettext_lazy("change set", "activated"),
    EventStatus.PREPARING: pgettext_lazy("change set", "preparing"),
    EventStatus.PREPARED: pgettext_lazy("change set", "prepared"),
    EventStatus.PROCESSING: pgettext_lazy("change set", "processing"),
    EventStatus.PROCESSED: pgettext_lazy("change set", "processed"),
    EventStatus.COMMITTING: pgettext_lazy("change set", "committing"),
    EventStatus.COMMITTED: pgettext_lazy("change set", "committed"),
    EventStatus.CANCELING: pgettext_lazy("change set", "cancelling"),
    EventStatus.CANCELED: pgettext_lazy("change set", "cancelled"),
    EventStatus.COMPENSATION_FAILED: pgettext_lazy("change set", "compensation failed"),
}
STATUS_COLOURS = {
    EventStatus.COMMITTED: "success",
    EventStatus.CANCELING: "warning",
    EventStatus.CANCELED: "warning",
    EventStatus.COMPENSATION_FAILED: "danger",
}
"""All others are under way."""
VERDICT_COLOURS = {
    Verdict.WAITING: "default",
    Verdict.PROCESSED: "primary",
    Verdict.REFUSED: "danger",
    Verdict.COMMITTED: "success",
    Verdict.CANCELED: "warning",
}
ENTITY_WORDS: dict[str, Promise] = {
    "DummyItem": _("dummy item"),
    "DummyNode": _("dummy node"),
    "Sensor": _("sensor"),
    "Client": _("client"),
    "SensorLink": _("link of a sensor to a client"),
}
OPERATIONS: dict[Op, Promise] = {
    Op.INSERT: pgettext_lazy("operation", "insert"),
    Op.UPDATE: pgettext_lazy("operation", "update"),
    Op.DELETE: pgettext_lazy("operation", "delete"),
}
ROLES: dict[RoleKind, Promise] = {
    RoleKind.WRITER: _("Writer"),
    RoleKind.COORDINATOR: _("Coordinator"),
    RoleKind.READER: _("Reader"),
}
_TYPES = {type_number(entity, op): (entity, op) for entity in ENTITIES for op in Op}
_EPOCH = datetime(2000, 1, 1)


def format_entity(name: str) -> str:
    return str(ENTITY_WORDS.get(name, name))


def format_type(number: int) -> str:
    """Return the entity and operation of an event type; a type of another release is its number."""
    if number not in _TYPES:
        return str(number)
    entity, op = _TYPES[number]
    return f"{format_entity(entity.name)}: {OPERATIONS[op]}"


def status_badge(view: EventOverview) -> SafeString:
    return badge(STATUSES[view.status], STATUS_COLOURS.get(view.status, "info"))


def verdict_badge(reader: ReaderOverview) -> SafeString:
    """Return the badge of a verdict; a refusal remains the verdict when the change set is cancelled for it."""
    verdict = Verdict.REFUSED if has_refused(reader) else Verdict(reader.verdict)
    return badge(verdict.label, VERDICT_COLOURS[verdict])


def has_refused(reader: ReaderOverview) -> bool:
    return bool(reader.reason) or reader.verdict == Verdict.REFUSED


def format_payloads(view: EventOverview) -> str:
    if view.event.changes is not None:
        return pgettext("payloads", "not made yet")
    counts = {"count": number_format(view.processed), "limit": number_format(view.event.payload_count)}
    return gettext("%(count)s of %(limit)s") % counts


def format_seconds(seconds: float) -> str:
    """Return a lag in words, a short one with tenths of a second."""
    if seconds < 60:
        return gettext("%(seconds)s s") % {"seconds": number_format(seconds, 1 if seconds < 10 else 0)}
    return timesince(_EPOCH, _EPOCH + timedelta(seconds=seconds), depth=1)


def format_age(time: datetime, now: datetime) -> SafeString:
    """Return how long ago a time was, with the exact time as a tooltip."""
    return time_element(time, format_seconds(max(0.0, (now - time).total_seconds())))


def format_span(time: datetime, now: datetime) -> SafeString:
    """Return the same for a sentence: “for …”, “… ago”."""
    return time_element(time, say_length(now - time))
