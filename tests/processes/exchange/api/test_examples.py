"""The calls of an exchange, as the OpenAPI document shows them."""

from typing import Any

import pytest

from tests.api_examples import Tour
from tests.processes.exchange.scene import Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
PROCESSES = "/exchange/processes"


class Erp:
    """A database that shows its calls."""

    def __init__(self, scene: Scene) -> None:
        self.tour, self.scene, self.key = Tour("processes.exchange.api"), scene, scene.keys[scene.database.pk]

    def show(self, title: str, method: str, path: str, **fields: Any) -> Any:
        body = {"version": 1, **fields} if method == "POST" else None
        return self.tour.show(title, method, f"{PROCESSES}{path}", body, key=self.key)

    def begin(self, message: str) -> str:
        """Begin a process with one message, which is sent for it."""
        self.scene.send(message, {"order": 17})
        return str(self.scene.start()["process_id"])


def test_the_examples_are_what_the_calls_answer(scene: Scene) -> None:
    erp = Erp(scene)
    show_success(erp)
    show_failures(erp)
    erp.tour.check()


def show_success(erp: Erp) -> None:
    erp.show("Nothing waits", "POST", "/")
    erp.scene.send("order-17", {"order": 17})
    erp.scene.send("order-18", {"order": 18})
    started = erp.show("Two orders wait", "POST", "/", max_files=10, request_id="erp-1.2026-11-18.0042")
    erp.show("The lane is held", "POST", "/", request_id="erp-2.2026-11-18.0001")
    process = started["process_id"]
    erp.show("The first order alone", "POST", f"/{process}/accept/", messages=["order-17"])
    results = [{"message": "order-17", "status": "PROCESSED"}]
    reply = {"id": "reply-17", "to": "acme-phone", "reply_to": "order-17", "payload": {"order": 17, "is": "shipped"}}
    erp.show("Processed, with a reply", "POST", f"/{process}/prepare/", results=results, replies=[reply])
    erp.show("The ERP has committed", "POST", f"/{process}/commit/")
    move_files()
    erp.show("A process that is done", "GET", f"/{process}/")
    erp.show("The newest process", "GET", "/?limit=1")


def show_failures(erp: Erp) -> None:
    process = str(erp.scene.start()["process_id"])
    erp.scene.prepare(process, {"order-18": "PROCESSED"})
    erp.show("The ERP could not commit", "POST", f"/{process}/rollback/", error_text="deadlock in the ledger")
    process = str(erp.scene.start()["process_id"])
    erp.show("The ERP is shut down", "POST", f"/{process}/interrupt/", text="maintenance")
    process = str(erp.scene.start()["process_id"])
    erp.show("The ERP was restarted", "POST", f"/{process}/abandon/", text="the ERP was restarted")
    erp.show("It has been decided already", "POST", f"/{process}/commit/")
    process = str(erp.scene.start()["process_id"])
    erp.scene.prepare(process, {"order-18": "PROCESSED"})
    erp.show("It was committed", "POST", f"/{process}/resolve/", committed=True)
    move_files()
    process = erp.begin("order-19")
    reason = {"version": 1, "reason": "its server has burnt down"}
    erp.tour.show("The ERP is gone", "POST", f"{PROCESSES}/{process}/end/", reason)
