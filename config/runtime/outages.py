"""Engines that are away: an alert after half a minute, closed when they are back.

The database is not among them: without it no alert can be kept, so `watch.py` tells of it directly.
"""

import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext_noop

from config.runtime.health import engine_states
from notifications.models import Alert
from notifications.services.alerts import heal, raise_alert

DOWN = "engine.down"
PATIENCE_SECONDS = 30.0
REPEAT_SECONDS = 60.0
ABANDONED = timedelta(minutes=3)
"""Who has seen the outage itself closes the alert at once; others only when nobody repeats it any more."""

NAMES = {"amqp": "RabbitMQ", "redis": "Redis", "clickhouse": "ClickHouse"}


class Outages:
    """What this process has seen of the engines; other nodes may see them otherwise."""

    def __init__(
        self, states: Callable[[], Mapping[str, str]] = engine_states, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._states = states
        self._clock = clock
        self._down_since: dict[str, float] = {}
        self._told_at: dict[str, float] = {}

    def look_once(self) -> bool:
        """Ask the engines and raise or close their alerts. There is never more to do at once."""
        states = self._states()
        known = self._known()
        for engine in NAMES:
            if states.get(engine) == "down":
                self._is_down(engine, is_known=engine in known)
            else:
                self._is_up(engine, known.get(engine))
        return False

    def _known(self) -> dict[str, Alert]:
        alerts = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=DOWN)
        return {alert.subject.partition("/")[2]: alert for alert in alerts}

    def _is_down(self, engine: str, *, is_known: bool) -> None:
        """Raise the alert after a while; then repeat it now and then, so that no other node takes it for over."""
        now = self._clock()
        since = self._down_since.setdefault(engine, now)
        told_at = self._told_at.get(engine)
        if now - since < PATIENCE_SECONDS or (is_known and told_at is not None and now - told_at < REPEAT_SECONDS):
            return
        title = gettext_noop("%(engine)s has not answered for half a minute")
        raise_alert(DOWN, f"engine/{engine}", title, {"engine": NAMES[engine]})
        self._told_at[engine] = now

    def _is_up(self, engine: str, alert: Alert | None) -> None:
        """Close the alert of an engine that is back, or that is no longer configured."""
        self._down_since.pop(engine, None)
        was_told = self._told_at.pop(engine, None) is not None
        if alert is not None and (was_told or alert.last_at < timezone.now() - ABANDONED):
            heal(DOWN, f"engine/{engine}", gettext_noop("it answers again"))


_outages = Outages()


def look_for_outages() -> bool:
    return _outages.look_once()
