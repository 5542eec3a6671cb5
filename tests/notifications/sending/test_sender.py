import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from django.core import mail as django_mail
from django.db import transaction
from standardwebhooks.webhooks import Webhook

from config.common.correlation import correlated
from config.common.database import leases
from notifications.models import Attempt, Delivery
from notifications.sending import mail, sms, transport, webhook
from notifications.sending import sender as sending
from notifications.sending.claims import LEASE, Claim, Claimer
from notifications.sending.sender import Sender
from notifications.services.deliveries import cancel_deliveries
from notifications.services.resend import resend_delivery
from tests.faults.wait import wait_until
from tests.mail_server import mail_server
from tests.notifications.sending.deliveries import SECRET, enqueue_state, make_due, make_endpoint
from tests.webhook_receiver import Receiver, run_receiver

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.1")]
    with run_receiver() as receiver:
        yield receiver


@pytest.fixture
def sender() -> Iterator[Sender]:
    sender = Sender(slots=20)
    yield sender
    sender.stop(grace=15)


def status_of(row: Delivery) -> str:
    return Delivery.objects.get(pk=row.pk).status


class Stopped:
    """Stops a sender right after its first claim, by the clock of leases; `meanwhile` is what others do then."""

    def __init__(self, patch: pytest.MonkeyPatch, seconds: float, meanwhile: Callable[[], None]) -> None:
        self.skipped, self.is_first = 0.0, True
        real_claim, real_clock = Claimer.claim, leases.lease_clock

        def claim(claimer: Claimer, limit: int) -> list[Claim]:
            claims = real_claim(claimer, limit)
            if claims and self.is_first:
                self.is_first = False
                meanwhile()
                self.skipped = seconds
            return claims

        patch.setattr(Claimer, "claim", claim)
        for module in (sending, transport, webhook, mail, sms):
            patch.setattr(module, "lease_clock", lambda: real_clock() + self.skipped)


class TestSlots:
    @pytest.mark.parametrize(
        ("quick", "slow", "free"), [(0, 0, 2), (1, 0, 1), (2, 0, 0), (0, 2, 2), (0, 19, 1), (0, 20, 0), (1, 19, 0)]
    )
    def test_so_many_are_under_way_and_ten_times_as_many_of_the_slow(self, quick: int, slow: int, free: int) -> None:
        sender, now = Sender(slots=2), time.monotonic() + 1000
        sender._tasks = {object(): now for _ in range(quick)} | {object(): 0.0 for _ in range(slow)}  # type: ignore[assignment]
        assert sender._count_free() == free


