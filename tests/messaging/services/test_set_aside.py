"""Waiting messages that staff keep from being offered, and bring back."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from config.records.models import ChangeRecord, LogEntry
from messaging.errors import AlreadySetAside, MessageNotFound, NotSetAside, NotWaiting
from messaging.models import Message
from messaging.services.set_aside import bring_back_message, set_aside_message
from notifications.models import Event
from processes.exchange.models import ExchangeProcess
from tests.processes.exchange.scene import Scene
from tests.processes.exchange.states import alerts, bring_to, let_time_pass

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]


def set_aside(id: str = "m1") -> None:
    message = Message.objects.get(public_id=id)
    set_aside_message(message_id=message.pk, reason="the ERP dies of it", actor="staff:olga")


def bring_back(id: str = "m1") -> None:
    message = Message.objects.get(public_id=id)
    bring_back_message(message_id=message.pk, reason="mended", actor="staff:olga")


class TestSetAside:
    def test_is_not_offered(self, scene: Scene) -> None:
        for id in ("m1", "m2"):
            scene.send(id)
        set_aside()
        for fields in ({}, {"subsystems": ["acme-sales"]}, {"senders": ["acme-phone"]}):
            answer = scene.start(**fields)
            assert [message["id"] for message in answer["messages"]] == ["m2"]
            scene.step(answer["process_id"], "interrupt", text="")

    def test_receipt_says_that_it_waits_and_why(self, scene: Scene) -> None:
        scene.send()
        set_aside()
        receipt = scene.receipt()
        assert (receipt["status"], "the ERP dies of it" in receipt["error_text"]) == ("waiting", True)

    def test_closes_the_alert_of_its_setbacks(self, scene: Scene) -> None:
        scene.send()
        for _ in range(5):
            let_time_pass(scene.start()["process_id"])
        assert alerts("message.setbacks") == ["message/acme/m1"]
        set_aside()
        assert (alerts("message.setbacks"), scene.start()["status"]) == ([], "IDLE")

    def test_is_audited(self, scene: Scene) -> None:
        scene.send()
        set_aside()
        change = ChangeRecord.objects.get(kind="message")
        assert (change.actor, change.after["reason"]) == ("staff:olga", "the ERP dies of it")
        assert LogEntry.objects.filter(subject="message/acme/m1", text__contains="set aside by olga").exists()
        assert Event.objects.filter(type="message.set_aside").count() == 1

    @pytest.mark.parametrize("status", ["STARTED", "DONE", "IN_DOUBT"])
    def test_only_what_waits(self, scene: Scene, status: str) -> None:
        bring_to(scene, status)
        with pytest.raises(NotWaiting):
            set_aside()

    def test_not_twice_and_no_unknown_one(self, scene: Scene) -> None:
        scene.send()
        set_aside()
        with pytest.raises(AlreadySetAside):
            set_aside()
        with pytest.raises(MessageNotFound):
            set_aside_message(message_id=0, reason="x", actor="staff:olga")

    def test_nothing_else_can_be_aside(self, scene: Scene) -> None:
        scene.send()
        set_aside()
        with pytest.raises(IntegrityError), transaction.atomic():
            Message.objects.update(status="processed", folder="Log")

    @pytest.mark.django_db(transaction=True)
    def test_at_once_with_api_1_one_of_them_has_it(self, scene: Scene, in_threads: Threads) -> None:
        for number in range(5):
            scene.send(f"m{number}")

            def act(which: int, id: str = f"m{number}") -> str:
                if which == 0:
                    return str(scene.start()["status"])
                try:
                    set_aside(id)
                except NotWaiting:
                    return "taken"
                return "aside"

            started, aside = in_threads(act, 2)
            assert (started, aside) in [("OK", "taken"), ("IDLE", "aside")]
            if started == "OK":
                scene.step(str(ExchangeProcess.objects.get(status="STARTED").pk), "interrupt", text="")
                set_aside(f"m{number}")


class TestBringBack:
    def test_is_offered_in_its_old_place(self, scene: Scene) -> None:
        for id in ("m1", "m2"):
            scene.send(id)
        Message.objects.filter(public_id="m1").update(setbacks=7, is_postponed=True, isolation=2)
        set_aside()
        bring_back()
        assert [message["id"] for message in scene.start()["messages"]] == ["m1", "m2"]
        assert scene.receipt()["error_text"] is None

    def test_only_what_is_aside(self, scene: Scene) -> None:
        scene.send()
        with pytest.raises(NotSetAside):
            bring_back()
