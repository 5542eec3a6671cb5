"""An enterprise with a device and a database, and the calls that both make."""

import json
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.test import Client

from config.access.keys import create_key
from config.common.background.work import get_work
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem

Answer = dict[str, Any]


class Scene:
    """One enterprise; its names begin alike, so that several can stand side by side."""

    def __init__(self, name: str = "acme") -> None:
        self.name = name
        self.enterprise = Enterprise.objects.create(id=name, name=name)
        self.subsystem = self.add_subsystem("sales")
        self.device = self.add_device("phone")
        self.database = ExchangeDatabase.objects.create(id=f"{name}-erp", enterprise=self.enterprise, name="ERP")
        self.keys = {self.database.pk: _key("database", self.database.pk)}
        self.keys[self.device.pk] = _key("device", self.device.pk)

    def add_subsystem(self, name: str) -> Subsystem:
        return Subsystem.objects.create(id=f"{self.name}-{name}", enterprise=self.enterprise, name=name)

    def add_device(self, name: str, subsystem: Subsystem | None = None) -> Device:
        device = Device.objects.create(id=f"{self.name}-{name}", subsystem=subsystem or self.subsystem, name=name)
        if hasattr(self, "keys"):
            self.keys[device.pk] = _key("device", device.pk)
        return device

    def call(self, method: str, path: str, body: Any = None, *, of: str = "", key: str = "") -> tuple[int, Answer]:
        """Make a call with the key of a device or database; return status and answer."""
        text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {key or self.keys[of or self.database.pk]}"}
        response: Any = Client().generic(
            method, f"/api/v1{path}", text, content_type="application/json", headers=headers
        )
        content = gather(response.streaming_content) if response.streaming else response.content
        return response.status_code, json.loads(content) if content else {}

    def send(self, id: str = "m1", payload: Any = None, *, of: str = "", **fields: Any) -> tuple[int, Answer]:
        body = {"version": 1, "id": id, "to": self.database.pk, "payload": payload, **fields}
        return self.call("POST", "/messages/", body, of=of or self.device.pk)

    def fetch(self, query: str = "", *, of: str = "") -> list[Answer]:
        status, answer = self.call("GET", f"/messages/{query}", of=of or self.device.pk)
        assert status == 200, answer
        return list(answer["messages"])

    def receipt(self, id: str = "m1", *, of: str = "") -> Answer:
        status, answer = self.call("GET", f"/messages/{id}/receipt/", of=of or self.device.pk)
        assert status == 200, answer
        return answer

    def start(self, **fields: Any) -> Answer:
        """API_1."""
        status, answer = self.call("POST", "/exchange/processes/", {"version": 1, **fields})
        assert status == 200, answer
        return answer

    def step(self, process: str, name: str, **fields: Any) -> str:
        """API_2 to API_7; return the status that the ERP hears."""
        status, answer = self.call("POST", f"/exchange/processes/{process}/{name}/", {"version": 1, **fields})
        assert status == 200, answer
        return str(answer["status"])

    def prepare(self, process: str, results: dict[str, str], *replies: Answer) -> str:
        """API_3 with a result for each message."""
        named = [
            {"message": id, "status": result, **({"error_text": "bad"} if result == "PROCESSED_INCORRECT" else {})}
            for id, result in results.items()
        ]
        return self.step(process, "prepare", results=named, replies=list(replies))

    def reply(self, id: str = "r1", **fields: Any) -> Answer:
        return {"id": id, "to": self.device.pk, "payload": {"is": "fine"}, **fields}

    def process(self, id: str) -> Answer:
        status, answer = self.call("GET", f"/exchange/processes/{id}/")
        assert status == 200, answer
        return answer

    def ready(self, result: str = "PROCESSED", *, id: str = "m1") -> str:
        """Send a message and take it to READY_TO_COMMIT with a reply; return the process."""
        self.send(id)
        process = str(self.start()["process_id"])
        reply = self.reply(f"r-{id}", reply_to=id)
        assert self.prepare(process, {id: result}, reply) == "OK"
        return process

    def files(self, folder: str) -> list[str]:
        """List the ids of the messages whose files lie in a folder."""
        path: Path = settings.DATA_DIR / "messages" / self.database.pk / folder
        return sorted(file.name.split("_")[1] for file in path.glob("*.json"))

    def folders(self) -> dict[str, list[str]]:
        """Return what lies where, empty folders left out."""
        return {folder: found for folder in Message.Folder.values if (found := self.files(folder))}


def move_files() -> None:
    """Do what workers do when they are rung."""
    for name in ("exchange.moves", "messages.moves"):
        while get_work(name).run_once():
            pass


def gather(chunks: Any) -> bytes:
    """Read a streamed answer to its end."""

    async def read(chunks: AsyncIterable[bytes]) -> bytes:
        return b"".join([chunk async for chunk in chunks])

    return async_to_sync(read)(chunks)


def _key(kind: str, subject: str) -> str:
    return create_key(name=subject, actor="test", kind=kind, subject=subject)[1]