class TestAfterTheClaim:
    def test_a_sender_that_was_stopped_past_its_lease_sends_nothing_behind_a_newer_message(
        self, receiver: Receiver, sender: Sender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        endpoint, another = make_endpoint(receiver.url("/200/a")), Sender(slots=5)
        older = enqueue_state(endpoint, data=1)

        def overtake() -> None:
            """What the end of the lease lets others do."""
            make_due(older)
            with transaction.atomic():
                newer = enqueue_state(endpoint, data=2)
            another.wake()
            assert wait_until(lambda: status_of(newer) == "delivered", 60)

        stopped = Stopped(monkeypatch, LEASE.total_seconds() + 1, overtake)
        sender.wake()
        assert wait_until(lambda: stopped.skipped, 60)
        sender.stop(grace=10)
        another.stop(grace=10)
        assert [call.json["data"] for call in receiver.calls] == [2]
        assert status_of(older) == "superseded"

    def test_a_claim_that_waited_and_is_not_ours_any_more_is_not_sent(
        self, receiver: Receiver, sender: Sender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = enqueue_state(make_endpoint(receiver.url("/200/a")))
        stopped = Stopped(monkeypatch, sending.DOUBT_SECONDS + 1, lambda: cancel_deliveries([row.pk], "unlinked"))
        sender.wake()
        assert wait_until(lambda: stopped.skipped, 60)
        sender.stop(grace=10)
        assert (receiver.calls, status_of(row)) == ([], "cancelled")

    @pytest.mark.parametrize(("address", "waited"), [("mailto:ops@example.org", 22), ("sms:+375291234567", 18)])
    def test_a_claim_that_waited_leaves_no_mail_or_text_that_could_outlive_it(
        self,
        address: str,
        waited: int,
        receiver: Receiver,
        sender: Sender,
        monkeypatch: pytest.MonkeyPatch,
        settings: Any,
    ) -> None:
        settings.SMS_URL = receiver.url("/200/gateway")
        row = enqueue_state(make_endpoint(address), family=Delivery.Family.ALERT)
        Delivery.objects.filter(pk=row.pk).update(body={"id": 7, "title": "a title", "type": "alert.raised"})
        stopped = Stopped(monkeypatch, waited, lambda: None)
        sender.wake()
        assert wait_until(lambda: stopped.skipped, 60)
        sender.stop(grace=10)
        assert (django_mail.outbox, receiver.calls, status_of(row)) == ([], [], "pending")
        assert not Attempt.objects.exists()

    def test_a_claim_that_waited_and_stands_is_sent(
        self, receiver: Receiver, sender: Sender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = enqueue_state(make_endpoint(receiver.url("/200/a")))
        Stopped(monkeypatch, sending.DOUBT_SECONDS + 1, lambda: None)
        sender.wake()
        assert wait_until(lambda: status_of(row) == "delivered", 60)


class TestSender:
    def test_delivers_a_signed_message(self, receiver: Receiver, sender: Sender) -> None:
        with correlated("call-0001"):
            row = enqueue_state(make_endpoint(receiver.url("/200/a")))
        sender.wake()
        assert wait_until(lambda: status_of(row) == "delivered", 60)
        (call,) = receiver.calls
        assert call.headers["x-correlation-id"] == "call-0001"
        assert call.id == str(row.message_id) == row.webhook_id
        assert Webhook(SECRET).verify(call.body, call.headers) == row.body
        attempt = Attempt.objects.get(delivery=row)
        assert (attempt.status, attempt.answer) == (200, "noted")

    def test_the_id_that_receivers_see_is_the_same_over_retries_and_resends_and_never_anothers(
        self, receiver: Receiver, sender: Sender
    ) -> None:
        """A restored database counts its rows anew: the number of a row says nothing."""
        endpoint = make_endpoint(receiver.url("/500/a"))
        row = enqueue_state(endpoint)
        for calls in (1, 2):
            sender.wake()
            assert wait_until(lambda: Attempt.objects.filter(delivery=row).count() == calls, 60)  # noqa: B023
            resend_delivery(row.pk, "staff")
        receiver.status["/500/a"] = 200
        sender.wake()
        assert wait_until(lambda: status_of(row) == "delivered", 60)
        assert {call.id for call in receiver.calls} == {str(row.message_id)}
        Delivery.objects.all().delete()
        copied = enqueue_state(endpoint, "thing/2")
        Delivery.objects.filter(pk=copied.pk).update(id=row.pk)
        sender.wake()
        assert wait_until(lambda: len({call.id for call in receiver.calls}) == 2, 60)

    def test_a_row_from_before_there_were_such_ids_keeps_its_number(self, receiver: Receiver, sender: Sender) -> None:
        row = enqueue_state(make_endpoint(receiver.url("/200/a")))
        Delivery.objects.update(message_id=None)
        sender.wake()
        assert wait_until(lambda: status_of(row) == "delivered", 60)
        assert [call.id for call in receiver.calls] == [str(row.pk)]

    def test_goes_on_with_what_becomes_due_later(self, receiver: Receiver, sender: Sender) -> None:
        endpoint = make_endpoint(receiver.url("/200/a"))
        first = enqueue_state(endpoint, "thing/1")
        sender.wake()
        assert wait_until(lambda: status_of(first) == "delivered", 60)
        second = enqueue_state(endpoint, "thing/2")
        sender.wake()
        assert wait_until(lambda: status_of(second) == "delivered", 60)

    def test_one_poke_sends_all_that_is_due(self, receiver: Receiver, sender: Sender) -> None:
        endpoint = make_endpoint(receiver.url("/200/a"))
        for number in range(60):
            enqueue_state(endpoint, f"thing/{number}")
        sender.wake()
        assert wait_until(lambda: Delivery.objects.filter(status="delivered").count() == 60, 60)
        assert len(receiver.calls) == 60

    def test_a_receiver_that_hangs_holds_up_nobody_else(self, receiver: Receiver, sender: Sender) -> None:
        slow, quick = make_endpoint(receiver.url("/hang")), make_endpoint(receiver.url("/200/a"))
        for number in range(15):
            enqueue_state(slow, f"thing/{number}")
            enqueue_state(quick, f"thing/{number}")
        began = time.monotonic()
        sender.wake()
        assert wait_until(lambda: Delivery.objects.filter(endpoint=quick, status="delivered").count() == 15, 9)
        assert time.monotonic() - began < 9

    def test_a_failure_is_kept_for_later(self, receiver: Receiver, sender: Sender) -> None:
        row = enqueue_state(make_endpoint(receiver.url("/500/a")))
        sender.wake()
        assert wait_until(lambda: Attempt.objects.filter(delivery=row).exists(), 60)
        row.refresh_from_db()
        assert (row.status, row.attempts, row.under_way_until) == ("pending", 1, None)

    def test_an_answer_that_no_database_keeps_holds_up_nobody(
        self, receiver: Receiver, sender: Sender, settings: Any
    ) -> None:
        alert = {"id": 7, "title": "a title", "type": "alert.raised"}
        with mail_server() as server:
            settings.EMAIL_BACKEND = "notifications.sending.smtp.EmailBackend"
            settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
            server.refuses = "550 no \0 mailbox"
            mail = enqueue_state(make_endpoint("mailto:ops@example.org"), family=Delivery.Family.ALERT)
            Delivery.objects.filter(pk=mail.pk).update(body=alert)
            hooks = [enqueue_state(make_endpoint(receiver.url(f"/200/{number}"))) for number in range(5)]
            sender.wake()
            assert wait_until(lambda: Attempt.objects.count() == 6, 60)
        assert {status_of(row) for row in hooks} == {"delivered"}
        assert len(receiver.calls) == 5
        assert Attempt.objects.get(delivery=mail).error == "no \ufffd mailbox"

    def test_when_asked_to_stop_it_ends_what_is_under_way(self, receiver: Receiver) -> None:
        sender = Sender(slots=20)
        row = enqueue_state(make_endpoint(receiver.url("/200/a")))
        sender.wake()
        assert wait_until(lambda: bool(receiver.calls), 60)
        sender.stop(grace=10)
        assert status_of(row) == "delivered"
