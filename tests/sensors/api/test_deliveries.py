"""Deliveries over REST: their attempts, sending again, pings."""

from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.common.encryption import encrypt
from config.common.times import format_time, truncate_to_milliseconds
from config.records.models import ChangeRecord
from notifications.models import Attempt, Delivery, Endpoint, ListedSubject
from notifications.sending.claims import Claim
from notifications.services import pings
from sensors.models import Client
from tests.notifications.sending.deliveries import SECRET
from tests.plans import explain_statements
from tests.sensors.api.callers import Caller, of_client, service
from tests.sensors.registry import link, make_client, make_delivery, make_sensor
from tests.staff import signed_in
from tests.webhook_receiver import Receiver, run_receiver

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def reader() -> Caller:
    return service("history:read")


@pytest.fixture
def operator() -> Caller:
    return service("operations")


@pytest.fixture
def owner() -> Client:
    make_sensor("0xA")
    client = make_client()
    link("0xA", client)
    return client


def attempted(delivery: Delivery, status: int | None, error: str = "") -> Attempt:
    return Attempt.objects.create(
        delivery=delivery, at=timezone.now(), url=delivery.endpoint.url, status=status, duration_ms=7, error=error
    )


def make_list(client: Client, *sensors: str, **fields: Any) -> Delivery:
    values = {"status": "delivered", "type": "sensor.connections_lost", "family": "list", "body": {}, **fields}
    listing = Delivery.objects.create(endpoint=client.endpoint, **values)
    for sensor in sensors:
        ListedSubject.objects.create(delivery=listing, endpoint=client.endpoint, subject=f"sensor/{sensor}")
    return listing


def ids(answer: Any) -> list[int]:
    return [row["id"] for row in answer.json()["results"]]


class TestAttempts:
    def test_are_with_each_delivery_oldest_first(self, owner: Client, reader: Caller) -> None:
        delivery = make_delivery("0xA", owner)
        first, second = attempted(delivery, None, "no connection"), attempted(delivery, 200)
        expected = [
            {"at": format_time(row.at), "url": row.url, "status": status, "duration_ms": 7, "error": error}
            for row, status, error in ((first, None, "no connection"), (second, 200, None))
        ]
        for path in ("/sensors/0xA/deliveries/", f"/clients/{owner.pk}/deliveries/"):
            assert reader("GET", path).json()["results"][0]["attempts"] == expected
        assert reader("GET", f"/deliveries/{delivery.pk}/").json()["attempts"] == expected

    @pytest.mark.parametrize("path", ["/sensors/0xA/deliveries/", "/clients/{}/deliveries/"])
    def test_of_a_page_cost_one_statement(
        self, owner: Client, reader: Caller, path: str, django_assert_max_num_queries: Any
    ) -> None:
        for _ in range(10):
            attempted(make_delivery("0xA", owner, status="delivered", due_at=None), 200)
        with django_assert_max_num_queries(6):
            rows = reader("GET", path.format(owner.pk)).json()["results"]
        assert [len(row["attempts"]) for row in rows] == [1] * 10

    @pytest.mark.parametrize("status", ["delivered", "dead", "cancelled", "superseded"])
    def test_what_has_ended_has_no_next_one(self, owner: Client, reader: Caller, status: str) -> None:
        delivery = make_delivery("0xA", owner, status=status, due_at=None)
        assert reader("GET", f"/deliveries/{delivery.pk}/").json()["next_attempt_at"] is None


