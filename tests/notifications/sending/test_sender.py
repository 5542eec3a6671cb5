import time
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from notifications.models import Attempt, Delivery
from notifications.sending.sender import Sender
from tests.faults.patience import eventually
from tests.notifications.sending.owing import SECRET, make_endpoint, owe_state
from tests.receiver import Receiver, receiving
from tests.smtp import mail_server

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.1")]
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def sender() -> Iterator[Sender]:
    sender = Sender(slots=20)
    yield sender
    sender.stop(grace=15)


def status_of(row: Delivery) -> str:
    return Delivery.objects.get(pk=row.pk).status


class TestSender:
    def test_delivers_a_signed_message(self, receiver: Receiver, sender: Sender) -> None:
        row = owe_state(make_endpoint(receiver.url("/200/a")))
        sender.poke()
        assert eventually(lambda: status_of(row) == "delivered", 10)
        (call,) = receiver.calls
        assert call.id == str(row.pk)
        assert Webhook(SECRET).verify(call.body, call.headers) == row.body
        attempt = Attempt.objects.get(delivery=row)
        assert (attempt.status, attempt.answer) == (200, "noted")

    def test_goes_on_with_what_becomes_due_later(self, receiver: Receiver, sender: Sender) -> None:
        endpoint = make_endpoint(receiver.url("/200/a"))
        first = owe_state(endpoint, "thing/1")
        sender.poke()
        assert eventually(lambda: status_of(first) == "delivered", 10)
        second = owe_state(endpoint, "thing/2")
        sender.poke()
        assert eventually(lambda: status_of(second) == "delivered", 10)

    def test_one_poke_sends_all_that_is_due(self, receiver: Receiver, sender: Sender) -> None:
        endpoint = make_endpoint(receiver.url("/200/a"))
        for number in range(60):
            owe_state(endpoint, f"thing/{number}")
        sender.poke()
        assert eventually(lambda: Delivery.objects.filter(status="delivered").count() == 60, 20)
        assert len(receiver.calls) == 60

    def test_a_receiver_that_hangs_holds_up_nobody_else(self, receiver: Receiver, sender: Sender) -> None:
        slow, quick = make_endpoint(receiver.url("/hang")), make_endpoint(receiver.url("/200/a"))
        for number in range(15):
            owe_state(slow, f"thing/{number}")
            owe_state(quick, f"thing/{number}")
        began = time.monotonic()
        sender.poke()
        assert eventually(lambda: Delivery.objects.filter(endpoint=quick, status="delivered").count() == 15, 9)
        assert time.monotonic() - began < 9

    def test_a_failure_is_kept_for_later(self, receiver: Receiver, sender: Sender) -> None:
        row = owe_state(make_endpoint(receiver.url("/500/a")))
        sender.poke()
        assert eventually(lambda: Attempt.objects.filter(delivery=row).exists(), 10)
        row.refresh_from_db()
        assert (row.status, row.attempts, row.under_way_until) == ("pending", 1, None)

    def test_an_answer_that_no_database_keeps_holds_up_nobody(
        self, receiver: Receiver, sender: Sender, settings: Any
    ) -> None:
        alert = {"id": 7, "title": "a title", "type": "alert.raised"}
        with mail_server() as server:
            settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
            settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
            server.refuses = "550 no \0 mailbox"
            mail = owe_state(make_endpoint("mailto:ops@example.org"), family=Delivery.Family.ALERT)
            Delivery.objects.filter(pk=mail.pk).update(body=alert)
            hooks = [owe_state(make_endpoint(receiver.url(f"/200/{number}"))) for number in range(5)]
            sender.poke()
            assert eventually(lambda: Attempt.objects.count() == 6, 10)
        assert {status_of(row) for row in hooks} == {"delivered"}
        assert len(receiver.calls) == 5
        assert Attempt.objects.get(delivery=mail).error == "no \ufffd mailbox"

    def test_when_asked_to_stop_it_ends_what_is_under_way(self, receiver: Receiver) -> None:
        sender = Sender(slots=20)
        row = owe_state(make_endpoint(receiver.url("/200/a")))
        sender.poke()
        assert eventually(lambda: bool(receiver.calls), 10)
        sender.stop(grace=10)
        assert status_of(row) == "delivered"
