from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from messaging.models import Message
from messaging.services.set_aside import set_aside_message
from notifications.models import Delivery, Endpoint
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowEffect
from processes.workflows.services.effects.dispatch import dispatch_due_effects
from processes.workflows.services.returns import preview_return, return_instance
from sensors.models import Client
from tests.processes.workflows.process_files import chain, service, user
from tests.processes.workflows.scene import ACTOR, Scene
from tests.processes.workflows.services.effects.test_dispatch import add_enterprise

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def back(head: Head, version: int) -> Head:
    return return_instance(head.id, version=version, reason="wrong turn", actor=ACTOR, at=timezone.now())


def send_webhook(scene: Scene) -> Head:
    """Bring an instance to version 2, whose webhook is pending."""
    client = Client.objects.create(name="c", endpoint=Endpoint.objects.create(url="http://127.0.0.1/", secret=b""))
    head = scene.begin(chain("p", user("a"), service("s", "webhook", client="client"), user("b")), client=client.pk)
    scene.complete(head)
    dispatch_due_effects()
    return head


def send_message(scene: Scene, to: str = "acme-erp") -> Head:
    add_enterprise("acme")
    inputs = {"to": f'"{to}"', "payload": "1"}
    head = scene.begin(chain("p", user("a"), service("s", "message", **inputs), user("b")), enterprise="acme")
    scene.complete(head)
    dispatch_due_effects()
    return head


def preview(head: Head) -> dict[str, list[Any]]:
    """Return the elements whose effects a return to version 1 would recall, and those it could not."""
    shown = preview_return(head.id, version=1, at=timezone.now())
    recalled = [each["element"] for each in shown["cancelled"] if each.get("recalled")]
    return {"recalled": recalled, "irrevocable": [each["element"] for each in shown["irrevocable"]]}


class TestWebhooks:
    def test_one_that_is_pending_is_taken_back(self, scene: Scene) -> None:
        head = send_webhook(scene)
        assert preview(head) == {"recalled": ["s"], "irrevocable": []}

        back(head, 1)

        delivery = Delivery.objects.get()
        assert (delivery.status, delivery.reason, delivery.due_at) == ("cancelled", "recalled by a return", None)
        assert WorkflowEffect.objects.get().status == "cancelled"

    @pytest.mark.parametrize(
        "arrived",
        [{"under_way_until": timezone.now() + timedelta(days=1)}, {"status": "delivered", "due_at": None}],
        ids=["under way", "delivered"],
    )
    def test_one_that_may_have_arrived_stays(self, scene: Scene, arrived: dict[str, Any]) -> None:
        head = send_webhook(scene)
        Delivery.objects.update(**arrived)
        before = Delivery.objects.values().get()
        assert preview(head) == {"recalled": [], "irrevocable": ["s"]}

        back(head, 1)

        assert Delivery.objects.values().get() == before
        assert WorkflowEffect.objects.get().status == "left"

    def test_a_return_to_where_it_was_sent_sends_it_again_once(self, scene: Scene) -> None:
        head = send_webhook(scene)
        back(head, 1)
        back(head, 2)

        dispatch_due_effects()
        dispatch_due_effects()

        assert sorted(Delivery.objects.values_list("status", flat=True)) == ["cancelled", "pending"]


class TestMessages:
    def test_one_that_nobody_has_taken_is_set_aside(self, scene: Scene) -> None:
        head = send_message(scene)
        assert preview(head) == {"recalled": ["s"], "irrevocable": []}

        back(head, 1)

        message = Message.objects.get()
        assert message.set_aside_at is not None
        assert "wrong turn" in message.error_text
        assert WorkflowEffect.objects.get().status == "cancelled"

    def test_a_return_to_where_it_was_sent_offers_it_again(self, scene: Scene) -> None:
        head = send_message(scene)
        back(head, 1)
        back(head, 2)

        dispatch_due_effects()

        message = Message.objects.get()
        assert (message.set_aside_at, message.status) == (None, "waiting")
        assert WorkflowEffect.objects.get().status == "left"

    def test_one_that_staff_have_set_aside_is_their_decision(self, scene: Scene) -> None:
        head = send_message(scene)
        set_aside_message(message_id=Message.objects.get().pk, reason="the ERP dies of it", actor="staff:olga")
        assert preview(head) == {"recalled": [], "irrevocable": ["s"]}

        back(head, 1)

        assert "the ERP dies of it" in Message.objects.get().error_text
        assert WorkflowEffect.objects.get().status == "left"

    def test_a_reply_may_have_been_read(self, scene: Scene) -> None:
        head = send_message(scene, to="acme-phone")
        assert preview(head) == {"recalled": [], "irrevocable": ["s"]}

        back(head, 1)

        assert Message.objects.get().status == "waiting"
        assert WorkflowEffect.objects.get().status == "left"
