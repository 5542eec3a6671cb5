"""Engines that are away: an alert after half a minute, closed when they are back.

The database is not among them: without it no alert can be kept, so `watch.py` tells of it directly.
"""

import time
from collections.abc import Callable, Mapping

from django.utils.translation import gettext_noop

from config.runtime.alerts.ongoing_alerts import OngoingAlerts
from config.runtime.health import engine_states

DOWN = "engine.down"
PATIENCE_SECONDS = 30.0

NAMES = {"amqp": "RabbitMQ", "redis": "Redis", "clickhouse": "ClickHouse"}


class EngineOutages:
    """What this process has seen of the engines; other nodes may see them otherwise."""

    def __init__(
        self, states: Callable[[], Mapping[str, str]] = engine_states, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._states = states
        self._clock = clock
        self._down_since: dict[str, float] = {}
        self._alerts = OngoingAlerts(DOWN, clock)

    def run_once(self) -> bool:
        """Ask the engines and raise or close their alerts. There is never more to do at once."""
        states = self._states()
        known = self._alerts.known()
        for engine in NAMES:
            subject = f"engine/{engine}"
            if states.get(engine) == "down":
                self._is_down(engine, is_known=subject in known)
            else:
                # One that is no longer configured is over as well.
                self._down_since.pop(engine, None)
                self._alerts.close(subject, gettext_noop("it responds again"), known.get(subject))
        return False

    def _is_down(self, engine: str, *, is_known: bool) -> None:
        """Raise the alert after a while."""
        now = self._clock()
        if now - self._down_since.setdefault(engine, now) >= PATIENCE_SECONDS:
            title = gettext_noop("%(engine)s has not responded for half a minute")
            self._alerts.raise_or_repeat(f"engine/{engine}", title, {"engine": NAMES[engine]}, is_known=is_known)


_outages = EngineOutages()


def check_engines() -> bool:
    return _outages.run_once()
