import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.audit.changes import NotRevertible, revert_change
from config.common.encryption import decrypt
from config.common.errors import Invalid
from config.records.models import ChangeRecord
from notifications.models import Delivery, Endpoint, Event
from sensors.errors import ClientNotFound
from sensors.models import Client
from sensors.services.clients import (
    create_client,
    deactivate_client,
    pause_client,
    resume_client,
    rotate_secret,
    update_client,
    values_of,
)
from tests.sensors.registry import make_client, make_delivery

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestCreateClient:
    def test_makes_an_endpoint_with_an_encrypted_secret(self) -> None:
        made = create_client(name=" watch ", url="https://watch.example/hook", actor="anna")
        client, endpoint = Client.objects.get(), Endpoint.objects.get()
        assert (client.pk, client.name, endpoint.url) == (made.client_id, "watch", "https://watch.example/hook")
        assert made.text.encode() not in bytes(endpoint.secret)
        assert decrypt(bytes(endpoint.secret)).decode() == made.text
        assert len(base64.b64decode(made.text.removeprefix("whsec_"))) == 32

    def test_is_logged_and_told_without_its_secret(self) -> None:
        made = create_client(name="watch", url="https://watch.example/", actor="anna")
        change, event = ChangeRecord.objects.get(), Event.objects.get()
        assert (change.kind, change.object_id, change.action) == ("client", str(made.client_id), "created")
        assert (event.type, event.subject) == ("registry.created", f"client/{made.client_id}")
        assert made.text[6:] not in str([change.after, event.payload])

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "watch.example",
            "ftp://watch.example/",
            "https://",
            "https:///hook",
            "https://anna@watch.example/",
            "https://anna:word@watch.example/",
            "https://watch.example:99999/",
            "https://[::1/",
            "https://watch.example/a b",
            "https://watch.example\\@evil.example/",
            "https://watch.example/\n/hook",
            "javascript:alert(1)",
            "https://watch.example/" + "a" * 479,
        ],
    )
    def test_a_url_that_breaks_the_rule_is_refused(self, url: str) -> None:
        with pytest.raises(Invalid) as error:
            create_client(name="watch", url=url, actor="anna")
        assert list(error.value.data["fields"]) == ["url"]

    @pytest.mark.parametrize(
        "url", ["http://127.0.0.1:8000/", "HTTPS://[::1]/hook?a=b", "https://watch.example/" + "a" * 478]
    )
    def test_a_url_that_keeps_it_is_taken(self, url: str) -> None:
        create_client(name="watch", url=url, actor="anna")
        assert Endpoint.objects.get().url == url


class TestUpdateClient:
    def test_changes_what_is_named(self) -> None:
        client = make_client()
        update_client(client_id=client.pk, url="https://new.example/", actor="anna")
        change = ChangeRecord.objects.get()
        assert Endpoint.objects.get().url == "https://new.example/"
        assert change.before | {"url": "https://new.example/"} == change.after

    def test_what_is_as_it_was_leaves_no_trace(self) -> None:
        client = make_client()
        update_client(client_id=client.pk, name="watch", active=True, paused=False, actor="anna")
        assert (ChangeRecord.objects.count(), Event.objects.count()) == (0, 0)

    def test_of_nobody_is_an_error(self) -> None:
        for client_id in (4711, 2**63, 0):
            with pytest.raises(ClientNotFound):
                update_client(client_id=client_id, name="x", actor="anna")

    def test_wakes_up_a_client_whose_endpoint_was_switched_off(self) -> None:
        client = make_client()
        Endpoint.objects.update(active=False)
        update_client(client_id=client.pk, active=True, actor="anna")
        assert Endpoint.objects.get().active
        assert ChangeRecord.objects.get().before["active"] is False


