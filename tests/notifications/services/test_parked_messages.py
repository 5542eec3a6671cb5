from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.engines.amqp_messages import read_message
from config.engines.publisher import NotPublished
from notifications.decisions import awaits_decision
from notifications.errors import NotSentAgain, ParkedMessageDecided
from notifications.models import Alert, MessageFailure, ParkedMessage
from notifications.services import parked_messages as parked_module
from notifications.services.parked_messages import discard_parked_message, resend_parked_message
from notifications.services.poison import raise_parked_alert
from notifications.services.retention import expire_parked_messages
from tests.conftest import ServerAddresses

pytestmark = pytest.mark.django_db


@pytest.fixture
def parked(settings: Any) -> ParkedMessage:
    settings.AMQP_URL = "amqp://nowhere.invalid"
    row = ParkedMessage.objects.create(queue="q", body=b"\x00\xff", properties={"message_id": "m"}, failures=5)
    raise_parked_alert("q")
    return row


class TestResendParkedMessage:
    def test_puts_it_into_its_queue_as_it_was(
        self, parked: ParkedMessage, servers: ServerAddresses, settings: Any
    ) -> None:
        from config.engines.amqp import connect

        settings.AMQP_URL = servers.amqp
        connection = connect()
        channel = connection.channel()
        channel.queue_declare("q", durable=True)
        channel.queue_purge("q")
        resend_parked_message(message_id=parked.pk, actor="olga")
        found = read_message("q", *channel.basic_get("q", auto_ack=True))
        channel.queue_delete("q")
        connection.close()
        parked_module._publisher.close()
        assert (found.body, found.properties) == (b"\x00\xff", {"message_id": "m"})
        parked.refresh_from_db()
        assert (parked.status, parked.decided_by) == ("resent", "olga")
        assert Alert.objects.get().status == "resolved"

    @pytest.mark.embedded
    def test_what_the_broker_does_not_take_stays_parked(
        self, parked: ParkedMessage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def is_away(*_: Any, **__: Any) -> None:
            raise NotPublished("away")

        monkeypatch.setattr(parked_module._publisher, "publish", is_away)
        with pytest.raises(NotSentAgain):
            resend_parked_message(message_id=parked.pk, actor="olga")
        parked.refresh_from_db()
        assert parked.status == "parked"
        assert Alert.objects.get().status == "open"


@pytest.mark.embedded
def test_the_alert_awaits_the_decision(parked: ParkedMessage) -> None:
    assert awaits_decision("amqp.parked", "queue/q")
    discard_parked_message(message_id=parked.pk, actor="olga", reason="r")
    assert not awaits_decision("amqp.parked", "queue/q")


@pytest.mark.embedded
class TestDiscardParkedMessage:
    def test_keeps_who_and_why_and_decides_once(self, parked: ParkedMessage) -> None:
        discard_parked_message(message_id=parked.pk, actor="olga", reason="a test of the vendor")
        parked.refresh_from_db()
        assert (parked.status, parked.decided_by, parked.reason) == ("discarded", "olga", "a test of the vendor")
        with pytest.raises(ParkedMessageDecided):
            discard_parked_message(message_id=parked.pk, actor="olga", reason="again")

    def test_the_alert_stays_while_others_of_the_queue_wait(self, parked: ParkedMessage) -> None:
        other = ParkedMessage.objects.create(queue="q", body=b"", failures=5)
        discard_parked_message(message_id=parked.pk, actor="olga", reason="r")
        assert Alert.objects.get().status == "open"
        discard_parked_message(message_id=other.pk, actor="olga", reason="r")
        assert Alert.objects.get().status == "resolved"


@pytest.mark.embedded
def test_what_was_decided_long_ago_and_old_counts_expire(parked: ParkedMessage) -> None:
    long_ago = timezone.now() - timedelta(days=4000)
    ParkedMessage.objects.create(queue="q", body=b"", failures=5, status="resent", decided_at=long_ago)
    MessageFailure.objects.create(queue="q", digest="old", tried_at=long_ago)
    MessageFailure.objects.create(queue="q", digest="new")
    expire_parked_messages()
    assert list(ParkedMessage.objects.all()) == [parked]
    assert [row.digest for row in MessageFailure.objects.all()] == ["new"]
