"""Which messages API_1 takes: the longest run of the oldest that fits, and no file that cannot be read."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from messaging.models import Message
from processes.exchange.models import ExchangeProcess
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import file_of
from tests.processes.exchange.scene import Answer, Scene, move_files
from tests.processes.exchange.states import alerts

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def taken(answer: Answer) -> list[str]:
    return [message["id"] for message in answer["messages"]]


def refused(scene: Scene) -> tuple[int, str]:
    status, answer = scene.call("POST", "/exchange/processes/", {"version": 1})
    return status, answer["code"]


def send_large(scene: Scene, *megabytes: float) -> None:
    for number, size in enumerate(megabytes, 1):
        assert scene.send(f"m{number}", "x" * int(size * 1_048_576))[0] == 201


class TestLimits:
    @pytest.mark.parametrize(
        ("server", "asked", "expected"), [(10, 2, 2), (2, 10, 2), (2, None, 2), (10, 10**30, 3), (1, 1, 1)]
    )
    def test_smaller_number_of_files_counts(
        self, scene: Scene, settings: Any, server: int, asked: int | None, expected: int
    ) -> None:
        settings.EXCHANGE_MAX_FILES = server
        for number in (1, 2, 3):
            scene.send(f"m{number}")
        assert len(scene.start(max_files=asked)["messages"]) == expected

    @pytest.mark.parametrize(
        ("server", "asked", "expected"), [(20, 1, 1), (1, 20, 1), (20, 1.5, 2), (2, None, 2), (20, 1e300, 3)]
    )
    def test_smaller_size_counts(
        self, scene: Scene, settings: Any, server: int, asked: float | None, expected: int
    ) -> None:
        settings.EXCHANGE_MAX_MB = server
        send_large(scene, 0.7, 0.7, 0.7)
        assert len(scene.start(max_mb=asked)["messages"]) == expected

    def test_run_ends_at_the_first_that_does_not_fit(self, scene: Scene) -> None:
        send_large(scene, 0.3, 0.9, 0.1)
        assert taken(scene.start(max_mb=1)) == ["m1"]

    def test_one_is_always_sent(self, scene: Scene) -> None:
        send_large(scene, 1.2, 0.1)
        assert taken(scene.start(max_mb=1)) == ["m1"]

    def test_sizes_are_of_the_files(self, scene: Scene) -> None:
        scene.send("m0")
        envelope = file_of(scene, "m0").stat().st_size - len("null")
        scene.step(scene.start()["process_id"], "interrupt", text="")
        free = 1_048_576 - (envelope + len("null")) - envelope - len('""')
        scene.send("m1", "x" * free)
        scene.send("m2")
        assert taken(scene.start(max_mb=1)) == ["m0", "m1"]


class TestOrder:
    def test_oldest_first_then_in_order_of_acceptance(self, scene: Scene) -> None:
        late, early = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
        for id, at in {"m1": late, "m2": early, "m3": late, "m4": early}.items():
            scene.send(id, created_at=at)
        assert taken(scene.start()) == ["m2", "m4", "m1", "m3"]

    def test_over_all_subsystems(self, scene: Scene) -> None:
        scene.add_device("van", scene.add_subsystem("stock"))
        scene.send("m1", created_at="2026-01-03T00:00:00Z")
        scene.send("m2", created_at="2026-01-02T00:00:00Z", of="acme-van")
        scene.send("m3", created_at="2026-01-01T00:00:00Z")
        assert taken(scene.start(max_files=2)) == ["m3", "m2"]

    def test_postponed_comes_after_the_others(self, scene: Scene) -> None:
        for id in ("m1", "m2"):
            scene.send(id)
        Message.objects.filter(public_id="m1").update(is_postponed=True)
        assert taken(scene.start()) == ["m2", "m1"]


def _shorten(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def _lengthen(file: Path) -> None:
    with file.open("ab") as end:
        end.write(b" ")


def _change_head(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"m1"', b'"mx"', 1))


def _link(file: Path) -> None:
    other = file.with_name("other")
    file.rename(other)
    file.symlink_to(other)


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


class TestUnreadable:
    @pytest.mark.parametrize("spoil", [_shorten, _lengthen, _change_head, _link, _pipe, _folder, Path.unlink])
    def test_goes_to_error_and_the_next_takes_its_place(self, scene: Scene, spoil: Callable[[Path], None]) -> None:
        scene.send("m1")
        scene.send("m2")
        spoil(file_of(scene, "m1"))
        assert taken(scene.start(max_files=1)) == ["m2"]
        receipt = scene.receipt("m1")
        assert (receipt["status"], receipt["error_code"]) == ("incorrect", "unreadable")
        assert receipt["error_text"]
        assert alerts("message.file") == ["message/acme/m1"]
        move_files()
        assert (scene.receipt("m1")["status"], scene.receipt("m2")["status"]) == ("incorrect", "in_process")

    def test_file_lies_in_error_afterwards(self, scene: Scene) -> None:
        scene.send("m1")
        _shorten(file_of(scene, "m1"))
        scene.start()
        move_files()
        assert scene.folders() == {"Error": ["m1"]}

    def test_nothing_else_waits(self, scene: Scene) -> None:
        scene.send("m1")
        _shorten(file_of(scene, "m1"))
        assert scene.start()["status"] == "IDLE"

    @pytest.mark.parametrize(("times", "status"), [(1, "OK"), (2, "IDLE")])
    def test_disk_is_asked_twice(self, scene: Scene, times: int, status: str) -> None:
        scene.send("m1")
        with failing(errno.EIO, names=["read"], times=times):
            assert scene.start()["status"] == status

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (errno.EMFILE, "out_of_resources"),
            (errno.ENFILE, "out_of_resources"),
            (errno.ENOMEM, "out_of_resources"),
            (errno.EACCES, "disk_failed"),
            (errno.ESTALE, "disk_failed"),
        ],
    )
    def test_lack_of_resources_changes_nothing(self, scene: Scene, error: int, code: str) -> None:
        scene.send("m1")
        with failing(error, names=["open"]):
            assert refused(scene) == (503, code)
        assert not ExchangeProcess.objects.exists()
        assert taken(scene.start()) == ["m1"]

    @pytest.mark.parametrize("error", [errno.EMFILE, errno.EACCES, errno.ENOSPC, errno.EIO])
    def test_file_that_cannot_be_put_back_now_is_not_given_up(self, scene: Scene, error: int) -> None:
        scene.send("m1")
        file = file_of(scene, "m1")
        file.rename(file.parent.parent / "Unknown" / file.name)
        with failing(error, names=["link"]):
            assert refused(scene)[0] in (503, 507)
        assert taken(scene.start()) == ["m1"]

    @pytest.mark.parametrize("folder", ["Prepared", "Log", "Unknown", "Error"])
    def test_file_in_another_folder_is_put_back(self, scene: Scene, folder: str) -> None:
        scene.send("m1")
        file = file_of(scene, "m1")
        file.rename(file.parent.parent / folder / file.name)
        assert taken(scene.start()) == ["m1"]
        assert scene.folders() == {"Messages": ["m1"]}
