"""What the services of the parties promise beside REST: the log, the revert, who wins when two are at it at once."""

from collections.abc import Callable
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from config.audit.changes import NotRevertible, revert_change
from config.common.errors import ApplicationError, Invalid
from config.records.models import AccessKey, ChangeRecord
from messaging.errors import SubsystemInUse
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.services.databases import create_database, rotate_database_key, update_database
from messaging.services.devices import create_device, deactivate_device, rotate_device_key, update_device
from messaging.services.enterprises import create_enterprise, deactivate_enterprise, update_enterprise
from messaging.services.subsystems import create_subsystem, delete_subsystem, update_subsystem
from notifications.models import Event
from tests.messaging.parties import key_of, make_database, make_device, make_enterprise, make_subsystem

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]


def newest_change(kind: str) -> ChangeRecord:
    return ChangeRecord.objects.filter(kind=kind)[:1].get()


def revert(kind: str) -> None:
    revert_change(change_id=newest_change(kind).pk, actor="rita")


class TestLog:
    def test_tells_of_a_new_device_all_but_its_key(self) -> None:
        make_subsystem()
        made = create_device(device_id="phone", enterprise="acme", subsystem="stock", name=" Phone ", actor="anna")
        change, event = newest_change("device"), Event.objects.get()
        values = {"enterprise": "acme", "subsystem": "stock", "name": "Phone", "active": True}
        assert (change.actor, change.action, change.object_id, change.after) == ("anna", "created", "phone", values)
        assert (event.type, event.subject) == ("registry.created", "device/phone")
        assert event.payload == {"kind": "device", "id": "phone", "changed": list(values), "values": values}
        assert made.text[12:] not in str([event.payload, *ChangeRecord.objects.values_list("after", flat=True)])

    def test_the_key_goes_by_the_id_whatever_the_name(self) -> None:
        make_enterprise()
        create_database(database_id="erp", enterprise="acme", name="line one\nline two", actor="anna")
        assert AccessKey.objects.get().name == "database erp"

    def test_what_is_refused_leaves_nothing(self) -> None:
        make_subsystem()
        with pytest.raises(Invalid):
            create_device(enterprise="acme", subsystem="stock", name="x" * 201, actor="anna")
        assert [model.objects.count() for model in (Device, AccessKey, ChangeRecord, Event)] == [0, 0, 0, 0]


class TestRevert:
    def test_takes_back_a_new_name(self) -> None:
        make_enterprise(name="Acme")
        update_enterprise(enterprise_id="acme", name="Acne", actor="anna")
        revert("enterprise")
        assert Enterprise.objects.get().name == "Acme"

    def test_wakes_up_what_was_deactivated(self) -> None:
        make_enterprise()
        deactivate_enterprise(enterprise_id="acme", actor="anna")
        revert("enterprise")
        assert Enterprise.objects.get().active

    def test_moves_a_device_back(self) -> None:
        make_device(subsystem="stock")
        make_subsystem("sales")
        update_device(device_id="phone", subsystem="sales", actor="anna")
        revert("device")
        assert Device.objects.get().subsystem_id == "stock"

    def test_does_not_move_it_into_a_subsystem_that_is_gone(self) -> None:
        make_device(subsystem="stock")
        make_subsystem("sales")
        update_device(device_id="phone", subsystem="sales", actor="anna")
        delete_subsystem(subsystem_id="stock", actor="anna")
        with pytest.raises(Invalid):
            revert_change(change_id=newest_change("device").pk, actor="rita")
        assert Device.objects.get().subsystem_id == "sales"

    def test_a_registration_is_taken_back_by_deactivation(self) -> None:
        make_enterprise()
        create_database(database_id="erp", enterprise="acme", name="ERP", actor="anna")
        revert("database")
        assert not ExchangeDatabase.objects.get().active

    def test_of_nothing_that_is_left_to_take_back_is_refused(self) -> None:
        make_enterprise()
        create_database(database_id="erp", enterprise="acme", name="ERP", active=False, actor="anna")
        with pytest.raises(NotRevertible):
            revert("database")

    def test_a_subsystem_comes_and_goes(self) -> None:
        make_enterprise()
        create_subsystem(subsystem_id="sales", enterprise="acme", name="Sales", actor="anna")
        revert("subsystem")
        assert not Subsystem.objects.exists()
        revert("subsystem")
        assert Subsystem.objects.get().name == "Sales"
        update_subsystem(subsystem_id="sales", name="Shop", actor="anna")
        revert("subsystem")
        assert Subsystem.objects.get().name == "Sales"

    def test_a_subsystem_that_is_used_by_now_does_not_go(self) -> None:
        make_enterprise()
        create_subsystem(subsystem_id="stock", enterprise="acme", name="Stock", actor="anna")
        make_device()
        with pytest.raises(SubsystemInUse):
            revert("subsystem")


