import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from messaging.files.paths import path_of
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from messaging.services.readability import filter_readable
from notifications.models import Alert, Delivery, Endpoint, Event
from processes.workflows.models import WorkflowEffect, WorkflowIncident
from processes.workflows.services.effects import handlers
from processes.workflows.services.effects.dispatch import dispatch_due_effects
from sensors.models import Client
from tests.processes.workflows.process_files import chain, service, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def add_enterprise(name: str) -> None:
    enterprise = Enterprise.objects.create(id=name, name=name)
    subsystem = Subsystem.objects.create(id=f"{name}-sales", enterprise=enterprise, name="Sales")
    Device.objects.create(id=f"{name}-phone", subsystem=subsystem, name="Phone")
    ExchangeDatabase.objects.create(id=f"{name}-erp", enterprise=enterprise, name="ERP")


def writes(to: str, **more: str) -> bytes:
    return chain("p", service("s", "message", to=f'"{to}"', payload="order", **more), user("a"))


class TestDispatchDueEffects:
    def test_raises_an_alert_once(self, scene: Scene) -> None:
        head = scene.begin(chain("p", service("s", "alert", title='"Door " + door', door="door")), door="12")
        dispatch_due_effects()
        dispatch_due_effects()
        alert = Alert.objects.get()
        assert (alert.words, alert.count) == (f"Door 12 (workflow “p” of {head.id})", 1)

    def test_owes_a_client_a_message(self, scene: Scene) -> None:
        client = Client.objects.create(name="c", endpoint=Endpoint.objects.create(url="http://127.0.0.1/", secret=b""))
        head = scene.begin(chain("p", service("s", "webhook", client="client", payload="{'a': 1}")), client=client.pk)
        dispatch_due_effects()
        delivery = Delivery.objects.get()
        assert (delivery.endpoint_id, delivery.type) == (client.endpoint_id, "workflow.message")
        assert (delivery.body["payload"], delivery.body["instance"]) == ({"a": 1}, str(head.id))

    def test_an_unknown_client_is_an_incident(self, scene: Scene) -> None:
        head = scene.begin(chain("p", service("s", "webhook", client="99"), user("a")))
        dispatch_due_effects()
        assert (scene.head(head).status, WorkflowEffect.objects.get().status) == ("incident", "refused")

    def test_a_retry_lets_it_leave_with_other_inputs(self, scene: Scene) -> None:
        client = Client.objects.create(name="c", endpoint=Endpoint.objects.create(url="http://127.0.0.1/", secret=b""))
        head = scene.begin(chain("p", service("s", "webhook", client="99"), user("a")))
        dispatch_due_effects()
        assert scene.command(head, "retry_incident", variables={"client": client.pk}).status == "active"
        dispatch_due_effects()
        assert WorkflowEffect.objects.get().status == "left"

    def test_writes_to_a_device_of_its_enterprise(self, scene: Scene) -> None:
        add_enterprise("acme")
        scene.begin(writes("acme-phone"), enterprise="acme", order={"n": 1})
        dispatch_due_effects()
        message = Message.objects.get()
        assert (message.direction, message.device_id, message.database_id) == ("reply", "acme-phone", "acme-erp")
        assert (message.status, message.folder) == ("waiting", "Messages")

    def test_writes_to_a_database_of_its_enterprise(self, scene: Scene) -> None:
        add_enterprise("acme")
        scene.begin(writes("acme-erp"), enterprise="acme", order={"n": 1})
        dispatch_due_effects()
        message = Message.objects.get()
        assert (message.direction, message.device_id) == ("request", "acme-phone")
        assert json.loads(path_of(message).read_bytes())["payload"] == {"n": 1}
        assert Event.objects.filter(type="message.received").count() == 1

    @pytest.mark.parametrize("enterprise", ["acme", None])
    @pytest.mark.parametrize("to", ["other-phone", "other-erp", "nobody"])
    def test_writes_to_no_other_enterprise(self, scene: Scene, to: str, enterprise: str | None) -> None:
        add_enterprise("acme")
        add_enterprise("other")
        head = scene.begin(writes(to), enterprise=enterprise, order=1)
        dispatch_due_effects()
        assert (scene.head(head).status, Message.objects.count()) == ("incident", 0)

    def test_names_no_sender_of_another_enterprise(self, scene: Scene) -> None:
        add_enterprise("acme")
        add_enterprise("other")
        scene.begin(
            chain("p", service("s", "message", **{"to": "'acme-erp'", "from": "'other-phone'"})), enterprise="acme"
        )
        dispatch_due_effects()
        assert "from" in WorkflowIncident.objects.get().reason

    def test_a_message_sent_before_is_not_sent_again(self, scene: Scene) -> None:
        add_enterprise("acme")
        scene.begin(writes("acme-phone"), enterprise="acme", order=1)
        dispatch_due_effects()
        WorkflowEffect.objects.update(status="waiting", due_at="2020-01-01T00:00Z", left_at=None)
        dispatch_due_effects()
        assert (Message.objects.count(), WorkflowEffect.objects.get().status) == (1, "left")


