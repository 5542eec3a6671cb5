"""The files of settled processes: one after the other, whatever fails or dies in between."""

import errno
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from messaging.files.placement import place_file, place_files
from messaging.models import Message
from messaging.services import file_moves
from notifications.models import Alert, Event
from processes.exchange.errors import ProcessNotFailed, ProcessNotFound
from processes.exchange.models import ExchangeProcess
from processes.exchange.services import cleanup
from processes.exchange.services.cleanup import move_files_once
from processes.exchange.services.operations import retry_process
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import drafts, file_of
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import alerts, bring_to, let_time_pass

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]
RESULTS = {"m1": "PROCESSED", "m2": "PROCESSED_INCORRECT", "m3": "PROCESSED"}
COMMITTED = {"Messages": ["r1"], "Log": ["m1", "m3"], "Error": ["m2"]}


def committed(scene: Scene) -> str:
    for id in RESULTS:
        scene.send(id)
    process = str(scene.start()["process_id"])
    scene.prepare(process, RESULTS, scene.reply("r1"))
    assert scene.step(process, "commit") == "OK"
    return process


def retry(process: str) -> None:
    retry_process(process_id=UUID(process), actor="staff:olga")


def due_again() -> None:
    """Let the lease of whoever died be over."""
    ExchangeProcess.objects.exclude(due_at=None).update(due_at="2020-01-01T00:00:00Z")