class TestLists:
    def test_are_with_the_sensors_that_they_name(self, owner: Client, reader: Caller) -> None:
        older, listing, newer = make_delivery("0xA", owner), make_list(owner, "0xA", "0xB"), None
        newer = make_delivery("0xA", owner, status="dead", due_at=None)
        make_list(owner, "0xB")
        answer = reader("GET", "/sensors/0xA/deliveries/")
        assert ids(answer) == [newer.pk, listing.pk, older.pk]
        assert answer.json()["results"][1]["sensor"] is None

    def test_pages_lead_to_the_end_without_gap_or_repeat(self, owner: Client, reader: Caller) -> None:
        for number in range(7):
            make_delivery("0xA", owner, status="delivered", due_at=None)
            if number % 2:
                make_list(owner, "0xA")
        seen, address = list[int](), "/sensors/0xA/deliveries/?limit=3"
        while address:
            answer = reader("GET", address)
            seen += ids(answer)
            address = answer.json()["next"]
        assert seen == sorted(Delivery.objects.values_list("pk", flat=True), reverse=True)

    def test_a_client_sees_its_own_alone(self, owner: Client) -> None:
        other = make_client("other")
        link("0xA", other)
        mine, _theirs = make_list(owner, "0xA"), make_list(other, "0xA")
        assert ids(of_client(owner)("GET", "/sensors/0xA/deliveries/")) == [mine.pk]


class TestAlerts:
    def test_are_not_told_to_clients(self, owner: Client) -> None:
        mailbox = Endpoint.objects.create(url="mailto:ops@example.org", secret=b"")
        alert = Delivery.objects.create(
            endpoint=mailbox, type="alert", family="alert", subject="alert/1", body={}, due_at=timezone.now()
        )
        caller = of_client(owner)
        assert caller("GET", f"/deliveries/{alert.pk}/").status_code == 404
        assert ids(caller("GET", f"/clients/{owner.pk}/deliveries/")) == []


class TestNextAttempt:
    @pytest.mark.parametrize(
        ("endpoint", "expected"),
        [
            ({}, "now"),
            ({"opened_at": -60, "probe_at": 600}, 600),
            ({"not_before": 900}, 900),
            ({"paused": True}, None),
        ],
    )
    def test_is_never_in_the_past(
        self, owner: Client, operator: Caller, endpoint: dict[str, Any], expected: int | str | None
    ) -> None:
        now = truncate_to_milliseconds(timezone.now())
        row = make_delivery("0xA", owner, due_at=now - timedelta(hours=1))
        times = {name: now + timedelta(seconds=value) for name, value in endpoint.items() if value is not True}
        Endpoint.objects.filter(pk=owner.endpoint_id).update(**{**endpoint, **times})
        shown = service("history:read")("GET", f"/deliveries/{row.pk}/").json()["next_attempt_at"]
        if isinstance(expected, int):
            assert shown == format_time(now + timedelta(seconds=expected))
        elif expected is None:
            assert shown is None
        else:
            assert shown >= format_time(now)


