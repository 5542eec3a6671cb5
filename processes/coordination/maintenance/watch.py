"""Watch over the roles: an alert when one is away for a minute while change sets wait, closed by its next heartbeat.

The scheduler does it, for it is none of the roles: a Coordinator that is away could not. While the Coordinator is away
the heartbeats of the others are not recorded, so no other role is named.

The alert of a reader that refuses is closed here too: once all that it refused is undone, and nothing more was refused
for a while. Closed at once, it would come and go with every change set. So is that of a message that a role could not
process, when its change set has ended.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext_noop

from notifications.models import Alert
from notifications.names import numbers_of
from notifications.services.alerts import close_alert, raise_alert
from processes.coordination.coordinator.decisions import REFUSED
from processes.coordination.coordinator.liveness import HEARTBEAT_VALID_FOR
from processes.coordination.models import AppEvent, RoleLife, WriterEventReader
from processes.coordination.protocol.role import DROPPED
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.transitions import RoleKind
from processes.coordination.roles import role_names
from processes.coordination.schema.routing import reader_names
from processes.coordination.selectors import UNDER_WAY
from processes.coordination.subjects import EVENT_PREFIX, READER_PREFIX

AWAY = "coordination.away"
TITLE = gettext_noop("Change sets are waiting: no sign of the coordination role %(role)s for a minute")
PATIENCE_SECONDS = 60.0
REFUSALS_QUIET = timedelta(minutes=10)
DROPPED_QUIET = timedelta(minutes=1)
"""Several times as long as a sender waits before it repeats."""
COORDINATOR = RoleKind.COORDINATOR.value


class AbsenceWatch:
    """How long this process has seen roles absent: one that starts together with the product is not away yet."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def look_once(self, *, at: datetime) -> None:
        now = self._clock()
        absent_now = find_absent_roles(at=at)
        self._since = {name: self._since.get(name, now) for name in absent_now}
        absent = {name for name, since in self._since.items() if now - since >= PATIENCE_SECONDS}
        unresolved = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=AWAY)
        known = set(unresolved.values_list("subject", flat=True))
        for name in sorted(absent - known):
            raise_alert(AWAY, name, TITLE, {"role": name})
        if COORDINATOR not in absent_now:  # else nobody knows whether the others are back
            for name in sorted(known.difference(absent_now)):
                close_alert(AWAY, name)


def find_absent_roles(*, at: datetime) -> set[str]:
    """Return the roles without a recent heartbeat, while change sets wait."""
    if not AppEvent.objects.filter(app_event_status_id__in=UNDER_WAY).exists():
        return set()
    alive = RoleLife.objects.filter(seen_at__gt=at - HEARTBEAT_VALID_FOR).values_list("name", flat=True)
    absent_now = set(role_names()).difference(alive)
    return {COORDINATOR} if COORDINATOR in absent_now else absent_now


def close_refusal_alerts(*, at: datetime) -> None:
    """Close the alerts of readers that refuse nothing any longer, or that are not configured any more."""
    unresolved = Alert.objects.exclude(status=Alert.Status.RESOLVED)
    for subject, last_at in unresolved.filter(kind=REFUSED).values_list("subject", "last_at"):
        name = subject.removeprefix(READER_PREFIX)
        if name not in reader_names():
            close_alert(REFUSED, subject, gettext_noop("This reader no longer exists."))
        elif last_at < at - REFUSALS_QUIET and not _has_refused(name):
            close_alert(
                REFUSED, subject, gettext_noop("What it refused has been undone, and it has refused nothing since.")
            )


def close_dropped_alerts(*, at: datetime) -> None:
    """Close the alerts of messages that could not be processed, once none came for a while and the event has ended."""
    unresolved = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=DROPPED)
    subjects = list(unresolved.filter(last_at__lt=at - DROPPED_QUIET).values_list("subject", flat=True))
    events = numbers_of(subjects, EVENT_PREFIX)
    rows = AppEvent.objects.filter(pk__in=events.values(), app_event_status_id__in=UNDER_WAY)
    under_way = set(rows.values_list("pk", flat=True))
    for subject in subjects:
        if events.get(subject) not in under_way:
            close_alert(DROPPED, subject, gettext_noop("No such message has come since, and the change set has ended."))


def _has_refused(reader: str) -> bool:
    """Return whether a change set that this reader refused has not ended on the Writer."""
    refused = WriterEventReader.objects.filter(name=reader, writer_event=OuterRef("pk")).exclude(reason="")
    unended = [*UNDER_WAY, EventStatus.COMPENSATION_FAILED.value]
    return AppEvent.objects.filter(Exists(refused), app_event_status_id__in=unended).exists()


_absences = AbsenceWatch()


def watch_once() -> bool:
    """Look for absent roles and close alerts; return False, for there is never more to do at once."""
    at = timezone.now()
    _absences.look_once(at=at)
    close_refusal_alerts(at=at)
    close_dropped_alerts(at=at)
    return False
