"""Retry or dismiss an incident: an event that a follower could not take."""

from contextlib import suppress
from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from notifications.errors import IncidentFailedAgain, IncidentNotFound, IncidentResolved
from notifications.followers import find_following
from notifications.models import Event, Incident
from notifications.services.alerts import close_alert
from notifications.services.relay import INCIDENT, follower_subject
from notifications.sessions.handlers import SessionView


def retry_incident(*, incident_id: int, actor: str) -> None:
    """Hand the event to its follower once more, now out of order; resolve the incident if the follower takes it."""
    with transaction.atomic():
        incident = _lock_unresolved(incident_id)
        following = find_following(incident.follower_id)
        if following is None:
            raise IncidentFailedAgain(reason=f"{incident.follower_id} is not registered any more")
        try:
            # A savepoint: an error of the database inside of it leaves the outer transaction usable.
            with transaction.atomic():
                following.handle([_restore_event(incident)])
        except Exception as error:
            raise IncidentFailedAgain(reason=f"{type(error).__name__}: {error}") from error
        _resolve(incident, f"taken by {incident.follower_id} at the request of {actor}")


def repeat_incident(session: SessionView) -> None:
    """Retry the incidents of a repeat session; one that an operator has resolved meanwhile needs nothing more."""
    for record in session.records:
        with suppress(IncidentNotFound, IncidentResolved):
            retry_incident(incident_id=record["incident"], actor=f"session {session.id}")


def dismiss_incident(*, incident_id: int, actor: str, reason: str) -> None:
    """Close the incident without its effect; who and why stay on the row."""
    with transaction.atomic():
        _resolve(_lock_unresolved(incident_id), f"dismissed by {actor}: {reason}")


def has_open_incidents(subject: str) -> bool:
    """Return whether the follower that an alert is about still has unresolved incidents."""
    return Incident.objects.filter(follower=subject.removeprefix(follower_subject("")), resolved_at=None).exists()


def _lock_unresolved(incident_id: int) -> Incident:
    incident = Incident.objects.select_for_update().filter(pk=incident_id).first()
    if incident is None:
        raise IncidentNotFound
    if incident.resolved_at is not None:
        raise IncidentResolved
    return incident


def _restore_event(incident: Incident) -> Event:
    """Build the event from its copy: the row itself may have expired."""
    kept = incident.event
    times = {name: datetime.fromisoformat(kept[name]) for name in ("at", "recorded_at")}
    return Event(**{**kept, **times})


def _resolve(incident: Incident, resolution: str) -> None:
    """Close the incident; with the last one of its follower the alert is closed too."""
    Incident.objects.filter(pk=incident.pk).update(resolved_at=Now(), resolution=resolution[:300])
    if not Incident.objects.filter(follower=incident.follower_id, resolved_at=None).exists():
        close_alert(INCIDENT, follower_subject(incident.follower_id), resolution)
