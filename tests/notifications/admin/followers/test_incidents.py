from collections.abc import Callable

import pytest
from django.test import Client

from notifications.followers import Following
from notifications.models import Event, Follower, Incident
from notifications.services.relay import event_as_json
from tests.notifications.recorded_events import record_numbered_events
from tests.staff import signed_in
from tests.trace_button import find_trace_button

LIST = "/admin/notifications/incident/"


@pytest.fixture
def operator(db: None) -> Client:
    return signed_in("operator")


@pytest.fixture
def incident(db: None) -> Incident:
    event = record_numbered_events(1)[0]
    stored = Event.objects.get(pk=event.pk)
    return Incident.objects.create(
        follower=Follower.objects.create(name="listener", position=1),
        position=stored.position or 0,
        type=stored.type,
        subject=stored.subject,
        event=event_as_json(stored),
        error="ValueError: no shift",
    )


@pytest.mark.embedded
def test_leads_to_the_trace_of_its_event(operator: Client, incident: Incident) -> None:
    page = f"{LIST}{incident.pk}/change/"
    assert find_trace_button(operator, page) == ""
    Incident.objects.update(event={**incident.event, "correlation_id": "call-0001"})
    assert find_trace_button(operator, page) == "/admin/trace/?id=call-0001"


@pytest.mark.embedded
class TestRetry:
    def test_hands_the_event_over_and_resolves(
        self, operator: Client, incident: Incident, following: Callable[..., Following]
    ) -> None:
        taken: list[Event] = []
        following(taken.extend)
        page = operator.post(f"{LIST}{incident.pk}/retry/", follow=True).content.decode()
        incident.refresh_from_db()
        assert [event.position for event in taken] == [incident.position]
        assert "staff:olga" in incident.resolution
        assert "the incident is resolved" in page

    def test_shows_why_it_failed_again(
        self, operator: Client, incident: Incident, following: Callable[..., Following]
    ) -> None:
        def refuse(events: object) -> None:
            raise ValueError("still no shift")

        following(refuse)
        page = operator.post(f"{LIST}{incident.pk}/retry/", follow=True).content.decode()
        incident.refresh_from_db()
        assert "still no shift" in page
        assert incident.resolved_at is None

    def test_is_for_operators(self, incident: Incident) -> None:
        client = signed_in("viewer")
        assert client.post(f"{LIST}{incident.pk}/retry/").status_code == 403
        assert "/retry/" not in client.get(f"{LIST}{incident.pk}/change/").content.decode()


@pytest.mark.embedded
class TestDismiss:
    def test_wants_a_reason(self, operator: Client, incident: Incident) -> None:
        page = operator.post(f"{LIST}{incident.pk}/dismiss/", {"reason": " "}).content.decode()
        incident.refresh_from_db()
        assert "This field is required" in page
        assert incident.resolved_at is None

    def test_keeps_who_and_why(self, operator: Client, incident: Incident) -> None:
        operator.post(f"{LIST}{incident.pk}/dismiss/", {"reason": "the door was removed"})
        incident.refresh_from_db()
        assert incident.resolution == "dismissed by staff:olga: the door was removed"

    def test_a_second_time_says_so(self, operator: Client, incident: Incident) -> None:
        operator.post(f"{LIST}{incident.pk}/dismiss/", {"reason": "once"})
        answer = operator.post(f"{LIST}{incident.pk}/dismiss/", {"reason": "twice"}, follow=True)
        assert "“Dismiss” is not possible in the current state." in answer.content.decode()
        incident.refresh_from_db()
        assert incident.resolution.endswith("once")


@pytest.mark.embedded
class TestList:
    @pytest.mark.parametrize(("state", "found"), [("open", True), ("resolved", False), ("", True)])
    def test_filters_by_state(self, operator: Client, incident: Incident, state: str, found: bool) -> None:
        rows = operator.get(LIST, {"state": state}).context["cl"].result_list
        assert (incident in list(rows)) is found

    def test_offers_the_actions_in_each_row(self, operator: Client, incident: Incident) -> None:
        page = operator.get(LIST).content.decode()
        assert f"{LIST}{incident.pk}/retry/" in page
        assert f"{LIST}{incident.pk}/dismiss/" in page
