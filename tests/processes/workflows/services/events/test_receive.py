from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from config.common.errors import Invalid
from config.engines.amqp_messages import AmqpMessage
from config.records.models import LogEntry
from notifications.models import Event
from processes.workflows.models import ReceivedEvent
from processes.workflows.services.events import receive as receive_module
from processes.workflows.services.events.amqp import LARGEST, receive_message
from processes.workflows.services.events.receive import receive_event

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def receive(**fields: Any) -> str:
    return receive_event(**{"source": "key:a", "type": "custom.x", "at": timezone.now(), **fields})


def amqp_message(body: bytes) -> AmqpMessage:
    return AmqpMessage("workflows.events", body, {"message_id": "m1"}, was_delivered=False)


class TestReceiveEvent:
    def test_is_written_into_the_outbox(self) -> None:
        receive(id="e1", record="r1", payload={"a": 1})
        event = Event.objects.get()
        assert (event.type, event.subject, event.payload["payload"]) == ("custom.x", "record/r1", {"a": 1})

    def test_the_same_id_of_a_source_counts_once(self) -> None:
        assert receive(id="e1") == receive(id="e1") == "e1"
        assert (Event.objects.count(), ReceivedEvent.objects.count()) == (1, 1)

    def test_dies_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def die(event: Any) -> None:
            raise OperationalError("the connection was cut")

        with monkeypatch.context() as patch:
            patch.setattr(receive_module, "record_event", die)
            with pytest.raises(OperationalError):
                receive(id="e1")
        receive(id="e1")
        assert (Event.objects.count(), ReceivedEvent.objects.count()) == (1, 1)

    def test_another_source_has_ids_of_its_own(self) -> None:
        receive(id="e1")
        receive(id="e1", source="key:b")
        assert Event.objects.count() == 2

    def test_without_an_id_each_counts(self) -> None:
        assert receive() != receive()
        assert Event.objects.count() == 2

    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({"type": "sensor.state_changed"}, "type"),
            ({"type": "custom."}, "type"),
            ({"type": "custom." + "x" * 80}, "type"),
            ({"id": ""}, "id"),
            ({"record": "x" * 201}, "record"),
            ({"payload": {"a": "\x00"}}, "payload"),
        ],
    )
    def test_what_breaks_a_rule_is_refused_by_field(self, fields: dict[str, Any], named: str) -> None:
        with pytest.raises(Invalid) as caught:
            receive(**fields)
        assert named in caught.value.data["fields"]
        assert not Event.objects.exists()


class TestReceiveMessage:
    def test_the_same_message_twice_is_one_event(self) -> None:
        for _ in range(2):
            receive_message(amqp_message(b'{"type": "custom.x", "record": "r", "payload": {"a": 1}}'))
        assert Event.objects.get().payload["record"] == "r"

    def test_takes_a_body_of_the_limit_and_not_a_byte_more(self) -> None:
        body = b'{"type": "custom.x"}'.ljust(LARGEST)
        receive_message(amqp_message(body))
        receive_message(AmqpMessage("workflows.events", body + b" ", {"message_id": "m2"}, was_delivered=False))
        assert Event.objects.get().payload["id"] == "m1"
        assert "too large" in LogEntry.objects.get(kind="workflow").data["cause"]

    @pytest.mark.parametrize(
        "body", [b"{", b"[]", b'{"type": 5}', b'{"type": "sensor.x"}', b'{"type": "custom.x", "y": 1}']
    )
    def test_what_cannot_be_used_is_logged(self, body: bytes) -> None:
        receive_message(amqp_message(body))
        assert not Event.objects.exists()
        assert LogEntry.objects.get(kind="workflow").data["id"] == "m1"
