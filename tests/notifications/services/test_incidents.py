"""The product's own use: an event that a follower could not take is offered to it again by itself."""

from collections.abc import Callable, Sequence

import pytest
from django.db.models.functions import Now

from notifications.followers import Following
from notifications.models import Alert, Event, Follower, Incident, RepeatSession
from notifications.services.incidents import dismiss_incident
from notifications.services.relay import ATTEMPTS, relay_once
from tests.notifications.recorded_events import record_numbered_events
from tests.notifications.sessions.themes import pass_time, repeat_due

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

HOUR = 3600


@pytest.fixture
def mood(following: Callable[..., Following]) -> list[str]:
    """Set one event aside; the mood of the follower decides whether it takes it now."""
    mood = ["sick"]

    def handle(events: Sequence[Event]) -> None:
        if mood[0] == "sick":
            raise ValueError("sick")
        mood.extend(event.type for event in events)

    listener = following(handle)
    record_numbered_events(1)
    for _ in range(ATTEMPTS):
        Follower.objects.update(due_at=Now())
        relay_once(listener)
    assert Incident.objects.count() == RepeatSession.objects.count() == 1
    return mood


def test_a_follower_that_is_well_again_takes_it_without_an_operator(mood: list[str]) -> None:
    mood[0] = "well"
    assert repeat_due() == []
    pass_time(HOUR)
    assert len(repeat_due()) == 1
    assert mood == ["well", "test.happened"]
    assert Incident.objects.get().resolution.startswith("taken by listener at the request of session ")
    assert Alert.objects.get().status == "resolved"
    assert not RepeatSession.objects.exists()


def test_one_that_stays_sick_is_tried_again_later(mood: list[str]) -> None:
    pass_time(HOUR)
    repeat_due()
    session = RepeatSession.objects.get()
    assert (session.status, session.repeats) == ("saved", 1)
    assert Incident.objects.get().resolved_at is None


def test_nothing_is_done_about_what_an_operator_has_resolved(mood: list[str]) -> None:
    dismiss_incident(incident_id=Incident.objects.get().pk, actor="anna", reason="a test row")
    mood[0] = "well"
    pass_time(HOUR)
    repeat_due()
    assert mood == ["well"]
    assert not RepeatSession.objects.exists()
