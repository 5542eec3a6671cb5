"""Functions that a drill runs inside a process of the product, by `ProcessGroup.call`."""

from collections.abc import Mapping, Sequence

from django.db import transaction

from notifications.models import Delivery
from notifications.services.deliveries import NewDelivery, enqueue_deliveries
from notifications.sessions.enqueue import enqueue_sessions


def enqueue_states(subjects: Mapping[int, Sequence[str]], value: int) -> None:
    """Enqueue a message about each subject, by endpoint, as the ingest does: the newest supersedes the pending one."""
    with transaction.atomic():
        enqueue_deliveries(
            [
                NewDelivery(
                    endpoint, "thing.changed", Delivery.Family.STATE, subject, {"subject": subject, "value": value}
                )
                for endpoint, named in subjects.items()
                for subject in named
            ]
        )


def enqueue_scripted_sessions(groups: Sequence[tuple[int, str, int, float]]) -> None:
    """Save groups of sessions, each of one theme, script, number and delay."""
    for theme, script, count, delay in groups:
        enqueue_sessions(theme=theme, sessions=[[script]] * count, delay=delay)
