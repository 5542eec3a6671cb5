"""An enterprise of its own in the installation, with a device and an ERP that are driven call by call."""

import json
import urllib.request
from typing import Any

from playwright.sync_api import Page

Answer = dict[str, Any]


class Exchange:
    """Registered through the session of a page, then called with the keys that the registration gave."""

    def __init__(self, page: Page, address: str, name: str) -> None:
        self._page, self._address, self._name = page, address, name
        self._register("enterprises", id=name, name=f"Enterprise {name}")
        self._register("subsystems", id=f"{name}-sales", enterprise=name, name="Sales")
        self.device = self._register(
            "devices", id=f"{name}-phone", enterprise=name, subsystem=f"{name}-sales", name="Phone"
        )
        self.database = self._register("databases", id=f"{name}-erp", enterprise=name, name=f"ERP of {name}")

    def send(self, message: str) -> None:
        body = {"id": message, "to": self.database["id"], "payload": {"count": 3}}
        self._call("messages/", body, key=self.device["key"])

    def start(self) -> str:
        """API_1."""
        return str(self._call("exchange/processes/", {}, key=self.database["key"])["process_id"])

    def step(self, process: str, name: str, **body: Any) -> None:
        """API_2 to API_7."""
        answer = self._call(f"exchange/processes/{process}/{name}/", body, key=self.database["key"])
        assert answer["status"] == "OK", answer

    def prepare(self, process: str, *messages: str) -> None:
        results = [{"message": message, "status": "PROCESSED"} for message in messages]
        self.step(process, "prepare", results=results)

    def _register(self, kind: str, **fields: str) -> Answer:
        cookies = {cookie["name"]: cookie["value"] for cookie in self._page.context.cookies(self._address)}
        headers = {"X-CSRFToken": cookies["csrftoken"], "Referer": f"{self._address}/"}
        answer = self._page.request.post(f"{self._address}/api/v1/{kind}/", data=fields, headers=headers)
        assert answer.status == 201, answer.text()
        return dict(answer.json())

    def _call(self, path: str, body: Answer, *, key: str) -> Answer:
        text = json.dumps({"version": 1, **body}).encode()
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._address}/api/v1/{path}", text, headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return dict(json.load(answer))