class TestDeactivateClient:
    def test_cancels_what_it_is_owed_and_nothing_of_others(self) -> None:
        client, other = make_client("one"), make_client("two")
        make_delivery("0xA", client)
        make_delivery("0xB", client)
        make_delivery("0xA", client, status="delivered", due_at=None)
        make_delivery("0xA", other)
        deactivate_client(client_id=client.pk, actor="anna")
        cancelled = Delivery.objects.filter(status="cancelled")
        assert (
            list(cancelled.values_list("endpoint_id", "reason")) == [(client.endpoint_id, "the client is inactive")] * 2
        )
        assert Delivery.objects.filter(status="pending").get().endpoint_id == other.endpoint_id
        assert Event.objects.get().type == "registry.deleted"

    def test_again_changes_nothing(self) -> None:
        client = make_client()
        for _ in range(2):
            deactivate_client(client_id=client.pk, actor="anna")
        assert ChangeRecord.objects.count() == 1


class TestPauseAndResume:
    def test_are_changes_of_the_endpoint(self) -> None:
        client = make_client()
        pause_client(client_id=client.pk, actor="anna")
        assert Endpoint.objects.get().paused
        resume_client(client_id=client.pk, actor="anna")
        assert not Endpoint.objects.get().paused
        assert [change.after["paused"] for change in ChangeRecord.objects.order_by("id")] == [True, False]


class TestRotateSecret:
    def test_the_old_one_stays_for_a_day(self) -> None:
        client = make_client()
        made = rotate_secret(client_id=client.pk, actor="anna")
        endpoint = Endpoint.objects.get()
        assert decrypt(bytes(endpoint.secret)).decode() == made.text
        assert decrypt(bytes(endpoint.old_secret)) == b"secret"
        left = endpoint.old_secret_until - timezone.now()
        assert timedelta(hours=23, minutes=59) < left <= timedelta(hours=24)

    def test_is_logged_as_a_time_alone(self) -> None:
        client = make_client()
        made = rotate_secret(client_id=client.pk, actor="anna")
        change = ChangeRecord.objects.get()
        assert [name for name in change.after if change.after[name] != change.before[name]] == ["rotated_at"]
        assert made.text[6:] not in str(change.after)

    def test_cannot_be_taken_back(self) -> None:
        client = make_client()
        rotate_secret(client_id=client.pk, actor="anna")
        with pytest.raises(NotRevertible):
            revert_change(change_id=ChangeRecord.objects.get().pk, actor="anna")


class TestRevert:
    @pytest.mark.parametrize(
        "edits",
        [{"name": "new"}, {"active": False}, {"paused": True}, {"muted_until": datetime(2030, 1, 1, tzinfo=UTC)}],
        ids=["name", "active", "paused", "muted_until"],
    )
    def test_puts_back_what_was(self, edits: dict[str, Any]) -> None:
        client = make_client()
        before = values_of(client)
        update_client(client_id=client.pk, actor="anna", **edits)
        revert_change(change_id=ChangeRecord.objects.get().pk, actor="boris")
        assert values_of(Client.objects.get()) == before

    def test_a_registration_is_taken_back_by_deactivation(self) -> None:
        create_client(name="watch", url="https://watch.example/", actor="anna")
        revert_change(change_id=ChangeRecord.objects.get().pk, actor="boris")
        assert not values_of(Client.objects.get()).active

    def test_a_change_from_before_a_rotation_can_still_be_taken_back(self) -> None:
        client = make_client()
        update_client(client_id=client.pk, name="new", actor="anna")
        change = ChangeRecord.objects.get()
        rotate_secret(client_id=client.pk, actor="anna")
        revert_change(change_id=change.pk, actor="anna")
        assert Client.objects.get().name == "watch"


@pytest.mark.django_db(transaction=True)
def test_changes_of_one_client_follow_each_other(in_threads: Callable[..., list[None]]) -> None:
    client = make_client()
    in_threads(lambda n: update_client(client_id=client.pk, name=f"name {n}", actor=str(n)), 6)
    changes = list(ChangeRecord.objects.order_by("id"))
    events = list(Event.objects.order_by("id"))
    assert [change.after for change in changes] == [event.payload["values"] for event in events]
    assert changes[-1].after["name"] == Client.objects.get().name