class TestCreateKeyCommand:
    @pytest.mark.parametrize("kind", ["device", "database"])
    def test_prints_a_key_of_the_party(self, kind: str) -> None:
        make_device("phone"), make_database("erp")
        party = {"device": "phone", "database": "erp"}[kind]
        out = StringIO()
        call_command("create_key", "gate", f"--{kind}", party, "--expires", "2", stdout=out)
        key = AccessKey.objects.get()
        assert (key.kind, key.subject, out.getvalue().strip()[:11]) == (kind, party, key.prefix)

    @pytest.mark.parametrize("kind", ["device", "database"])
    def test_refuses_a_party_that_is_not_there(self, kind: str) -> None:
        with pytest.raises(CommandError, match="subject"):
            call_command("create_key", "gate", f"--{kind}", "nobody")


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_of_eight_with_one_id_one_is_registered(self, in_threads: Threads) -> None:
        make_subsystem()

        def register(number: int) -> str:
            return outcome(
                lambda: create_device(
                    device_id="phone", enterprise="acme", subsystem="stock", name=f"{number}", actor="a"
                )
            )

        assert sorted(in_threads(register, 8)) == ["device_exists"] * 7 + ["done"]
        assert (Device.objects.count(), AccessKey.objects.count()) == (1, 1)

    def test_a_device_and_a_database_never_get_the_same_id(self, in_threads: Threads) -> None:
        make_subsystem()

        def register(number: int) -> list[str]:
            return [outcome(partial(take_id, f"id-{n}", as_device=number % 2 == 0)) for n in range(20)]

        outcomes = in_threads(register, 4)
        assert [sum(each[n] == "done" for each in outcomes) for n in range(20)] == [1] * 20
        assert Device.objects.count() + ExchangeDatabase.objects.count() == 20

    def test_of_rotations_at_once_the_last_key_alone_works(self, in_threads: Threads) -> None:
        key_of(make_device())
        in_threads(lambda number: rotate_device_key(device_id="phone", actor="a"), 6)
        assert (AccessKey.objects.count(), AccessKey.objects.filter(ended_at=None).count()) == (7, 1)

    def test_a_subsystem_is_not_deleted_under_a_new_device(self, in_threads: Threads) -> None:
        for n in range(10):
            make_subsystem(f"s{n}")

        def race(number: int) -> list[str]:
            return [outcome(partial(use_or_delete, n, delete=number == 0)) for n in range(10)]

        deleted, used = in_threads(race, 2)
        assert set(zip(deleted, used, strict=True)) <= {("done", "invalid"), ("subsystem_in_use", "done")}


def take_id(party_id: str, *, as_device: bool) -> None:
    if as_device:
        create_device(device_id=party_id, enterprise="acme", subsystem="stock", name="x", actor="a")
    else:
        create_database(database_id=party_id, enterprise="acme", name="x", actor="a")


def use_or_delete(n: int, *, delete: bool) -> None:
    if delete:
        delete_subsystem(subsystem_id=f"s{n}", actor="a")
    else:
        create_device(device_id=f"d{n}", enterprise="acme", subsystem=f"s{n}", name="x", actor="a")


def outcome(act: Callable[[], Any]) -> str:
    try:
        act()
    except ApplicationError as error:
        return error.code
    return "done"


class TestUpdate:
    def test_of_two_fields_both_are_kept_when_changed_one_after_the_other(self) -> None:
        make_database()
        update_database(database_id="erp", name="One", actor="a")
        update_database(database_id="erp", active=False, actor="a")
        database = ExchangeDatabase.objects.get()
        assert (database.name, database.active) == ("One", False)

    def test_deactivating_again_is_told_once(self) -> None:
        make_device()
        for _ in range(2):
            deactivate_device(device_id="phone", actor="a")
        assert list(Event.objects.values_list("type", flat=True)) == ["registry.deleted"]

    def test_an_inactive_database_may_get_a_new_key(self) -> None:
        make_database(active=False)
        assert rotate_database_key(database_id="erp", actor="a").text.startswith("pb_")

    def test_an_enterprise_gets_an_id_where_none_is_given(self) -> None:
        assert create_enterprise(name="Acme", actor="a") == Enterprise.objects.get().pk
