"""A role that is away while change sets wait: an alert after a minute, closed when it is heard of again.

The scheduler looks, for it is none of the roles: a Coordinator that is away could not tell. While the Coordinator is
away nothing is known of the others, so nobody else is named.
"""

import time
from collections.abc import Callable
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext_noop

from notifications.models import Alert
from notifications.services.alerts import heal, raise_alert
from processes.coordination.coordinator.life import BELIEVED
from processes.coordination.models import AppEvent, RoleLife
from processes.coordination.roles import role_names
from processes.coordination.selectors import UNDER_WAY
from processes.coordination.transitions import RoleKind

AWAY = "coordination.away"
TITLE = gettext_noop("Change sets wait: %(role)s of coordination has not been heard of for a minute")
PATIENCE_SECONDS = 60.0
COORDINATOR = RoleKind.COORDINATOR.value


class Absences:
    """What this process has seen of the roles: one that has just started with the product is not away yet."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def look_once(self, *, at: datetime) -> None:
        now = self._clock()
        unheard = find_unheard(at=at)
        self._since = {name: self._since.get(name, now) for name in unheard}
        absent = {name for name, since in self._since.items() if now - since >= PATIENCE_SECONDS}
        told = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=AWAY)
        known = set(told.values_list("subject", flat=True))
        for name in sorted(absent - known):
            raise_alert(AWAY, name, TITLE, {"role": name})
        if COORDINATOR not in unheard:  # else nobody knows whether the others are back
            for name in sorted(known.difference(unheard)):
                heal(AWAY, name)


def find_unheard(*, at: datetime) -> set[str]:
    """Return the roles that change sets wait for and that have not said lately that they are alive."""
    if not AppEvent.objects.filter(app_event_status_id__in=UNDER_WAY).exists():
        return set()
    heard = RoleLife.objects.filter(seen_at__gt=at - BELIEVED).values_list("name", flat=True)
    unheard = set(role_names()).difference(heard)
    return {COORDINATOR} if COORDINATOR in unheard else unheard


_absences = Absences()


def look_for_absences() -> bool:
    """There is never more to do at once."""
    _absences.look_once(at=timezone.now())
    return False
