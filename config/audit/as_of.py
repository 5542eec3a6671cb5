"""The values of a registered object as they were at a time, read from the change log."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from config.audit.changes import Values
from config.common.errors import NotFound
from config.common.times import MILLISECOND, format_time, truncate_to_milliseconds
from config.records.models import ChangeRecord


class BeforeRecords(NotFound):
    """The records do not reach back to that time: what there was then is not known."""

    sample = {"records_begin": "2026-01-31T23:59:59.000Z"}


class NotRegisteredThen(NotFound):
    """It was not registered yet at that time."""

    sample = {"created_at": "2026-01-31T23:59:59.000Z"}


@dataclass(frozen=True)
class PastValues:
    """What the change log knows of an object at a time."""

    values: Values | None
    """None where the object was not registered yet, and where nothing is known."""
    is_known: bool
    """False where the lines that would tell have expired (`CHANGE_DAYS`)."""
    set_by: ChangeRecord | None = None
    """The line that had set these values, if it is still there."""
    ended_by: ChangeRecord | None = None
    """The next line after it."""


def find_values_at(kind: str, object_id: str, at: datetime, *, now: datetime, present: Values) -> PastValues:
    """Return the values of an object at a time; `present` are those that it has now.

    The lines of one object are few, and an index has them in their order.
    """
    lines = ChangeRecord.objects.filter(kind=kind, object_id=object_id)
    # Changes are kept to the microsecond and said in milliseconds: who asks for the time of one means after it.
    end = at + MILLISECOND
    set_by = lines.filter(at__lt=end).order_by("-pk").first()
    ended_by = lines.filter(at__gte=end).order_by("pk").first()
    if set_by is not None:
        return PastValues(set_by.after, True, set_by, ended_by)
    # No line of that time or before it: those between then and the first that is left may have expired.
    is_kept = at >= now - timedelta(days=settings.CHANGE_DAYS)
    if ended_by is None:
        return PastValues(present if is_kept else None, is_kept)
    if ended_by.action == ChangeRecord.Action.CREATED:
        return PastValues(None, True, None, ended_by)
    return PastValues(ended_by.before if is_kept else None, is_kept, None, ended_by)


def get_values_at(kind: str, object_id: str, at: datetime, *, present: Values, created_at: datetime) -> Values:
    """Return the values of an object at a time; one that was introduced later is missing among old ones.

    Raise `NotRegisteredThen` or `BeforeRecords`, with the first time of which something is known.
    """
    past = find_values_at(kind, object_id, at, now=timezone.now(), present=present)
    if past.is_known and past.values is None and past.ended_by is not None:
        raise NotRegisteredThen(created_at=format_time(past.ended_by.at))
    if at < truncate_to_milliseconds(created_at):
        raise NotRegisteredThen(created_at=format_time(created_at))
    begin = records_begin()
    if at < begin or past.values is None:
        raise BeforeRecords(records_begin=format_time(begin))
    return past.values


def records_begin() -> datetime:
    """Return the time from which on every change is known: older lines of the change log have been deleted."""
    return truncate_to_milliseconds(timezone.now() - timedelta(days=settings.CHANGE_DAYS))
