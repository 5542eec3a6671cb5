"""GET /messages/ and confirm: what a device gets, and what it has got."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from messaging.models import Message
from messaging.services.file_moves import move_pending_once
from notifications.models import Alert
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.timeouts import time_out_once
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import call_raw, file_of, write_replies
from tests.processes.exchange.scene import Answer, Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]


def ids(messages: list[Answer]) -> list[str]:
    return [message["id"] for message in messages]


def confirm(scene: Scene, id: str, *, of: str = "") -> tuple[int, bytes]:
    return call_raw(scene, "POST", f"/messages/{id}/confirm/", of=of or scene.device.pk)


def large(scene: Scene, id: str, megabytes: float) -> Answer:
    return scene.reply(id, payload="x" * int(megabytes * 1_048_576))


class TestFetch:
    def test_answer_is_of_the_contract(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1", reply_to="q1", created_at="2026-01-31T23:59:59.123Z"))
        name = "20260131T235959123Z_r1_acme-erp_acme-phone_acme-sales.json"
        status, answer = scene.call("GET", "/messages/", of=scene.device.pk)
        assert (status, list(answer)) == (200, ["version", "messages"])
        (message,) = answer["messages"]
        assert message == {
            "version": 1,
            "id": "r1",
            "name": name,
            "from": "acme-erp",
            "to": "acme-phone",
            "subsystem": "acme-sales",
            "created_at": "2026-01-31T23:59:59.123Z",
            "reply_to": "q1",
            "correlation_id": "",
            "payload": {"is": "fine"},
        }
        assert file_of(scene, "r1").name == name

    def test_without_reply_to_the_field_is_missing(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        assert "reply_to" not in scene.fetch()[0]

    def test_nothing_waits(self, scene: Scene) -> None:
        assert call_raw(scene, "GET", "/messages/", of=scene.device.pk) == (200, b'{"version":1,"messages":[]}')

    def test_a_device_gets_its_own_alone(self, scene: Scene) -> None:
        scene.add_device("tablet")
        write_replies(scene, scene.reply("r1"), scene.reply("r2", to="acme-tablet"))
        assert (ids(scene.fetch()), ids(scene.fetch(of="acme-tablet"))) == (["r1"], ["r2"])

    def test_oldest_first_then_in_order_of_acceptance(self, scene: Scene) -> None:
        late, early = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
        times = {"r1": late, "r2": early, "r3": late, "r4": early}
        write_replies(scene, *(scene.reply(id, created_at=at) for id, at in times.items()))
        assert ids(scene.fetch()) == ["r2", "r4", "r1", "r3"]

    def test_comes_again_until_it_is_confirmed(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"), scene.reply("r2"))
        assert ids(scene.fetch()) == ids(scene.fetch()) == ["r1", "r2"]
        confirm(scene, "r1")
        assert ids(scene.fetch()) == ["r2"]

    def test_not_before_the_erp_has_committed_and_the_file_is_there(self, scene: Scene) -> None:
        process = scene.ready()
        assert scene.fetch() == []
        scene.step(process, "commit")
        assert scene.fetch() == []
        move_files()
        assert ids(scene.fetch()) == ["r-m1"]

    def test_not_while_it_is_in_doubt(self, scene: Scene) -> None:
        process = scene.ready()
        ExchangeProcess.objects.filter(pk=process).update(due_at="2020-01-01T00:00:00Z")
        time_out_once()
        assert scene.fetch() == []
        move_files()
        assert scene.fetch() == []

    def test_queries_do_not_grow_with_the_messages(self, scene: Scene, django_assert_num_queries: Any) -> None:
        write_replies(scene, *(scene.reply(f"r{n}") for n in range(9)))
        with django_assert_num_queries(3):  # the key, the device, the messages
            scene.fetch()


class TestFetchLimits:
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("?limit=1", ["r1"]),
            ("?limit=1000", ["r1", "r2", "r3"]),
            ("?max_mb=1", ["r1"]),
            ("?max_mb=1.5", ["r1", "r2"]),
            ("?max_mb=1.5&limit=1", ["r1"]),
            ("?max_mb=1024", ["r1", "r2", "r3"]),
        ],
    )
    def test_longest_run_of_the_oldest_that_fits(self, scene: Scene, query: str, expected: list[str]) -> None:
        write_replies(scene, *(large(scene, f"r{n}", 0.7) for n in (1, 2, 3)))
        assert ids(scene.fetch(query)) == expected

    def test_one_is_always_sent(self, scene: Scene) -> None:
        write_replies(scene, large(scene, "r1", 1.2), scene.reply("r2"))
        assert ids(scene.fetch("?max_mb=1")) == ["r1"]

    def test_servers_limit_counts_too(self, scene: Scene, settings: Any) -> None:
        write_replies(scene, large(scene, "r1", 0.7), large(scene, "r2", 0.7))
        settings.EXCHANGE_MAX_MB = 1
        assert ids(scene.fetch("?max_mb=20")) == ids(scene.fetch()) == ["r1"]

    @pytest.mark.parametrize(
        "query",
        ["limit=0", "limit=1001", "limit=x", "max_mb=0", "max_mb=0.9", "max_mb=1024.1", "max_mb=nan", "max_mb=inf"],
    )
    def test_wrong_limit_is_named(self, scene: Scene, query: str) -> None:
        status, answer = scene.call("GET", f"/messages/?{query}", of=scene.device.pk)
        assert (status, answer["code"]) == (400, "invalid")
        assert list(answer["data"]["fields"]) == [query.partition("=")[0]]


class TestFetchOfBadFiles:
    def test_shortened_file_goes_to_error_and_the_next_takes_its_place(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"), scene.reply("r2"))
        os.truncate(file_of(scene, "r1"), 10)
        assert ids(scene.fetch("?limit=1")) == ["r2"]
        move_files()
        assert scene.files("Error") == ["r1"]
        receipt = scene.receipt("r1", of=scene.database.pk)
        assert (receipt["status"], receipt["error_code"]) == ("incorrect", "unreadable")
        assert "bytes instead of" in receipt["error_text"]
        assert Alert.objects.filter(kind="message.file", subject="message/acme/r1").exists()

    def test_missing_file_blocks_nobody(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"), scene.reply("r2"))
        file_of(scene, "r1").unlink()
        assert ids(scene.fetch()) == ["r2"]
        assert Message.objects.get(public_id="r1").file_gone_at is not None

    def test_file_in_another_folder_is_put_back(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        file = file_of(scene, "r1")
        file.rename(file.parent.parent / "Log" / file.name)
        assert ids(scene.fetch()) == ["r1"]
        assert scene.files("Messages") == ["r1"]

    @pytest.mark.parametrize(("error", "code"), [(errno.EMFILE, "out_of_resources"), (errno.EACCES, "disk_failed")])
    def test_system_without_resources_is_no_reason_to_give_up(self, scene: Scene, error: int, code: str) -> None:
        write_replies(scene, scene.reply("r1"))
        with failing(error, names=["open"]):
            status, answer = scene.call("GET", "/messages/", of=scene.device.pk)
        assert (status, answer["code"]) == (503, code)
        assert ids(scene.fetch()) == ["r1"]

    @pytest.mark.parametrize(("times", "expected"), [(1, ["r1"]), (4, [])])
    def test_disk_is_asked_twice(self, scene: Scene, times: int, expected: list[str]) -> None:
        write_replies(scene, scene.reply("r1"))
        with failing(errno.EIO, names=["read"], times=times):
            assert ids(scene.fetch()) == expected


class TestStream:
    def test_comes_in_pieces_of_bounded_size(self, scene: Scene) -> None:
        write_replies(scene, large(scene, "r1", 1), scene.reply("r2"))
        headers = {"Authorization": f"Bearer {scene.keys[scene.device.pk]}"}

        async def fetch() -> list[bytes]:
            answer: Any = await AsyncClient().get("/api/v1/messages/", headers=headers)
            assert answer.is_async, "a synchronous iterator would be gathered whole"
            return [piece async for piece in answer]

        pieces = async_to_sync(fetch)()
        assert len(pieces) > 10
        assert max(map(len, pieces)) < 2 * 65_536
        assert ids(json.loads(b"".join(pieces))["messages"]) == ["r1", "r2"]


class TestConfirm:
    def test_is_empty_and_moves_the_file_to_log(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        assert confirm(scene, "r1") == (204, b"")
        assert (scene.files("Messages"), scene.files("Log")) == ([], ["q1", "r1"])

    def test_again_is_the_same(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        confirm(scene, "r1")
        settled_at = Message.objects.get(public_id="r1").settled_at
        assert confirm(scene, "r1") == (204, b"")
        assert Message.objects.get(public_id="r1").settled_at == settled_at

    def test_unknown_and_other_peoples_are_not_there(self, scene: Scene) -> None:
        scene.add_device("tablet")
        other = Scene("other")
        write_replies(scene, scene.reply("r1"))
        scene.send("m1")
        assert confirm(scene, "nothing")[0] == 404
        assert confirm(scene, "m1")[0] == 404
        assert confirm(scene, "r1", of="acme-tablet")[0] == 404
        assert confirm(other, "r1")[0] == 404
        assert ids(scene.fetch()) == ["r1"]

    def test_what_it_cannot_have_fetched_is_not_there(self, scene: Scene) -> None:
        process = scene.ready()
        assert confirm(scene, "r-m1")[0] == 404
        scene.step(process, "commit")
        assert confirm(scene, "r-m1")[0] == 404
        move_files()
        assert confirm(scene, "r-m1")[0] == 204

    @pytest.mark.parametrize("body", [b"{}", b'{"version":2}'])
    def test_a_body_has_a_version(self, scene: Scene, body: bytes) -> None:
        write_replies(scene, scene.reply("r1"))
        path, device = "/messages/r1/confirm/", scene.device.pk
        assert scene.call("POST", path, body, of=device)[1]["code"] == "unsupported_version"
        assert scene.call("POST", path, b'{"version":1}', of=device)[0] == 204

    @pytest.mark.parametrize("error", [errno.EACCES, errno.EIO, errno.ENOSPC])
    def test_stands_though_the_disk_refuses_and_the_move_follows(self, scene: Scene, error: int) -> None:
        write_replies(scene, scene.reply("r1"))
        with failing(error, names=["link"]):
            assert confirm(scene, "r1")[0] == 204
            assert scene.fetch() == []
        assert scene.files("Messages") == ["r1"]
        assert move_pending_once()
        assert (scene.files("Messages"), scene.files("Log")) == ([], ["q1", "r1"])
        assert not move_pending_once()

    def test_stands_though_the_file_is_gone(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        file_of(scene, "r1").unlink()
        assert confirm(scene, "r1")[0] == 204
        move_files()
        message = Message.objects.get(public_id="r1")
        assert (message.status, message.moving_from, bool(message.file_gone_at)) == ("processed", "", True)

    def test_undone_by_a_crash_it_is_offered_again(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        """The file was moved, the row was not committed."""
        write_replies(scene, scene.reply("r1"))
        file = file_of(scene, "r1")
        os.rename(file, Path(file.parent.parent, "Log", file.name))
        assert ids(scene.fetch()) == ["r1"]
        assert confirm(scene, "r1")[0] == 204
        assert (scene.files("Messages"), scene.files("Log")) == ([], ["q1", "r1"])


@pytest.mark.django_db(transaction=True)
class TestConfirmAtOnce:
    def test_all_hear_the_same_and_it_is_moved_once(self, scene: Scene, in_threads: Threads) -> None:
        write_replies(scene, scene.reply("r1"))
        answers = in_threads(lambda number: confirm(scene, "r1")[0], 4)
        assert answers == [204] * 4
        assert scene.folders() == {"Log": ["q1", "r1"]}
