"""The calls about enterprises, devices, databases and messages, as the OpenAPI document shows them."""

import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings

from messaging.services.send import check_addressee
from tests.api_examples import Tour
from tests.processes.exchange.scene import move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _own_folders() -> Iterator[None]:
    """Files do not roll back with the test's transaction."""
    yield
    check_addressee.cache_clear()
    shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


def test_the_examples_are_what_the_calls_answer() -> None:
    tour = Tour("messaging.api")
    device, database = show_parties(tour)
    show_messages(tour, device, database)
    show_ends(tour)
    tour.check()


def show_parties(tour: Tour) -> tuple[str, str]:
    tour.show("An enterprise", "POST", "/enterprises/", {"id": "acme", "name": "Acme"})
    tour.show("A subsystem of it", "POST", "/subsystems/", {"id": "acme-sales", "enterprise": "acme", "name": "Sales"})
    phone = {"id": "acme-phone", "enterprise": "acme", "subsystem": "acme-sales", "name": "Phone of the shop"}
    device = tour.show("A phone", "POST", "/devices/", phone)["key"]
    database = tour.show("An ERP", "POST", "/databases/", {"id": "acme-erp", "enterprise": "acme", "name": "ERP"})[
        "key"
    ]
    tour.call("POST", "/subsystems/", {"id": "acme-old", "enterprise": "acme", "name": "Old"})
    tour.show("All enterprises", "GET", "/enterprises/")
    tour.show("Subsystems of one enterprise", "GET", "/subsystems/?enterprise=acme")
    tour.show("Devices of one subsystem", "GET", "/devices/?subsystem=acme-sales")
    tour.show("Databases of one enterprise", "GET", "/databases/?enterprise=acme")
    tour.show("One enterprise", "GET", "/enterprises/acme/")
    tour.show("One subsystem", "GET", "/subsystems/acme-sales/")
    tour.show("One device", "GET", "/devices/acme-phone/")
    tour.show("One database", "GET", "/databases/acme-erp/")
    tour.show("Another name", "PATCH", "/enterprises/acme/", {"name": "Acme Doors"})
    tour.show("Another name", "PATCH", "/subsystems/acme-sales/", {"name": "Sales and service"})
    tour.show("Another name", "PATCH", "/devices/acme-phone/", {"name": "Phone of the warehouse"})
    tour.show("Another name", "PATCH", "/databases/acme-erp/", {"name": "Main ERP"})
    return device, database


def show_messages(tour: Tour, device: str, database: str) -> None:
    sent = {"version": 1, "id": "order-17", "to": "acme-erp", "payload": {"order": 17, "doors": 2}}
    tour.show("An order", "POST", "/messages/", sent, key=device)
    tour.show("The same again, as no answer had come", "POST", "/messages/", sent, key=device)
    tour.show("What became of it", "GET", "/messages/order-17/receipt/", key=device)
    reason = {"version": 1, "enterprise": "acme", "reason": "the ERP dies of it"}
    tour.show("The ERP dies of it", "POST", "/messages/order-17/set-aside/", reason)
    reason = {"version": 1, "enterprise": "acme", "reason": "the ERP has been mended"}
    tour.show("The ERP has been mended", "POST", "/messages/order-17/bring-back/", reason)
    reply_to_order(tour, database)
    tour.show("What has come for the phone", "GET", "/messages/?limit=10", key=device)
    tour.show("It is stored", "POST", "/messages/reply-17/confirm/", {"version": 1}, key=device)


def reply_to_order(tour: Tour, database: str) -> None:
    """Let the ERP process the order and reply to it."""
    process = tour.call("POST", "/exchange/processes/", {"version": 1}, key=database)["process_id"]
    done = [{"message": "order-17", "status": "PROCESSED"}]
    reply = {"id": "reply-17", "to": "acme-phone", "reply_to": "order-17", "payload": {"order": 17, "is": "shipped"}}
    path = f"/exchange/processes/{process}"
    tour.call("POST", f"{path}/prepare/", {"version": 1, "results": done, "replies": [reply]}, key=database)
    tour.call("POST", f"{path}/commit/", {"version": 1}, key=database)
    move_files()


def show_ends(tour: Tour) -> None:
    tour.show("A new key", "POST", "/devices/acme-phone/rotate-key/")
    tour.show("A new key", "POST", "/databases/acme-erp/rotate-key/")
    tour.show("A subsystem that nobody uses", "DELETE", "/subsystems/acme-old/")
    tour.show("The phone was lost", "DELETE", "/devices/acme-phone/")
    tour.show("The ERP was replaced", "DELETE", "/databases/acme-erp/")
    tour.show("The enterprise has ended", "DELETE", "/enterprises/acme/")