class TestResend:
    def test_a_dead_one_is_due_now(self, owner: Client, operator: Caller) -> None:
        dead = make_delivery("0xA", owner, status="dead", due_at=None, attempts=10, reason="answered 500")
        answer = operator("POST", f"/deliveries/{dead.pk}/resend/", {})
        row = answer.json()
        assert (answer.status_code, row["id"], row["status"], row["reason"]) == (202, dead.pk, "pending", "")
        assert row["next_attempt_at"] is not None
        assert ChangeRecord.objects.get(kind="delivery").actor.startswith("key:desk")

    def test_a_pending_one_becomes_due_now(self, owner: Client, operator: Caller) -> None:
        later = timezone.now() + timedelta(hours=1)
        pending = make_delivery("0xA", owner, due_at=later)
        assert operator("POST", f"/deliveries/{pending.pk}/resend/", {}).status_code == 202
        assert Delivery.objects.get().due_at < later - timedelta(minutes=59)

    def test_one_that_is_under_way_is_accepted_and_left_alone(self, owner: Client, operator: Caller) -> None:
        later = timezone.now() + timedelta(minutes=1)
        pending = make_delivery("0xA", owner, due_at=later, under_way_until=later)
        assert operator("POST", f"/deliveries/{pending.pk}/resend/", {}).status_code == 202
        assert Delivery.objects.get().due_at == later

    def test_what_a_newer_one_has_followed_is_refused(self, owner: Client, operator: Caller) -> None:
        old = make_delivery("0xA", owner, status="dead", due_at=None)
        new = make_delivery("0xA", owner)
        answer = operator("POST", f"/deliveries/{old.pk}/resend/", {})
        assert (answer.status_code, answer.json()["code"]) == (409, "superseded")
        assert answer.json()["data"] == {"superseded_by": new.pk}

    def test_of_an_inactive_client_is_refused(self, owner: Client, operator: Caller) -> None:
        row = make_delivery("0xA", owner, status="cancelled", due_at=None)
        Endpoint.objects.update(active=False)
        answer = operator("POST", f"/deliveries/{row.pk}/resend/", {})
        assert (answer.status_code, answer.json()["code"]) == (409, "client_inactive")

    @pytest.mark.parametrize("unknown", ["999999", "99999999999999999999999"])
    def test_what_is_not_there(self, operator: Caller, unknown: str) -> None:
        answer = operator("POST", f"/deliveries/{unknown}/resend/", {})
        assert (answer.status_code, answer.json()["code"]) == (404, "delivery_not_found")

    def test_who_may(self, owner: Client, reader: Caller) -> None:
        row = make_delivery("0xA", owner)
        path = f"/deliveries/{row.pk}/resend/"
        callers = (Caller(None), reader, service("registry:write"), of_client(owner))
        assert [each("POST", path, {}).status_code for each in callers] == [401, 403, 403, 403]

    def test_a_repeat_with_the_same_key_has_one_effect(self, owner: Client, operator: Caller) -> None:
        row = make_delivery("0xA", owner, status="dead", due_at=None)
        answers = [operator("POST", f"/deliveries/{row.pk}/resend/", {}, **{"Idempotency-Key": "k1"}) for _ in range(2)]
        assert answers[0].content == answers[1].content
        assert ChangeRecord.objects.filter(kind="delivery").count() == 1


