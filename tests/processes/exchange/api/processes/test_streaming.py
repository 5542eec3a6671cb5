"""The answer of API_1 that does not arrive whole: the process ends, and its messages are offered again."""

import asyncio
import errno
import os
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIHandler
from django.test import AsyncClient

from messaging.files.reader import Unreadable
from messaging.models import Message
from processes.exchange.models import ExchangeProcess
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import file_of, write_replies
from tests.processes.exchange.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

MEGABYTE = "x" * 1_048_576


def state(scene: Scene) -> tuple[str, str]:
    return ExchangeProcess.objects.get().status, scene.receipt("m1")["status"]


class TestRead:
    def test_comes_in_pieces_of_bounded_size(self, scene: Scene) -> None:
        scene.send("m1", MEGABYTE)
        headers = {"Authorization": f"Bearer {scene.keys[scene.database.pk]}"}

        async def start() -> list[int]:
            answer: Any = await AsyncClient().post(
                "/api/v1/exchange/processes/", {"version": 1}, content_type="application/json", headers=headers
            )
            assert answer.is_async, "a synchronous iterator would be gathered whole"
            return [len(piece) async for piece in answer]

        pieces = async_to_sync(start)()
        assert len(pieces) > 10
        assert max(pieces) < 2 * 65_536
        assert state(scene) == ("STARTED", "in_process")


class TestCut:
    def test_disk_that_fails_in_mid_stream(self, scene: Scene) -> None:
        scene.send("m1", MEGABYTE)
        with failing(errno.EIO, names=["read"], at=5), pytest.raises(OSError, match="Input/output"):
            scene.start()
        assert state(scene) == ("INTERRUPTED", "waiting")
        assert Message.objects.get().setbacks == 0, "it was our disk"
        assert scene.start()["status"] == "OK"

    def test_file_shortened_after_the_check(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.send("m1", MEGABYTE)

        def shorten(messages: Any) -> list[Any]:
            os.truncate(file_of(scene, "m1"), 500_000)
            return list(messages)

        with monkeypatch.context() as patch:
            patch.setattr("processes.exchange.services.start.filter_readable", shorten)
            with pytest.raises(Unreadable):
                scene.start()
        assert state(scene) == ("INTERRUPTED", "incorrect")
        assert scene.receipt("m1")["error_code"] == "unreadable"

    def test_file_that_can_never_be_read_to_its_end_blocks_nobody(self, scene: Scene) -> None:
        scene.send("m1", MEGABYTE)
        with failing(errno.EIO, names=["read"], at=5, times=100), pytest.raises(OSError, match="Input/output"):
            scene.start()
        assert state(scene) == ("INTERRUPTED", "incorrect")
        scene.send("m2")
        assert [message["id"] for message in scene.start()["messages"]] == ["m2"]

    def test_reply_that_can_never_be_read_to_its_end_blocks_nobody(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1", payload=MEGABYTE), scene.reply("r2"))
        with failing(errno.EIO, names=["read"], at=5, times=3), pytest.raises(OSError, match="Input/output"):
            scene.fetch()
        assert [message["id"] for message in scene.fetch()] == ["r2"]


@pytest.mark.django_db(transaction=True)
class TestHangUp:
    @pytest.mark.parametrize("pieces", [0, 1, 3])
    def test_caller_that_hangs_up(self, scene: Scene, pieces: int) -> None:
        scene.send("m1", MEGABYTE)
        async_to_sync(hang_up)(scene, after=pieces)
        assert state(scene) == ("INTERRUPTED", "waiting")
        assert "not received in full" in scene.process(str(ExchangeProcess.objects.get().pk))["log"][-1]["text"]
        assert Message.objects.get().setbacks == 1, "the ERP may have died of it"

    def test_caller_that_hangs_up_when_it_has_all_goes_on(self, scene: Scene) -> None:
        scene.send("m1")
        async_to_sync(hang_up)(scene, after=100)
        assert state(scene) == ("STARTED", "in_process")


async def hang_up(scene: Scene, *, after: int) -> None:
    """Call API_1 as a server does, and be gone after so many pieces of the answer, or when it is complete."""
    gone, pieces = asyncio.Event(), 0
    bodies = [{"type": "http.request", "body": b'{"version":1}', "more_body": False}]

    async def receive() -> Any:
        if bodies:
            return bodies.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal pieces
        if message["type"] == "http.response.body":
            pieces += 1
        if pieces > after or not message.get("more_body", True):
            gone.set()
            await asyncio.sleep(0.1)

    headers = [(b"authorization", f"Bearer {scene.keys[scene.database.pk]}".encode()), (b"host", b"127.0.0.1")]
    headers.append((b"content-type", b"application/json"))
    scope: Any = {"type": "http", "method": "POST", "path": "/api/v1/exchange/processes/", "query_string": b""}
    # `handle` stays in this thread, whose connection the test closes.
    await ASGIHandler().handle({**scope, "headers": headers, "http_version": "1.1", "scheme": "http"}, receive, send)