class TestFailure:
    @pytest.mark.parametrize("error", [errno.EIO, errno.EACCES])
    @pytest.mark.parametrize("id", ["m1", "m2", "m3", "r1"])
    def test_move_that_fails_is_left_to_the_operator_who_goes_on(self, scene: Scene, id: str, error: int) -> None:
        process = committed(scene)
        with failing(error, names=["link"], about=f"_{id}_", times=9):
            move_files()
        assert scene.process(process)["status"] == "FAILED"
        assert f"message {id} " in scene.process(process)["log"][-1]["text"]
        assert Message.objects.exclude(moving_from="").get().public_id == id, "the others are in their places"
        assert alerts("exchange.failed") == [f"process/{process}"]
        assert Event.objects.filter(type="exchange.failed").count() == 1
        assert not move_files_once()
        retry(process)
        assert alerts("exchange.failed") == []
        move_files()
        assert (scene.process(process)["status"], scene.folders()) == ("DONE", COMMITTED)

    def test_step_of_a_move_that_fails_leaves_the_file_whole(self, scene: Scene) -> None:
        for step in range(1, 5):  # link, open and sync of the new folder, unlink
            scene.send(f"x{step}")
            process = str(scene.start()["process_id"])
            scene.prepare(process, {f"x{step}": "PROCESSED"})
            scene.step(process, "commit")
            with failing(errno.ENOSPC, at=step, times=99, modules=["config.common.files"]):
                move_files()
            assert scene.process(process)["status"] == "FAILED", step
            retry(process)
            move_files()
            assert scene.process(process)["status"] == "DONE"
        assert scene.folders() == {"Log": [f"x{step}" for step in range(1, 5)]}

    def test_lane_is_held_until_then(self, scene: Scene) -> None:
        process = bring_to(scene, "FAILED")
        assert scene.start() == {"version": 1, "status": "BUSY", "process_id": process}

    def test_file_that_is_nowhere(self, scene: Scene) -> None:
        process = committed(scene)
        content = file_of(scene, "m1").read_bytes()
        path = file_of(scene, "m1")
        path.unlink()
        move_files()
        assert scene.process(process)["status"] == "FAILED"
        assert "m1" in scene.process(process)["log"][-1]["text"]
        path.write_bytes(content)
        retry(process)
        move_files()
        assert scene.folders() == COMMITTED

    def test_file_that_is_elsewhere_is_found(self, scene: Scene) -> None:
        process = committed(scene)
        file = file_of(scene, "m1")
        file.rename(file.parent.parent / "Unknown" / file.name)
        move_files()
        assert (scene.process(process)["status"], scene.folders()) == ("DONE", COMMITTED)

    def test_something_else_has_the_name(self, scene: Scene) -> None:
        process = committed(scene)
        place = file_of(scene, "m1").parent.parent / "Log" / file_of(scene, "m1").name
        place.mkdir()
        move_files()
        assert scene.process(process)["status"] == "FAILED"
        place.rmdir()
        retry(process)
        move_files()
        assert scene.folders() == COMMITTED

    def test_reply_is_moved_though_a_request_fails(self, scene: Scene) -> None:
        process = committed(scene)
        for id in ("m1", "m3"):
            file_of(scene, id).unlink()
        move_files()
        assert scene.process(process)["status"] == "FAILED"
        assert scene.folders() == {"Messages": ["r1"], "Error": ["m2"]}
        assert [reply["id"] for reply in scene.fetch()] == ["r1"]
        lines = [line["text"] for line in scene.process(process)["log"] if "cannot be moved" in line["text"]]
        assert len(lines) == 2
        assert Alert.objects.get(kind="exchange.failed").detail["count"] == 2

    def test_replies_go_first(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        committed(scene)
        monkeypatch.setattr(cleanup, "TOGETHER", 1)
        with failing(SystemExit, names=["link"], at=2), suppress(SystemExit):
            move_files()
        assert scene.files("Messages") == ["m1", "m2", "m3", "r1"]

    def test_in_doubt_it_is_tried_again_and_told_once(self, scene: Scene) -> None:
        process = scene.ready()
        file_of(scene, "m1").unlink()
        let_time_pass(process)
        for _ in range(3):
            due_again()
            move_files_once()
        lines = [line["text"] for line in scene.process(process)["log"] if "cannot be moved" in line["text"]]
        assert len(lines) == 1

    def test_each_process_fails_alone(self, scene: Scene) -> None:
        other = Scene("other")
        process, fine = committed(scene), committed(other)
        file_of(scene, "m1").unlink()
        move_files()
        assert (scene.process(process)["status"], other.process(fine)["status"]) == ("FAILED", "DONE")


class TestRetry:
    @pytest.mark.parametrize("status", ["STARTED", "READY_TO_COMMIT", "CLEANUP", "DONE", "IN_DOUBT", "ROLLED_BACK"])
    def test_only_what_failed_can_be_tried_again(self, scene: Scene, status: str) -> None:
        process = bring_to(scene, status)
        with pytest.raises(ProcessNotFailed):
            retry(process)
        assert scene.process(process)["status"] == status

    def test_unknown_process(self, scene: Scene) -> None:
        with pytest.raises(ProcessNotFound):
            retry(str(UUID(int=1)))

    def test_failing_again_is_told_again(self, scene: Scene) -> None:
        process = bring_to(scene, "FAILED")
        retry(process)
        move_files()
        assert scene.process(process)["status"] == "FAILED"
        assert alerts("exchange.failed") == [f"process/{process}"]

    def test_says_who_did_it(self, scene: Scene) -> None:
        process = bring_to(scene, "FAILED")
        retry(process)
        assert "olga retries" in scene.process(process)["log"][-1]["text"]


class TestCrash:
    @pytest.mark.parametrize("at", [1, 2, 3, 4])
    def test_killed_between_rename_and_commit_it_goes_on(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, at: int
    ) -> None:
        process, calls, real = committed(scene), iter(range(1, 100)), place_file

        def move_and_die(message: Message) -> None:
            real(message)
            if next(calls) == at:
                raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(cleanup, "move_messages", lambda ids: False)
            patch.setattr(file_moves, "place_file", move_and_die)
            with pytest.raises(SystemExit):
                move_files()
        assert Message.objects.exclude(moving_from="").count() == 4 - at + 1
        assert scene.process(process)["status"] == "CLEANUP"
        due_again()
        move_files()
        assert (scene.process(process)["status"], scene.folders()) == ("DONE", COMMITTED)
        assert drafts(scene) == []

    def test_killed_at_any_step_of_the_moves_it_goes_on(self, scene: Scene) -> None:
        for step in count(1):
            scene.send(f"x{step}")
            process = str(scene.start()["process_id"])
            scene.prepare(process, {f"x{step}": "PROCESSED"}, scene.reply(f"y{step}"))
            scene.step(process, "commit")
            with failing(SystemExit, at=step, modules=["config.common.files"]) as disk, suppress(SystemExit):
                move_files()
            due_again()
            move_files()
            assert scene.process(process)["status"] == "DONE", step
            if not disk.has_failed:
                break
        assert step > 6
        assert {folder: len(ids) for folder, ids in scene.folders().items()} == {"Log": step, "Messages": step}

    def test_killed_before_the_end_was_written_it_goes_on(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        process = committed(scene)

        def die(*arguments: Any) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr("processes.exchange.services.cleanup._finish", die)
            with pytest.raises(SystemExit):
                move_files()
        due_again()
        move_files()
        assert scene.process(process)["status"] == "DONE"


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_four_movers_move_everything_once(self, scene: Scene, in_threads: Threads) -> None:
        process = committed(scene)

        def act(number: int) -> None:
            due_again()
            move_files_once()

        in_threads(act, 4)
        move_files()
        assert (scene.process(process)["status"], scene.folders()) == ("DONE", COMMITTED)
        texts = [line["text"] for line in scene.process(process)["log"]]
        assert sum("Done" in text for text in texts) == 1

    @pytest.mark.parametrize("together", [True, False])
    def test_resolved_while_a_file_is_moved_it_ends_where_the_row_says(
        self, scene: Scene, in_threads: Threads, monkeypatch: pytest.MonkeyPatch, together: bool
    ) -> None:
        """The mover holds the rows across the rename; who resolves waits for it."""
        process, moving_now = bring_to(scene, "READY_TO_COMMIT"), threading.Event()
        name, real = ("place_files", place_files) if together else ("place_file", place_file)

        def slowly(what: Any) -> None:
            moving_now.set()
            threading.Event().wait(0.3)
            real(what)

        let_time_pass(process)
        with monkeypatch.context() as patch:
            patch.setattr(file_moves, name, slowly)
            if not together:
                patch.setattr(cleanup, "move_messages", lambda ids: False)

            def act(number: int) -> None:
                if number == 0:
                    move_files_once()
                elif moving_now.wait(60):
                    scene.step(process, "resolve", committed=True)

            in_threads(act, 2)
        move_files()
        assert (scene.process(process)["status"], scene.folders()) == ("DONE", {"Messages": ["r-m1"], "Log": ["m1"]})