class TestMark:
    @pytest.mark.parametrize(
        ("kind", "cut_at", "left"),
        [
            ("alert", "raise_alert", Alert),
            ("webhook", "mark_dispatched", Delivery),
            ("message", "_insert", Message),
        ],
    )
    def test_stands_with_the_effect(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, kind: str, cut_at: str, left: type[Model]
    ) -> None:
        """Whoever is cut off between the two has done neither, and the next one does both."""
        add_enterprise("acme")
        endpoint = Endpoint.objects.create(url="http://127.0.0.1/", secret=b"")
        client = Client.objects.create(name="c", endpoint=endpoint)
        inputs = {
            "alert": {"title": "'Look'"},
            "webhook": {"client": "client"},
            "message": {"to": "'acme-phone'", "payload": "1"},
        }
        scene.begin(chain("p", service("s", kind, **inputs[kind]), user("a")), enterprise="acme", client=client.pk)

        def cut(*args: Any, **options: Any) -> None:
            raise OperationalError("the connection was cut")

        with monkeypatch.context() as patch:
            patch.setattr(handlers, cut_at, cut)
            dispatch_due_effects()
        assert (WorkflowEffect.objects.get().status, left._default_manager.count()) == ("waiting", 0)
        WorkflowEffect.objects.update(due_at="2020-01-01T00:00Z")
        dispatch_due_effects()
        assert (WorkflowEffect.objects.get().status, left._default_manager.count()) == ("left", 1)


@pytest.mark.django_db(transaction=True)
class TestLineCutAtTheCommit:
    """The database has committed or not, and its answer is lost: nobody can tell."""

    @pytest.mark.parametrize("to", ["acme-phone", "acme-erp"])
    @pytest.mark.parametrize("is_committed", [True, False])
    def test_the_message_arrives_whole_and_once(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, to: str, is_committed: bool
    ) -> None:
        add_enterprise("acme")
        scene.begin(writes(to), enterprise="acme", order={"n": 1})
        with monkeypatch.context() as patch:
            patch.setattr(handlers, "_insert", cut_after(handlers._insert, patch, is_committed))
            dispatch_due_effects()
        assert Message.objects.count() == int(is_committed)
        WorkflowEffect.objects.filter(status="waiting").update(due_at="2020-01-01T00:00Z")
        dispatch_due_effects()
        (message,) = filter_readable(Message.objects.all())
        assert json.loads(path_of(message).read_bytes())["payload"] == {"n": 1}
        assert WorkflowEffect.objects.get().status == "left"


def cut_after(accept: Callable[[Message], None], patch: pytest.MonkeyPatch, is_committed: bool) -> Any:
    """Let the commit that follows the row end in an error, done or not."""
    commit = getattr(BaseDatabaseWrapper, "_commit")  # noqa: B009

    def cut(connection: Any) -> None:
        patch.setattr(BaseDatabaseWrapper, "_commit", commit)
        if is_committed:
            commit(connection)
        raise OperationalError("the connection was cut")

    def accept_and_cut(message: Message) -> None:
        accept(message)
        patch.setattr(BaseDatabaseWrapper, "_commit", cut)

    return accept_and_cut


class TestCall:
    def test_a_definition_of_another_enterprise_cannot_be_called(self, scene: Scene) -> None:
        add_enterprise("acme")
        add_enterprise("other")
        scene.publish(chain("called", user("a")), "other")
        calls = ("c", '<callActivity id="c" calledElement="called"/>')
        head = scene.begin(chain("p", calls), enterprise="acme")
        assert head.status == "incident"
