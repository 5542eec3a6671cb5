import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.test import Client, RequestFactory
from django.utils import timezone

from config.access.keys import create_key
from config.access.sessions import UNATTENDED
from config.audit.changes import record_change
from config.dashboard.live import inbox
from config.dashboard.start_page import ROWS, DrawnCards, StartPage, build
from config.records.models import ChangeRecord
from notifications.models import Endpoint, EventHour, Follower, Incident, Rung
from notifications.services.alerts import acknowledge_alert, raise_alert
from tests.sensors.registry import make_client, make_delivery

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("olga", password="a long password")


@pytest.fixture
def viewer(db: None) -> User:
    person = User.objects.create_user("vera", password="a long password", is_staff=True)
    person.groups.add(Group.objects.get(name="viewer"))
    return person


def page_of(person: User) -> StartPage:
    request = RequestFactory().get("/admin/")
    request.user = person
    return build(request, at=AT)


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def make_content(count: int) -> None:
    for number in range(count):
        record_change(
            kind="sensor",
            object_id=str(number),
            action=ChangeRecord.Action.CREATED,
            before=None,
            after={"a": 1},
            actor="x",
        )
        follower = Follower.objects.create(name=f"follower {number}")
        Incident.objects.create(follower=follower, position=number, type="t", subject="s", event={}, error="e")
        EventHour.objects.create(hour=AT - timedelta(hours=number), count=1)


