"""Every kind of alert: what it is called on pages, and how severe it is. The one table of both."""

from dataclasses import dataclass

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Severity(models.IntegerChoices):
    """The most severe has the least number, so that lists begin with it."""

    CRITICAL = 1, pgettext_lazy("severity", "critical")
    """Work has stopped, or data are at risk."""
    WARNING = 2, pgettext_lazy("severity", "warning")
    """Something has failed and will not mend itself; the rest goes on."""
    NOTICE = 3, pgettext_lazy("severity", "notice")
    """Somebody should know of it."""

    @property
    def code(self) -> str:
        """As REST and the live page name it."""
        return self.name.lower()


@dataclass(frozen=True)
class AlertKind:
    words: Promise
    severity: Severity


KINDS = {
    "amqp.parked": AlertKind(_("Messages parked"), Severity.WARNING),
    "amqp.parking_full": AlertKind(_("Queue stopped"), Severity.CRITICAL),
    "coordination.audit": AlertKind(_("Reader differs from the writer"), Severity.CRITICAL),
    "coordination.away": AlertKind(_("Coordination role missing"), Severity.CRITICAL),
    "coordination.compensation": AlertKind(_("Compensation failed"), Severity.CRITICAL),
    "coordination.dropped": AlertKind(_("Coordination message not processed"), Severity.WARNING),
    "coordination.refused": AlertKind(_("Change set refused by a reader"), Severity.WARNING),
    "coordination.silent": AlertKind(_("Reader not responding"), Severity.WARNING),
    "coordination.waits": AlertKind(_("Change set waiting"), Severity.WARNING),
    "deliveries.dead": AlertKind(_("Messages not delivered"), Severity.WARNING),
    "endpoint.disabled": AlertKind(_("Receiver disabled"), Severity.WARNING),
    "endpoint.unreachable": AlertKind(_("Receiver not responding"), Severity.WARNING),
    "engine.down": AlertKind(_("Engine down"), Severity.CRITICAL),
    "exchange.contradiction": AlertKind(_("Contradictory exchange call"), Severity.CRITICAL),
    "exchange.failed": AlertKind(_("Exchange process failed"), Severity.CRITICAL),
    "exchange.in_doubt": AlertKind(_("Exchange process in doubt"), Severity.CRITICAL),
    "follower.incident": AlertKind(_("Event not processed"), Severity.WARNING),
    "history.backlog": AlertKind(_("History unavailable"), Severity.WARNING),
    "history.spool_large": AlertKind(_("History fills the disk"), Severity.CRITICAL),
    "message.file": AlertKind(_("Message file error"), Severity.CRITICAL),
    "message.foreign_files": AlertKind(_("Unknown files in message folders"), Severity.NOTICE),
    "message.setbacks": AlertKind(_("Message keeps failing"), Severity.WARNING),
    "sensor.flapping": AlertKind(_("Connection flapping"), Severity.WARNING),
    "sensor.left_open": AlertKind(_("Door left open"), Severity.WARNING),
    "session.exhausted": AlertKind(_("Repeat session exhausted"), Severity.WARNING),
    "signals.rejected": AlertKind(_("Many rejected signals"), Severity.WARNING),
    "storage.failed": AlertKind(_("Disk not writable"), Severity.CRITICAL),
    "storage.low": AlertKind(_("Low disk space"), Severity.CRITICAL),
    "storage.volume": AlertKind(_("Message volume unavailable"), Severity.CRITICAL),
    "test": AlertKind(_("Test alert"), Severity.NOTICE),
    "theme.unreachable": AlertKind(_("Session receiver not responding"), Severity.WARNING),
    "thread.failing": AlertKind(_("Background work failing"), Severity.CRITICAL),
    "workflow.alert": AlertKind(_("Alert from a workflow"), Severity.WARNING),
    "workflow.incident": AlertKind(_("Workflow incident"), Severity.WARNING),
}


def severity_of(kind: str) -> Severity:
    """Return how severe an alert of this kind is; those of plugins are warnings."""
    known = KINDS.get(kind)
    return Severity.WARNING if known is None else known.severity


def say_kind(kind: str) -> str:
    """Return a kind in words; one of a plugin stands for itself."""
    known = KINDS.get(kind)
    return kind if known is None else str(known.words)
