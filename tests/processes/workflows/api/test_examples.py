"""The calls about workflows, as the OpenAPI document shows them."""

from typing import Any

import pytest

from notifications.models import Delivery
from processes.workflows.services.batches.run import run_due_batches
from processes.workflows.services.effects.dispatch import dispatch_due_effects
from processes.workflows.services.effects.handlers import WEBHOOK_TYPE
from processes.workflows.services.shadow.follow import follow_shadows
from processes.workflows.visits.fold import fold_visits
from tests.api_examples import Tour
from tests.processes.workflows.decision_files import DISCOUNT
from tests.processes.workflows.process_files import chain, service, user
from tests.staff import member_of

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
INSTANCES, DEFINITIONS, EXTERNAL = "/workflows/instances", "/workflows/definitions", "/workflows/external-tasks"
BATCHES = "/workflows/batches"


def test_the_examples_are_what_the_calls_answer(diagram: bytes) -> None:
    tour = Tour("processes.workflows.api")
    show_definitions(tour, diagram)
    show_instances(tour)
    show_batches(tour)
    show_external_tasks(tour)
    show_decisions(tour)
    show_shadow(tour)
    event = {"type": "custom.order_paid", "id": "bank-4711", "record": "order-17", "payload": {"sum": 99.5}}
    tour.show("An order has been paid", "POST", "/workflows/events/", event)
    note_webhook(tour)
    tour.check()


@pytest.fixture
def diagram() -> bytes:
    """A file that holds a diagram, though a small one."""
    inner = (
        '<bpmndi:BPMNDiagram xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI"'
        ' xmlns:dc="http://www.omg.org/spec/DD/20100524/DC"><bpmndi:BPMNPlane bpmnElement="order">'
        '<bpmndi:BPMNShape bpmnElement="check"><dc:Bounds x="10" y="10" width="100" height="80"/></bpmndi:BPMNShape>'
        "</bpmndi:BPMNPlane></bpmndi:BPMNDiagram></definitions>"
    )
    return chain("order", user("check"), user("ship")).replace(b"</definitions>", inner.encode())


def show_definitions(tour: Tour, source: bytes) -> None:
    tour.show("An order is checked and shipped", "POST", f"{DEFINITIONS}/", {"source": source.decode()})
    tour.show("All definitions", "GET", f"{DEFINITIONS}/")
    tour.show("All revisions", "GET", f"{DEFINITIONS}/order/revisions/")
    tour.show("The first revision", "GET", f"{DEFINITIONS}/order/revisions/1/")
    tour.show("Its diagram", "GET", f"{DEFINITIONS}/order/revisions/1/diagram.svg")
    steps = [{"complete": "check"}, {"expect": {"tasks": ["ship"], "status": "active"}}]
    tour.show(
        "What is expected of an order",
        "PUT",
        f"{DEFINITIONS}/order/scenarios/",
        {"scenarios": [{"name": "a good order", "variables": {"doors": 2}, "steps": steps}]},
    )
    tour.show("What is expected", "GET", f"{DEFINITIONS}/order/scenarios/")
    tour.show("All scenarios, played against the latest revision", "POST", f"{DEFINITIONS}/order/scenarios/run/", {})


def show_shadow(tour: Tour) -> None:
    tour.call("PUT", f"{DEFINITIONS}/order/scenarios/", {"scenarios": []})
    for revision, step, way in ((2, "pack", "promote"), (3, "weigh", "discard")):
        source = chain("order", user("check"), user(step), user("ship")).decode()
        tour.call("POST", f"{DEFINITIONS}/?shadow=true", {"source": source})
        if way == "promote":
            made = tour.call("POST", f"{INSTANCES}/", {"definition": "order", "record": "order-19"})
            body = {"command": "complete_task", "task": made["tasks"][0]["id"]}
            tour.call("POST", f"{INSTANCES}/{made['id']}/commands/", body)
            follow_shadows()
            tour.show("A revision that packs before it ships", "GET", f"{DEFINITIONS}/order/shadow/")
        tour.show("The trial is over", "POST", f"{DEFINITIONS}/order/shadow/{way}/", {"revision": revision})


