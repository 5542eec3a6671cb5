"""One scenario for every verdict, through the product: exactly that cause is named."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.common.times import format_time, parse_time, truncate_to_milliseconds
from notifications.models import Attempt, Delivery, Endpoint
from sensors.explanation.verdict import Verdict
from sensors.heartbeat.ingest_liveness import record_liveness
from sensors.models import Client, WayIn
from tests.notifications.sending.deliveries import answer, claim
from tests.sensors.api.callers import Caller, service
from tests.sensors.explanation.questions import ago, ask, fail, kinds, say, soon
from tests.sensors.registry import hear, make_client, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestToldOrNot:
    def test_told(self, desk: Caller, client: Client) -> None:
        at = ago(minutes=5)
        say(desk, 1, at)
        answer(*claim())
        found = ask(desk, client, at)
        assert found["verdict"] == Verdict.TOLD
        assert parse_time(found["since"]) == truncate_to_milliseconds(Attempt.objects.get().at)
        assert kinds(found) == ["signal", "event", "delivery", "attempt"]
        assert found["question"] == f"Why was “Acme” not notified about sensor 0xA at {format_time(at)}?"

    def test_unchanged(self, desk: Caller, client: Client) -> None:
        say(desk, 0, ago(minutes=9))
        at = ago(minutes=5)
        say(desk, 0, at, "b")
        found = ask(desk, client, at)
        assert found["verdict"] == Verdict.UNCHANGED
        assert found["text"] == "Nothing changed: the door was already closed."
        assert kinds(found) == ["signal", "event"]

    def test_late(self, desk: Caller, client: Client) -> None:
        say(desk, 0, ago(minutes=9))
        say(desk, 0, ago(minutes=3), "c")
        at = ago(minutes=5)
        say(desk, 1, at, "b")
        assert ask(desk, client, at)["verdict"] == Verdict.LATE

    def test_late_before_the_first_that_arrived(self, desk: Caller, client: Client) -> None:
        say(desk, 1, ago(minutes=3), "b")
        at = ago(minutes=5)
        say(desk, 1, at)
        assert ask(desk, client, at)["verdict"] == Verdict.LATE

    def test_repeat(self, desk: Caller, client: Client) -> None:
        at = ago(hours=1)
        say(desk, 1, at)
        say(desk, 1, at)
        found = ask(desk, client, timezone.now())
        assert found["verdict"] == Verdict.REPEAT
        assert parse_time(found["since"]) == at
        assert found["evidence"][0]["data"] == {"at": format_time(at), "id": "a"}

    def test_refused(self, desk: Caller, client: Client) -> None:
        desk("POST", "/signals/", {"sensor_id": "0xA", "data": 7})
        found = ask(desk, client, timezone.now())
        assert (found["verdict"], kinds(found)) == (Verdict.REFUSED, ["rejected"])
        assert found["text"] == "A signal was received and rejected: its value was neither 0 nor 1."

    def test_sensor_inactive_when_a_signal_came(self, desk: Caller, client: Client) -> None:
        desk("DELETE", "/sensors/0xA/")
        desk("POST", "/signals/", {"sensor_id": "0xA", "data": 1})
        found = ask(desk, client, soon())
        assert found["verdict"] == Verdict.SENSOR_INACTIVE
        assert kinds(found) == ["rejected", "change", "change"]

    def test_sensor_inactive_when_none_came(self, desk: Caller, client: Client) -> None:
        desk("DELETE", "/sensors/0xA/")
        hear()
        assert ask(desk, client, soon())["verdict"] == Verdict.SENSOR_INACTIVE

    def test_sensor_deactivated_before_the_message_was_sent(self, desk: Caller, client: Client) -> None:
        at = ago(minutes=5)
        say(desk, 1, at)
        desk("DELETE", "/sensors/0xA/")
        found = ask(desk, client, at)
        assert found["verdict"] == Verdict.SENSOR_INACTIVE
        assert found["text"] == "Sensor 0xA was deactivated before the message was sent."

    def test_the_very_time_is_found_among_many_signals(self, desk: Caller, client: Client) -> None:
        at = ago(minutes=5)
        body = [
            {"sensor_id": "0xA", "data": number % 2, "at": format_time(at + timedelta(milliseconds=number)), "id": "a"}
            for number in range(150)
        ]
        assert desk("POST", "/signals/", body).json()["accepted"] == 150
        found = ask(desk, client, at)
        assert (found["verdict"], found["evidence"][0]["at"]) == (Verdict.SUPERSEDED, format_time(at))

    def test_not_registered(self, desk: Caller, client: Client) -> None:
        assert ask(desk, client, ago(minutes=5))["verdict"] == Verdict.NOT_REGISTERED

    def test_no_signal(self, desk: Caller) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        hear()
        found = ask(desk, client, ago(minutes=5))
        assert (found["verdict"], found["evidence"]) == (Verdict.NO_SIGNAL, [])
        assert found["text"] == "No signal was received around that time, nor at any time before it."

    def test_no_signal_since_the_last(self, desk: Caller) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        say(desk, 1, ago(hours=1))
        hear()
        found = ask(desk, client, ago(minutes=5))
        assert found["verdict"] == Verdict.NO_SIGNAL
        assert found["since"] is not None

    def test_our_side_deaf(self, desk: Caller) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        record_liveness(ago(minutes=9))
        hear()
        found = ask(desk, client, ago(minutes=5))
        assert (found["verdict"], kinds(found)) == (Verdict.DEAF, ["outage"])
        assert parse_time(found["since"]) < ago(minutes=5) < parse_time(found["until"])

    def test_our_side_still_deaf(self, desk: Caller) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        record_liveness(ago(minutes=9))
        found = ask(desk, client, ago(minutes=5))
        assert (found["verdict"], found["until"]) == (Verdict.DEAF, None)

    def test_our_side_behind(self, desk: Caller) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        record_liveness(ago(seconds=2))
        assert ask(desk, client, timezone.now())["verdict"] == Verdict.BEHIND

    def test_a_broker_that_is_no_longer_used_is_no_outage(self, desk: Caller) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        hear()
        WayIn.objects.create(pk=WayIn.QUEUE, heard_at=ago(days=9))
        assert ask(desk, client, ago(minutes=5))["verdict"] == Verdict.NO_SIGNAL

    def test_without_consumers_what_was_proven_before_stays_so(self, desk: Caller, settings: Any) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        hear()
        WayIn.objects.create(pk=WayIn.QUEUE, heard_at=timezone.now(), proven_from=ago(minutes=5))
        settings.AMQP_URL = "amqp://127.0.0.1:9/"
        assert ask(desk, client, ago(minutes=9))["verdict"] == Verdict.NO_SIGNAL
        assert ask(desk, client, ago(minutes=3))["verdict"] == Verdict.BEHIND


class TestBetweenEventAndReceiver:
    @pytest.fixture
    def at(self, desk: Caller, client: Client) -> datetime:
        """The time of a change that is still to be sent."""
        at = ago(minutes=5)
        say(desk, 1, at)
        return at

    def test_pending(self, desk: Caller, client: Client, at: datetime) -> None:
        found = ask(desk, client, at)
        assert (found["verdict"], found["since"]) == (Verdict.PENDING, None)
        assert found["until"] is not None

    def test_under_way(self, desk: Caller, client: Client, at: datetime) -> None:
        claim()
        found = ask(desk, client, at)
        assert (found["verdict"], found["text"]) == (Verdict.PENDING, "An attempt is in progress right now.")

    def test_not_linked(self, desk: Caller, client: Client, at: datetime) -> None:
        other = make_client("other")
        found = ask(desk, other, at)
        assert (found["verdict"], kinds(found)) == (Verdict.NOT_LINKED, ["signal", "event", "change"])

    def test_linked_afterwards(self, desk: Caller, client: Client, at: datetime) -> None:
        other = make_client("other")
        desk("PUT", f"/sensors/0xA/clients/{other.pk}/")
        assert ask(desk, other, at)["verdict"] == Verdict.NOT_LINKED

    def test_unlinked_while_the_event_waited_for_its_sensor(self, desk: Caller, client: Client, at: datetime) -> None:
        """The line of the change is a little later than the event, which had no link any more."""
        desk("DELETE", f"/sensors/0xA/clients/{client.pk}/")
        Delivery.objects.all().delete()
        assert ask(desk, client, at)["verdict"] == Verdict.NOT_LINKED

    def test_unlinked(self, desk: Caller, client: Client, at: datetime) -> None:
        desk("DELETE", f"/sensors/0xA/clients/{client.pk}/")
        assert ask(desk, client, at)["verdict"] == Verdict.UNLINKED

    def test_paused(self, desk: Caller, client: Client, at: datetime) -> None:
        desk("POST", f"/clients/{client.pk}/pause/")
        found = ask(desk, client, at)
        assert found["verdict"] == Verdict.PAUSED
        assert ago(minutes=1) < parse_time(found["since"])
        assert kinds(found)[-1] == "change"

    def test_superseded(self, desk: Caller, client: Client, at: datetime) -> None:
        say(desk, 0, ago(minutes=2), "b")
        found = ask(desk, client, at)
        newer = Delivery.objects.latest("pk")
        assert found["verdict"] == Verdict.SUPERSEDED
        assert str(newer.pk) in found["text"]
        assert newer.pk in [row["id"] for row in found["evidence"] if row["kind"] == "delivery"]

    def test_breaker_open(self, desk: Caller, client: Client, at: datetime) -> None:
        fail(Delivery.objects.get(), times=5)
        found = ask(desk, client, at)
        endpoint = Endpoint.objects.get()
        assert found["verdict"] == Verdict.BREAKER_OPEN
        assert (found["since"], found["until"]) == (format_time(endpoint.opened_at), format_time(endpoint.probe_at))
        assert kinds(found)[-1] == "alert"

    def test_one_that_staff_resent_passes_the_breaker(self, desk: Caller, client: Client, at: datetime) -> None:
        fail(Delivery.objects.get(), times=5)
        service("operations")("POST", f"/deliveries/{Delivery.objects.get().pk}/resend/")
        assert ask(desk, client, at)["verdict"] == Verdict.PENDING

    def test_pending_after_an_attempt_that_failed(self, desk: Caller, client: Client, at: datetime) -> None:
        fail(Delivery.objects.get(), times=1)
        found = ask(desk, client, at)
        assert found["verdict"] == Verdict.PENDING
        assert found["text"] == (
            "It has not been delivered yet: failed attempts: 1, the last with “answered 500”. The next one is at "
            f"{found['until']}."
        )

    def test_dead(self, desk: Caller, client: Client, at: datetime, settings: Any) -> None:
        settings.DELIVERY_ATTEMPTS = 2
        fail(Delivery.objects.get(), times=2)
        found = ask(desk, client, at)
        assert (found["verdict"], kinds(found).count("attempt")) == (Verdict.DEAD, 2)
        assert found["text"] == "It could not be delivered: 2 attempts failed, the last with “answered 500”."

    def test_why_it_failed_is_said_in_the_language_of_the_reader(
        self, desk: Caller, client: Client, at: datetime, settings: Any
    ) -> None:
        settings.DELIVERY_ATTEMPTS = 1
        answer(*claim(), status=None, error="no answer within 10 s")
        asked: dict[str, str | int] = {"sensor": "0xA", "client": client.pk, "at": format_time(at)}
        page = signed_in("viewer").get("/admin/explain/", asked, headers={"accept-language": "ru"}).content.decode()
        assert page.count("нет ответа за 10 с") == 2, "of the verdict and of the attempt"
        assert "no answer" not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)

    def test_receiver_gone(self, desk: Caller, client: Client, at: datetime) -> None:
        fail(Delivery.objects.get(), times=1, status=410)
        assert ask(desk, client, at)["verdict"] == Verdict.GONE

    def test_receiver_silent(self, desk: Caller, client: Client, at: datetime) -> None:
        fail(Delivery.objects.get(), times=5)
        Endpoint.objects.update(opened_at=ago(hours=73), probe_at=ago(minutes=1))
        fail(Delivery.objects.get(), times=1)
        assert ask(desk, client, at)["verdict"] == Verdict.SILENT

    def test_client_inactive(self, desk: Caller, client: Client, at: datetime) -> None:
        desk("DELETE", f"/clients/{client.pk}/")
        assert ask(desk, client, at)["verdict"] == Verdict.CLIENT_INACTIVE

    def test_asked_to_wait(self, desk: Caller, client: Client, at: datetime) -> None:
        fail(Delivery.objects.get(), times=1, status=429, retry_after=3600.0)
        found = ask(desk, client, at)
        assert found["verdict"] == Verdict.ASKED_TO_WAIT
        assert parse_time(found["until"]) > timezone.now()

    def test_behind_an_older_one(self, desk: Caller, client: Client, at: datetime) -> None:
        claim()
        newer_at = ago(minutes=2)
        say(desk, 0, newer_at, "b")
        older = Delivery.objects.earliest("pk")
        found = ask(desk, client, newer_at)
        assert found["verdict"] == Verdict.BEHIND_OLDER
        assert str(older.pk) in found["text"]

    def test_a_reason_of_an_earlier_version_is_known(self, desk: Caller, client: Client, at: datetime) -> None:
        Delivery.objects.update(status="cancelled", due_at=None, reason="no answer for three days")
        assert ask(desk, client, at)["verdict"] == Verdict.SILENT

    def test_cancelled_for_another_reason(self, desk: Caller, client: Client, at: datetime) -> None:
        Delivery.objects.update(status="cancelled", due_at=None, reason="a reason of an older release")
        assert ask(desk, client, at)["verdict"] == Verdict.CANCELLED

    def test_what_nothing_explains_is_said(self, desk: Caller, client: Client, at: datetime) -> None:
        Delivery.objects.all().delete()
        assert ask(desk, client, at)["verdict"] == Verdict.UNEXPLAINED
