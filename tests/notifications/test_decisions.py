import pytest

from config.records.models import LogEntry
from notifications.errors import DecisionNeeded
from notifications.models import Alert, Delivery, Follower, Incident, ParkedMessage, RepeatSession
from notifications.sending.presentation import mail_text, sms_text
from notifications.services import poison
from notifications.services.alerts import raise_alert, resolve_alert
from notifications.services.incidents import dismiss_incident
from notifications.services.parked_messages import discard_parked_message
from notifications.sessions.theme_health import record_exhausted
from tests.notifications.alerts import escalate, two_rungs
from tests.notifications.sessions.themes import theme
from tests.sensors.api.callers import service
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SUBJECT = "follower/history"
PAGE = "http://127.0.0.1:8000/admin/notifications/incident/?state=open"


@pytest.fixture
def incident() -> Incident:
    follower = Follower.objects.create(name="history")
    made = Incident.objects.create(follower=follower, position=1, type="t", subject="s", event={}, error="e")
    raise_alert("follower.incident", SUBJECT, "An event was set aside")
    return made


class TestResolve:
    def test_by_rest_is_refused_and_leads_to_where_it_is_decided(self, incident: Incident) -> None:
        answer = service("operations")("POST", f"/alerts/{Alert.objects.get().pk}/resolve/", {})
        assert (answer.status_code, answer.json()["code"]) == (409, "decision_needed")
        assert answer.json()["data"] == {"page": PAGE, "subject": SUBJECT}
        assert Alert.objects.get().status == "open"

    @pytest.mark.parametrize("method", ["get", "post"])
    def test_by_the_admin_too(self, incident: Incident, method: str) -> None:
        path = f"/admin/notifications/alert/{Alert.objects.get().pk}/resolve/"
        browser = signed_in("operator")
        call = browser.post if method == "post" else browser.get
        page = call(path, follow=True).content.decode()
        assert "closed only by it" in page
        assert PAGE.removeprefix("http://127.0.0.1:8000") in page
        assert Alert.objects.get().status == "open"

    def test_the_decision_closes_it(self, incident: Incident) -> None:
        dismiss_incident(incident_id=incident.pk, actor="staff:olga", reason="known")
        assert Alert.objects.get().status == "resolved"

    def test_one_whose_fact_is_over_can_be_closed(self, incident: Incident) -> None:
        Incident.objects.all().delete()
        resolve_alert(Alert.objects.get().pk, "staff:olga")
        assert Alert.objects.get().status == "resolved"

    def test_an_exhausted_session_is_revived_or_deleted(self) -> None:
        session = RepeatSession.objects.create(theme=theme(), status="exhausted", length=0, record_count=0)
        record_exhausted(session, "answered 500")
        with pytest.raises(DecisionNeeded):
            resolve_alert(Alert.objects.get().pk, "staff:olga")

    def test_a_stopped_queue_goes_on_when_parked_messages_are_decided_about(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(poison, "MOST_PARKED", 1)
        parked = ParkedMessage.objects.create(queue="q", body=b"x", properties={}, failures=5, error="e")
        raise_alert(poison.FULL, "queue/q", poison.FULL_TITLE, {"queue": "q", "count": 1})
        with pytest.raises(DecisionNeeded):
            resolve_alert(Alert.objects.get().pk, "staff:olga")
        discard_parked_message(message_id=parked.pk, actor="staff:olga", reason="known")
        assert Alert.objects.get().status == "resolved"

    def test_where_others_take_all_the_room_there_is_nothing_of_this_queue_to_decide(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(poison, "MOST_PARKED_IN_ALL", 1)
        ParkedMessage.objects.create(queue="other", body=b"x", properties={}, failures=5, error="e")
        raise_alert(poison.FULL, "queue/q", poison.FULL_TITLE, {"queue": "q", "count": 1})
        resolve_alert(Alert.objects.get().pk, "staff:olga")
        assert Alert.objects.get().status == "resolved"

    def test_a_queue_that_can_park_again_needs_no_decision(self) -> None:
        raise_alert(poison.FULL, "queue/q", poison.FULL_TITLE, {"queue": "q", "count": 1})
        resolve_alert(Alert.objects.get().pk, "staff:olga")
        assert Alert.objects.get().status == "resolved"


class TestLinks:
    def test_mail_and_sms_lead_to_what_the_alert_is_about(self, incident: Incident) -> None:
        two_rungs()
        escalate()
        body = Delivery.objects.get().body
        assert PAGE in mail_text(body)
        assert sms_text(body).endswith(f" {PAGE}")
        assert len(sms_text({**body, "title": "long " * 100})) == 300

    def test_the_pages_of_the_alert_and_of_the_log_do(self, incident: Incident) -> None:
        browser = signed_in("operator")
        log = LogEntry.objects.get(kind="alert")
        for path in (f"notifications/alert/{Alert.objects.get().pk}", f"records/logentry/{log.pk}"):
            page = browser.get(f"/admin/{path}/change/").content.decode()
            assert 'href="/admin/notifications/incident/?state=open"' in page

    def test_a_volume_that_is_away_is_named_and_leads_to_the_start_page(self) -> None:
        alert = raise_alert("storage.volume", "volume/web-1", "No marker")
        page = signed_in("operator").get(f"/admin/notifications/alert/{alert}/change/").content.decode()
        assert 'href="/admin/" title="volume/web-1">message volume on web-1</a>' in page