class TestPing:
    @pytest.fixture
    def receiver(self, settings: Any) -> Iterator[Receiver]:
        settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.1")]
        with run_receiver() as receiver:
            yield receiver

    @pytest.fixture
    def registrar(self) -> Caller:
        return service("registry:write", "history:read")

    @pytest.fixture
    def client(self, receiver: Receiver) -> Client:
        client = make_client()
        Endpoint.objects.update(url=receiver.url("/200/a"), secret=encrypt(SECRET.encode()))
        return client

    def test_answers_the_attempt(self, client: Client, receiver: Receiver, registrar: Caller) -> None:
        answer = registrar("POST", f"/clients/{client.pk}/ping/", {})
        row = answer.json()
        assert (answer.status_code, sorted(row)) == (200, ["at", "duration_ms", "error", "status", "url"])
        assert (row["url"], row["status"], row["error"]) == (receiver.url("/200/a"), 200, None)
        (kept,) = registrar("GET", f"/clients/{client.pk}/deliveries/").json()["results"]
        assert (kept["type"], kept["status"], kept["attempts"]) == ("ping", "delivered", [row])

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "ping-1"}])
    def test_the_row_stands_and_nothing_is_locked_while_it_waits(
        self, client: Client, registrar: Caller, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[tuple[bool, str]] = []
        send = pings._send

        def look(claim: Claim) -> Any:
            seen.append((connection.in_atomic_block, Delivery.objects.get(pk=claim.id).status))
            return send(claim)

        monkeypatch.setattr(pings, "_send", look)
        assert registrar("POST", f"/clients/{client.pk}/ping/", {}, **headers).status_code == 200
        assert seen == [(False, "pending")]

    def test_a_failure_is_an_answer_too(self, client: Client, receiver: Receiver, registrar: Caller) -> None:
        receiver.status["/200/a"] = 500
        answer = registrar("POST", f"/clients/{client.pk}/ping/", {})
        assert (answer.status_code, answer.json()["status"], answer.json()["error"]) == (200, 500, "answered 500")

    def test_a_repeat_with_the_same_key_calls_once(self, client: Client, receiver: Receiver, registrar: Caller) -> None:
        key = {"Idempotency-Key": "ping-1"}
        answers = [registrar("POST", f"/clients/{client.pk}/ping/", {}, **key) for _ in range(2)]
        assert answers[0].json() == answers[1].json()
        assert len(receiver.calls) == 1
        other = registrar("POST", f"/clients/{make_client('other').pk}/ping/", {}, **key)
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")

    def test_a_repeat_while_it_is_under_way_is_told_so(self, client: Client, registrar: Caller) -> None:
        key = {"Idempotency-Key": "ping-1"}
        registrar("POST", f"/clients/{client.pk}/ping/", {}, **key)
        Attempt.objects.all().delete()
        answer = registrar("POST", f"/clients/{client.pk}/ping/", {}, **key)
        assert (answer.status_code, answer.json()["code"]) == (409, "ping_under_way")

    def test_an_inactive_client_is_not_called(self, client: Client, receiver: Receiver, registrar: Caller) -> None:
        Endpoint.objects.update(active=False)
        answer = registrar("POST", f"/clients/{client.pk}/ping/", {}, **{"Idempotency-Key": "ping-1"})
        assert (answer.status_code, answer.json()["code"]) == (409, "client_inactive")
        assert receiver.calls == []

    def test_who_may(self, owner: Client, registrar: Caller) -> None:
        path = f"/clients/{owner.pk}/ping/"
        callers = (Caller(None), service("registry:read", "operations"), of_client(owner))
        assert [each("POST", path, {}).status_code for each in callers] == [401, 403, 403]
        assert signed_in("viewer").post(f"/api/v1{path}").status_code == 403
        assert registrar("POST", "/clients/999999/ping/", {}).json()["code"] == "client_not_found"


class TestBytes:
    def test_a_page_ends_when_attempts_weigh_enough(
        self, reader: Caller, owner: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = [make_delivery("0xA", owner, status="delivered", due_at=None) for _ in range(3)]
        for delivery in made:
            attempted(delivery, 500)
        monkeypatch.setattr("config.common.web.pagination.PAGE_BYTES", 100)
        monkeypatch.setattr("sensors.api.deliveries.PAGE_BYTES", 100)
        for path in ("/sensors/0xA/deliveries/", f"/clients/{owner.pk}/deliveries/"):
            seen, address = [], path
            while address:
                found = reader("GET", address).json()
                seen.append([(row["id"], len(row["attempts"])) for row in found["results"]])
                address = found["next"]
            assert seen == [[(delivery.pk, 1)] for delivery in reversed(made)]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL's planner")
class TestCost:
    @pytest.fixture
    def crowd(self) -> Client:
        """A client that has half of all deliveries, as the planner cannot guess from the number of clients."""
        clients = [make_client(f"c{number}") for number in range(40)]
        rows = [make_row(clients[number % 40 if number % 2 else 0], number) for number in range(4000)]
        Delivery.objects.bulk_create(rows)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE notifications_delivery, notifications_endpoint, sensors_client")
        return clients[0]

    def test_a_page_reads_no_more_than_it_shows(self, crowd: Client, reader: Caller) -> None:
        for caller in (reader, of_client(crowd)):
            answers = list[Any]()
            plans = explain_statements(
                lambda: answers.append(caller("GET", f"/clients/{crowd.pk}/deliveries/")),  # noqa: B023
                about='FROM "notifications_delivery"',
            )
            assert len(answers[0].json()["results"]) == 100
            assert plans
            assert all("using delivery_endpoint" in plan and "Sort" not in plan for plan in plans), plans


def make_row(client: Client, number: int) -> Delivery:
    kind = "sensor.state_changed"
    return Delivery(
        endpoint=client.endpoint, type=kind, family="state", subject=f"sensor/s{number}", body={}, status="dead"
    )