@pytest.mark.embedded
@pytest.mark.django_db
class TestBuild:
    def test_sums_up_the_last_day_and_no_more(self, admin: User) -> None:
        this_hour = AT.replace(minute=0)
        EventHour.objects.create(hour=this_hour, count=3)
        EventHour.objects.create(hour=this_hour - timedelta(hours=23), count=4)
        EventHour.objects.create(hour=this_hour - timedelta(hours=24), count=50)
        chart = page_of(admin).drawn.chart
        assert chart is not None
        assert chart.total == 7
        assert json.loads(chart.data)["datasets"][0]["data"] == [4, *[0] * 22, 3]

    def test_shows_open_incidents_alone(self, admin: User) -> None:
        make_content(2)
        Incident.objects.filter(position=0).update(resolved_at=AT, resolution="done")
        assert [row.title for row in page_of(admin).inbox] == ["“follower 1” could not process an event: t"]

    def test_shows_the_alerts_that_nobody_has_taken_on(self, admin: User) -> None:
        ids = [raise_alert("k", subject, "A thing happened") for subject in ("a", "b")]
        acknowledge_alert(ids[0], "staff:olga")
        assert [row.alert for row in page_of(admin).inbox] == ids[1:]
        assert "A thing happened" in signed_in(admin).get("/admin/").content.decode()

    def test_names_the_receivers_that_do_not_answer(self, admin: User) -> None:
        for name in ("one", "two", "three"):
            make_delivery("0xA", make_client(name))
        Endpoint.objects.filter(client__name__in=["one", "two"]).update(opened_at=AT, probe_at=AT, failures=5)
        Endpoint.objects.filter(client__name="two").update(paused=True)
        clients = page_of(admin).live.deliveries["clients"]
        assert [(each["name"], each["state"], each["waiting"]) for each in clients] == [
            ("one", "half_open", 1),
            ("two", "paused", 1),
        ]
        shown = signed_in(admin).get("/admin/").content.decode()
        assert ("retrying now" in shown, "paused by staff" in shown) == (True, True)
        Endpoint.objects.filter(client__name="one").update(probe_at=timezone.now() + timedelta(hours=1))
        assert "paused: no response" in signed_in(admin).get("/admin/").content.decode()

    def test_says_how_severe_each_is_and_counts_more_than_it_lists(
        self, admin: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(inbox, "MOST_ALERTS", 2)
        for number in range(3):
            raise_alert("sensor.flapping", f"sensor/{number}", "A thing happened")
        raise_alert("engine.down", "engine/redis", "Redis is down")
        page = page_of(admin)
        assert [row.title for row in page.inbox] == ["Redis is down", "A thing happened"]
        assert page.inbox_total == 4
        shown = signed_in(admin).get("/admin/").content.decode()
        assert '<span data-field="severity" data-say>critical</span>' in shown
        assert "data-inbox-total >4</b>" in shown

    def test_has_no_button_for_those_who_may_not_acknowledge(self, admin: User, viewer: User) -> None:
        raise_alert("k", "a", "A thing happened")
        assert "data-acknowledge" in signed_in(admin).get("/admin/").content.decode()
        page = signed_in(viewer).get("/admin/").content.decode()
        assert "A thing happened" in page
        assert "data-acknowledge" not in page

    def test_a_wall_screen_is_dark_and_has_no_menu(self, admin: User) -> None:
        page = signed_in(admin).get("/admin/?wall=1").content.decode()
        assert 'class="dark"' in page
        assert "nav-sidebar" not in page
        assert "data-acknowledge" not in page

    def test_reads_no_more_rows_than_it_shows(self, admin: User) -> None:
        make_content(ROWS + 4)
        page = page_of(admin)
        assert (len(page.inbox), len(page.drawn.changes or [])) == (ROWS + 4, ROWS)

    def test_a_viewer_has_no_first_steps_and_is_not_told_of_keys(self, viewer: User) -> None:
        assert page_of(viewer).first_steps is None
        create_key(name="facility", scopes=["registry:read"], actor="test")
        assert page_of(viewer).drawn.changes == []

    def test_hides_what_a_person_may_not_see(self) -> None:
        page = page_of(User.objects.create_user("ivan", is_staff=True))
        assert (page.drawn, page.exchange, page.inbox) == (DrawnCards(None, None), None, [])
        assert page.may == {"engines", "runtime"}


@pytest.mark.embedded
@pytest.mark.django_db
class TestDrawnCards:
    def test_are_fetched_as_the_page_has_them(self, admin: User) -> None:
        client = signed_in(admin)
        page = client.get("/admin/").content.decode()
        assert 'data-cards="/admin/drawn-cards/"' in page
        make_content(1)
        EventHour.objects.update_or_create(hour=timezone.now().replace(minute=0, second=0, microsecond=0), count=1)
        cards = client.get("/admin/drawn-cards/").content.decode()
        changes, events = cards.split('id="drawn-events"')
        assert 'id="drawn-changes"' in changes
        assert "/admin/records/changerecord/" in changes
        assert "data-value=" in events

    def test_call_what_was_changed_by_its_name(self, admin: User) -> None:
        client = make_client("Night watch")
        for object_id in (str(client.pk), "999999"):
            action = ChangeRecord.Action.CHANGED
            record_change(kind="client", object_id=object_id, action=action, before={}, after={}, actor="test")
        cards = signed_in(admin).get("/admin/drawn-cards/").content.decode()
        assert ">client Night watch</a>" in cards
        assert ">client 999999</a>" in cards

    def test_hide_what_a_person_may_not_see(self) -> None:
        person = User.objects.create_user("ivan", is_staff=True)
        assert signed_in(person).get("/admin/drawn-cards/").content.decode().strip() == ""

    def test_do_not_prolong_the_session_of_a_desk_that_somebody_has_left(self, admin: User) -> None:
        client = signed_in(admin)
        with time_machine.travel(timezone.now() + timedelta(hours=1), tick=False):
            kept = Session.objects.get().session_data
            for path in ("/admin/drawn-cards/", "/admin/workflows/workitem/card/", "/admin/"):
                assert client.get(path, headers={UNATTENDED: "1"}).status_code == 200
            assert Session.objects.get().session_data == kept
            client.get("/admin/")
            assert Session.objects.get().session_data != kept


@pytest.mark.embedded
@pytest.mark.django_db
class TestStartPage:
    def test_costs_the_same_however_much_there_is(self, admin: User, django_assert_max_num_queries: Any) -> None:
        client = signed_in(admin)
        make_content(30)
        with django_assert_max_num_queries(30):
            assert client.get("/admin/").status_code == 200

    def test_says_when_nobody_would_be_told_of_an_alert(self, viewer: User, settings: Any) -> None:
        client = signed_in(viewer)
        settings.EMAIL_BACKEND = "notifications.sending.smtp.EmailBackend"
        Rung.objects.all().delete()
        assert "The escalation has no active step." in client.get("/admin/").content.decode()
        rung = Rung.objects.create(after_seconds=0, channel="email", to_superusers=True)
        assert "No escalation step has a recipient" in client.get("/admin/").content.decode()
        Rung.objects.filter(pk=rung.pk).update(addresses="ops@example.org")
        assert "No one would be notified" not in client.get("/admin/").content.decode()
        settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
        assert "messages go to the console alone" in client.get("/admin/").content.decode()

    @pytest.mark.parametrize(("language", "words"), [("en", "Needs attention"), ("ru", "Требует внимания")])
    def test_speaks_the_language_of_the_browser(self, viewer: User, language: str, words: str) -> None:
        page = signed_in(viewer).get("/admin/", headers={"accept-language": language}).content.decode()
        assert words in page

    def test_says_in_words_what_each_engine_does(self, viewer: User) -> None:
        page = signed_in(viewer).get("/admin/").content.decode()
        assert all(name in page for name in ("RabbitMQ", "Redis", "ClickHouse", "Not configured", "Up"))

    def test_the_root_leads_to_it(self, client: Client) -> None:
        assert client.get("/")["Location"] == "/admin/"

    def test_the_language_is_switched_by_a_form(self, viewer: User) -> None:
        client = signed_in(viewer)
        client.post("/i18n/setlang/", {"language": "ru", "next": "/admin/"})
        assert "Главная" in client.get("/admin/").content.decode()