def show_instances(tour: Tour) -> None:
    new = {"definition": "order", "record": "order-17", "variables": {"doors": 2}}
    made = tour.show("An order", "POST", f"{INSTANCES}/", new)
    path = f"{INSTANCES}/{made['id']}"
    fold_visits()
    tour.show("How often and how long, ever", "GET", f"{DEFINITIONS}/order/revisions/1/figures/?period=all")
    tour.show("Open tasks", "GET", "/workflows/tasks/")
    task = f"/workflows/tasks/{made['tasks'][0]['id']}"
    for name in ("anna", "boris"):
        member_of("operator", name)
    tour.show("Anna has it", "POST", f"{task}/claim/", {"assignee": "anna"})
    tour.show("Boris has it instead", "POST", f"{task}/assign/", {"assignee": "boris"})
    tour.show("It is due on New Year", "POST", f"{task}/set/", {"due_at": "2030-01-01T00:00:00Z", "priority": 70})
    tour.show("Nobody has it", "POST", f"{task}/unclaim/")
    body: dict[str, Any] = {"command": "complete_task", "task": made["tasks"][0]["id"], "variables": {"checked": True}}
    tour.show("The order was checked", "POST", f"{path}/commands/", {**body, "expected_version": made["version"]})
    tour.show("One instance", "GET", f"{path}/")
    tour.show("Active instances of an order", "GET", f"{INSTANCES}/?status=active&record=order-17")
    tour.show("All versions", "GET", f"{path}/versions/")
    tour.show("The first version", "GET", f"{path}/versions/1/")
    tour.show("What the check has changed", "GET", f"{path}/diff/?from=1&to=2")
    back = {"version": 1, "reason": "the check was wrong"}
    tour.show("What a return would do", "POST", f"{path}/return/", {**back, "dry_run": True})
    tour.show("The order is checked again", "POST", f"{path}/return/", back)


def show_batches(tour: Tour) -> None:
    wanted = {"definition": "order", "element": "check", "variable": ["doors=2"]}
    body = {"operation": "set_variables", "filter": wanted, "variables": {"doors": 3}, "dry_run": True}
    made = tour.show("What if orders of two doors had three", "POST", f"{BATCHES}/", body)
    one = f"{BATCHES}/{made['id']}"
    run_due_batches()
    tour.show("How many would change", "GET", f"{one}/")
    tour.show("They have three doors", "POST", f"{one}/run/")
    run_due_batches()
    tour.show("What became of each", "GET", f"{one}/instances/?status=changed")
    tour.show("All batches", "GET", f"{BATCHES}/")
    other = tour.call("POST", f"{BATCHES}/", {**body, "variables": {"doors": 4}, "dry_run": False})
    tour.show("No order shall have four", "POST", f"{BATCHES}/{other['id']}/stop/")
    tour.show("They have two again", "POST", f"{one}/undo/", {"reason": "two doors are right"})
    run_due_batches()


def show_decisions(tour: Tour) -> None:
    tour.call("POST", f"{DEFINITIONS}/", {"source": DISCOUNT.decode()})
    body = {"variables": {"status": "silver", "total": 150}}
    tour.show("The discount of an order", "POST", "/workflows/decisions/discount/evaluate/", body)


def show_external_tasks(tour: Tour) -> None:
    source = chain("pay", service("charge", "external", "bank"))
    tour.call("POST", f"{DEFINITIONS}/", {"source": source.decode()})
    for record in ("order-17", "order-18"):
        tour.call("POST", f"{INSTANCES}/", {"definition": "pay", "record": record, "variables": {"sum": 99.5}})
    body = {"topic": "bank", "worker": "till-1", "max": 2, "lock_seconds": 30}
    first, second = tour.show("Work for the bank", "POST", f"{EXTERNAL}/fetch/", body)["results"]
    done = {"worker": "till-1", "variables": {"paid": True}}
    tour.show("It was paid", "POST", f"{EXTERNAL}/{first['id']}/complete/", done)
    kept = {"worker": "till-1", "lock_seconds": 600}
    tour.show("The bank needs ten minutes", "POST", f"{EXTERNAL}/{second['id']}/extend-lock/", kept)
    failed = {"worker": "till-1", "error": "the bank is closed", "retries": 2, "delay": 600}
    tour.show("Again in ten minutes", "POST", f"{EXTERNAL}/{second['id']}/fail/", failed)


def note_webhook(tour: Tour) -> None:
    client = tour.call("POST", "/clients/", {"name": "watch", "url": "https://watch.example/hook"})["id"]
    source = chain("inform", service("send", "webhook", client="client", payload="{'order': order}"))
    tour.call("POST", f"{DEFINITIONS}/", {"source": source.decode()})
    new = {"definition": "inform", "record": "order-17", "variables": {"client": client, "order": 17}}
    tour.call("POST", f"{INSTANCES}/", new)
    dispatch_due_effects()
    tour.note(WEBHOOK_TYPE, "What the client gets", Delivery.objects.get(type=WEBHOOK_TYPE).body)
