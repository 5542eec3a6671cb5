import time
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from notifications.errors import ClientInactive, PingUnderWay
from notifications.models import Alert, Attempt, Delivery, Endpoint
from notifications.services.pings import begin_ping, finish_ping
from tests.notifications.sending.deliveries import SECRET, answer, claim, make_endpoint
from tests.webhook_receiver import Receiver, run_receiver

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.1")]
    with run_receiver() as receiver:
        yield receiver


def ping(endpoint: Endpoint) -> tuple[Delivery, Attempt]:
    attempt = finish_ping(begin_ping(endpoint.pk), is_new=True)
    return Delivery.objects.get(), attempt


class TestPing:
    def test_sends_a_signed_message_and_keeps_the_answer(self, receiver: Receiver) -> None:
        row, attempt = ping(make_endpoint(receiver.url("/200/a")))
        (call,) = receiver.calls
        assert Webhook(SECRET).verify(call.body, call.headers) == row.body
        assert (call.id, sorted(row.body)) == (str(row.message_id), ["at", "type", "version"])
        assert (row.status, row.family, row.type, row.attempts) == ("delivered", "ping", "ping", 1)
        assert (attempt.status, attempt.answer, attempt.error) == (200, "noted", "")

    @pytest.mark.parametrize("path", ["/500/a", "/302/a", "/429/a"])
    def test_one_that_fails_is_dead_at_once_and_alarms_nobody(self, receiver: Receiver, path: str) -> None:
        row, attempt = ping(make_endpoint(receiver.url(path)))
        assert (row.status, row.due_at, len(receiver.calls)) == ("dead", None, 1)
        assert attempt.error
        assert not Alert.objects.exists()

    def test_an_address_that_is_refused_is_an_answer_too(self) -> None:
        _, attempt = ping(make_endpoint("http://127.0.0.1:9/hook"))
        assert attempt.status is None
        assert "loopback" in attempt.error

    @pytest.mark.slow
    def test_ends_though_the_receiver_never_answers(self, receiver: Receiver) -> None:
        began = time.monotonic()
        _, attempt = ping(make_endpoint(receiver.url("/hang/a")))
        assert (attempt.status, attempt.error) == (None, "no whole answer within 10 s")
        assert time.monotonic() - began < 12

    def test_passes_pause_and_breaker_and_success_closes_it(self, receiver: Receiver) -> None:
        later = timezone.now() + timedelta(hours=1)
        endpoint = make_endpoint(receiver.url("/200/a"), paused=True, failures=9, opened_at=later, probe_at=later)
        ping(endpoint)
        endpoint.refresh_from_db()
        assert (endpoint.opened_at, endpoint.failures, endpoint.is_back) == (None, 0, True)

    def test_an_inactive_client_is_not_called(self) -> None:
        with pytest.raises(ClientInactive):
            begin_ping(make_endpoint(active=False).pk)
        assert not Delivery.objects.exists()


class TestARowThatWasBegun:
    def test_is_nobody_elses_for_now(self) -> None:
        begin_ping(make_endpoint().pk)
        assert claim() == []

    def test_is_sent_by_a_sender_when_its_caller_died(self) -> None:
        row_id = begin_ping(make_endpoint().pk)
        Delivery.objects.update(due_at=Now() - timedelta(seconds=1), under_way_until=Now() - timedelta(seconds=1))
        found = claim()
        assert [each.id for each in found] == [row_id]
        answer(*found, status=500)
        assert Delivery.objects.get().status == "dead"

    def test_a_repeat_says_that_it_is_under_way(self) -> None:
        with pytest.raises(PingUnderWay):
            finish_ping(begin_ping(make_endpoint().pk), is_new=False)
