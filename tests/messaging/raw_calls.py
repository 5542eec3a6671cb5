"""What the tests of the calls have in common: answers as bytes, files as they lie, messages that a database wrote."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.test import Client

from tests.processes.exchange.scene import Answer, Scene, gather, move_files


def call_raw(scene: Scene, method: str, path: str, text: bytes = b"", *, of: str = "") -> tuple[int, bytes]:
    """Make a call and return the answer as it came over the line."""
    headers = {"Authorization": f"Bearer {scene.keys[of or scene.database.pk]}"}
    response: Any = Client().generic(method, f"/api/v1{path}", text, content_type="application/json", headers=headers)
    return response.status_code, gather(response.streaming_content) if response.streaming else response.content


def send_raw(scene: Scene, payload: bytes, *, id: str = "m1") -> tuple[int, bytes]:
    """Send a payload of exactly these bytes."""
    body = b'{"version":1,"id":"%s","to":"%s","payload":%s}' % (id.encode(), scene.database.pk.encode(), payload)
    return call_raw(scene, "POST", "/messages/", body, of=scene.device.pk)


def file_of(scene: Scene, id: str, folder: str = "Messages", *, database: str = "") -> Path:
    """Return the one file of a message in a folder."""
    path: Path = settings.DATA_DIR / "messages" / (database or scene.database.pk) / folder
    (found,) = path.glob(f"*_{id}_*.json")
    return found


def drafts(scene: Scene) -> list[str]:
    root: Path = settings.DATA_DIR / "messages" / scene.database.pk
    return sorted(path.name for path in root.glob("*/.draft-*"))


def write_replies(scene: Scene, *replies: Answer, id: str = "q1") -> str:
    """Let the database answer a message with these replies; each reaches its device's queue. Return the process."""
    scene.send(id)
    process = str(scene.start()["process_id"])
    assert scene.prepare(process, {id: "PROCESSED"}, *replies) == "OK"
    assert scene.step(process, "commit") == "OK"
    move_files()
    return process
