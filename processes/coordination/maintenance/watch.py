"""A role that is away while change sets wait: an alert after a minute, closed when it is heard of again.

The scheduler looks, for it is none of the roles: a Coordinator that is away could not tell. While the Coordinator is
away nothing is known of the others, so nobody else is named.

The alert of a reader that refuses is closed here too: once all that it refused is taken back, and nothing more was
refused for a while. Closed at once, it would come and go with every change set.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext_noop

from notifications.models import Alert
from notifications.services.alerts import close_alert, raise_alert
from processes.coordination.coordinator.decisions import REFUSED
from processes.coordination.coordinator.liveness import HEARTBEAT_VALID_FOR
from processes.coordination.models import AppEvent, RoleLife, WriterEventReader
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.transitions import RoleKind
from processes.coordination.roles import role_names
from processes.coordination.schema.routing import reader_names
from processes.coordination.selectors import UNDER_WAY
from processes.coordination.subjects import READER_PREFIX

AWAY = "coordination.away"
TITLE = gettext_noop("Change sets wait: %(role)s of coordination has not been heard of for a minute")
PATIENCE_SECONDS = 60.0
REFUSALS_QUIET = timedelta(minutes=10)
COORDINATOR = RoleKind.COORDINATOR.value


class AbsenceWatch:
    """What this process has seen of the roles: one that has just started with the product is not away yet."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def look_once(self, *, at: datetime) -> None:
        now = self._clock()
        unheard = find_absent_roles(at=at)
        self._since = {name: self._since.get(name, now) for name in unheard}
        absent = {name for name, since in self._since.items() if now - since >= PATIENCE_SECONDS}
        told = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=AWAY)
        known = set(told.values_list("subject", flat=True))
        for name in sorted(absent - known):
            raise_alert(AWAY, name, TITLE, {"role": name})
        if COORDINATOR not in unheard:  # else nobody knows whether the others are back
            for name in sorted(known.difference(unheard)):
                close_alert(AWAY, name)


def find_absent_roles(*, at: datetime) -> set[str]:
    """Return the roles that change sets wait for and that have not said lately that they are alive."""
    if not AppEvent.objects.filter(app_event_status_id__in=UNDER_WAY).exists():
        return set()
    heard = RoleLife.objects.filter(seen_at__gt=at - HEARTBEAT_VALID_FOR).values_list("name", flat=True)
    unheard = set(role_names()).difference(heard)
    return {COORDINATOR} if COORDINATOR in unheard else unheard


def close_refusal_alerts(*, at: datetime) -> None:
    """Close the alerts of readers that refuse nothing any longer, or that are not there any more."""
    unresolved = Alert.objects.exclude(status=Alert.Status.RESOLVED)
    for subject, last_at in unresolved.filter(kind=REFUSED).values_list("subject", "last_at"):
        name = subject.removeprefix(READER_PREFIX)
        if name not in reader_names():
            close_alert(REFUSED, subject, gettext_noop("There is no such reader any more."))
        elif last_at < at - REFUSALS_QUIET and not _has_refused(name):
            close_alert(REFUSED, subject, gettext_noop("What it refused is taken back, and nothing was refused since."))


def _has_refused(reader: str) -> bool:
    """Return whether a change set that this reader refused has not ended on the Writer."""
    refused = WriterEventReader.objects.filter(name=reader, writer_event=OuterRef("pk")).exclude(reason="")
    unended = [*UNDER_WAY, EventStatus.COMPENSATION_FAILED.value]
    return AppEvent.objects.filter(Exists(refused), app_event_status_id__in=unended).exists()


_absences = AbsenceWatch()


def watch_once() -> bool:
    """There is never more to do at once."""
    at = timezone.now()
    _absences.look_once(at=at)
    close_refusal_alerts(at=at)
    return False
