"""An alert from its raising to the mailbox, with a mail server that is away for an hour."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from notifications.models import Alert, Attempt, Delivery, Endpoint
from notifications.sending.sender import Sender
from notifications.services.alert_messages import APART, GATHER
from notifications.services.alerts import acknowledge_alert, close_alert
from tests.faults.wait import wait_until
from tests.mail_server import MailServer, mail_server
from tests.notifications.alerts import escalate, make_alert, pass_time, set_ladder
from tests.servers.private_server import find_free_port

QUARTER = timedelta(minutes=15)

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def port(settings: Any) -> int:
    """Where the mail server is to be; nobody listens there yet."""
    settings.EMAIL_BACKEND = "notifications.sending.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", find_free_port(), 5
    set_ladder((0, "email", "ops@example.org"), (600, "email", "chief@example.org"))
    return int(settings.EMAIL_PORT)


@pytest.fixture
def sender() -> Iterator[Sender]:
    sender = Sender(slots=5)
    yield sender
    sender.stop(grace=15)


def move_clock(gone: timedelta) -> None:
    """Let time pass for alerts, deliveries and breakers."""
    pass_time(int(gone.total_seconds()))
    Delivery.objects.filter(status="pending").update(due_at=F("due_at") - gone)
    Endpoint.objects.filter(opened_at__isnull=False).update(
        opened_at=F("opened_at") - gone, probe_at=F("probe_at") - gone
    )


def attempt(sender: Sender, expected: int) -> None:
    sender.wake()
    assert wait_until(lambda: Attempt.objects.count() >= expected, 60)


def expect_mails(server: MailServer, number: int) -> None:
    """Wait for the mails and their outcomes: a mail comes before its outcome is recorded, and whoever moves the clock
    between the two ends its lease, so that it is sent again."""
    assert wait_until(lambda: len(server.inbox) == number, 60)
    assert wait_until(lambda: set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}, 60)


@pytest.mark.slow
def test_it_survives_an_hour_without_a_mail_server_and_is_escalated_until_somebody_acknowledges(
    port: int, sender: Sender
) -> None:
    alert = make_alert()
    escalate()
    move_clock(GATHER)
    attempt(sender, 1)
    for number in range(2, 5):
        move_clock(QUARTER)
        attempt(sender, number)
    assert not Delivery.objects.filter(status="delivered").exists()
    with mail_server(port) as server:
        # The last quarter passes once somebody listens: a sender that has recorded an attempt looks once more, and an
        # attempt that fails then would put the next one off.
        move_clock(QUARTER)
        sender.wake()
        expect_mails(server, 1)
        escalate()
        move_clock(APART)
        sender.wake()
        expect_mails(server, 2)
        assert {to for to, _ in server.inbox} == {"ops@example.org", "chief@example.org"}
        acknowledge_alert(alert.pk, "ann")
        move_clock(timedelta(hours=1))
        escalate()
        assert Delivery.objects.filter(type="alert.raised").count() == 2

        close_alert("engine.down", "engine/redis")
        move_clock(APART)
        sender.wake()
        expect_mails(server, 4)
    assert Alert.objects.get(pk=alert.pk).status == Alert.Status.RESOLVED
