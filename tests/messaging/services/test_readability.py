"""Files that cannot be sent leave the queue with a reason."""

import errno
import os

import pytest
from django.db import transaction

from messaging.files.reader import Unreadable
from messaging.models import Message
from messaging.services.readability import filter_readable, stream_files
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import file_of
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import alerts

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def waiting(scene: Scene, *ids: str, payload: object = None) -> list[Message]:
    for id in ids:
        scene.send(id, payload)
    return list(Message.objects.order_by("id"))


class TestKeepReadable:
    def test_returns_those_that_can_be_read(self, scene: Scene) -> None:
        messages = waiting(scene, "m1", "m2", "m3")
        os.truncate(file_of(scene, "m2"), 1)
        with transaction.atomic():
            assert [message.public_id for message in filter_readable(messages)] == ["m1", "m3"]
        bad = Message.objects.get(public_id="m2")
        assert (bad.status, bad.folder, bad.moving_from) == ("incorrect", "Error", "Messages")
        assert (bad.error_code, bad.error_text[:10]) == ("unreadable", "it has 1 b")
        assert bad.settled_at is not None

    def test_touches_no_row_when_all_is_well(self, scene: Scene) -> None:
        messages = waiting(scene, "m1")
        before = Message.objects.values().get()
        filter_readable(messages)
        assert Message.objects.values().get() == before
        assert alerts("message.file") == []


class TestSendFiles:
    def test_looks_through_all_when_one_fails_half_way(self, scene: Scene) -> None:
        messages = waiting(scene, "m1", "m2", payload="x" * 200_000)
        with failing(errno.EIO, names=["read"], at=2, times=3), pytest.raises(OSError, match="Input/output"):
            list(stream_files(b"[", messages, b"]"))
        assert [scene.receipt(id)["status"] for id in ("m1", "m2")] == ["incorrect", "waiting"]

    def test_failure_that_passes_costs_no_message(self, scene: Scene) -> None:
        messages = waiting(scene, "m1", payload="x" * 200_000)
        with failing(errno.EIO, names=["read"], at=2), pytest.raises(OSError, match="Input/output"):
            list(stream_files(b"[", messages, b"]"))
        assert scene.receipt("m1")["status"] == "waiting"

    def test_message_of_a_process_is_left_to_it_unless_it_is_released(self, scene: Scene) -> None:
        messages = waiting(scene, "m1", "m2")
        process = scene.start()["process_id"]
        os.truncate(file_of(scene, "m1"), 1)
        with pytest.raises(Unreadable):
            list(stream_files(b"[", messages, b"]"))
        assert scene.receipt("m1")["status"] == "in_process"

        def release() -> None:
            scene.step(process, "interrupt", text="")

        with pytest.raises(Unreadable):
            list(stream_files(b"[", messages, b"]", release=release))
        assert [scene.receipt(id)["status"] for id in ("m1", "m2")] == ["incorrect", "waiting"]
        move_files()
        assert scene.folders() == {"Messages": ["m2"], "Error": ["m1"]}

    def test_reader_that_stops_is_no_failure(self, scene: Scene) -> None:
        messages = waiting(scene, "m1", payload="x" * 200_000)
        chunks = stream_files(b"[", messages, b"]", release=pytest.fail)
        assert next(chunks).startswith(b"[")
        chunks.close()  # type: ignore[attr-defined]
        assert scene.receipt("m1")["status"] == "waiting"
