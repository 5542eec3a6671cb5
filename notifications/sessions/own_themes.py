"""The product's own use of sessions: an event that a follower could not take is offered to it again by itself."""

from notifications.models import Theme
from notifications.models.session import OWN_THEMES_FROM
from notifications.sessions.enqueue import enqueue_session

INCIDENTS = OWN_THEMES_FROM + 1
INCIDENT_HANDLER = "incidents"
# Twelve times within two and a half hours; an operator may be quicker, and may go on after that.
_VALUES = {"timeout": 60, "repeat_limit": 12, "delay": 600, "jitter": 120, "length_limit": 1000}


def enqueue_incident_retry(incident_id: int) -> None:
    """Let an incident be retried later, in the transaction that sets its event aside."""
    Theme.objects.get_or_create(number=INCIDENTS, defaults={"handler": INCIDENT_HANDLER, **_VALUES})
    enqueue_session(theme=INCIDENTS, records=[{"incident": incident_id}])
