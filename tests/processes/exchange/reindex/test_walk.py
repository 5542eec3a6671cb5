"""Rows rebuilt from files, and a database that was restored older than the disk."""

import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from messaging.models import Message
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.reindex.walk import reindex
from tests.processes.exchange.scene import Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def forget_rows() -> None:
    ProcessMessage.objects.all().delete()
    ExchangeProcess.objects.all().delete()
    Message.objects.all().delete()


def path(scene: Scene, folder: str, id: str) -> Path:
    return next((settings.DATA_DIR / "messages" / scene.database.pk / folder).glob(f"*_{id}_*"))


def put(scene: Scene, id: str, source: str, target: str) -> None:
    """Move a file behind the product's back."""
    file = path(scene, source, id)
    file.rename(file.parent.parent / target / file.name)


class TestReindex:
    def test_nothing_to_do_when_rows_and_files_agree(self, scene: Scene) -> None:
        scene.send("m1")
        report = reindex()
        assert (report.files, report.added, report.corrected, report.moved) == (1, 0, 0, 0)

    def test_row_is_rebuilt_as_it_was(self, scene: Scene) -> None:
        scene.send("m1", {"a": [1, 2]})
        before = Message.objects.values("public_id", "size", "digest", "created_at", "correlation_id").get()
        forget_rows()
        assert reindex().added == 1
        assert Message.objects.values("public_id", "size", "digest", "created_at", "correlation_id").get() == before
        assert scene.send("m1", {"a": [1, 2]})[0] == 200
        assert scene.start()["messages"][0]["payload"] == {"a": [1, 2]}

    def test_folders_tell_what_became_of_messages(self, scene: Scene) -> None:
        process = scene.ready("PROCESSED")
        scene.step(process, "commit")
        move_files()
        scene.ready("PROCESSED_INCORRECT", id="m2")
        scene.step(str(ExchangeProcess.objects.get(status="READY_TO_COMMIT").pk), "commit")
        move_files()
        forget_rows()
        reindex()
        assert scene.receipt("m1")["status"] == "processed"
        assert scene.receipt("m2")["status"] == "incorrect"
        assert [message["id"] for message in scene.fetch()] == ["r-m1", "r-m2"]

    def test_prepared_reply_without_a_process_puts_its_request_in_doubt(self, scene: Scene) -> None:
        scene.ready()
        forget_rows()
        reindex()
        move_files()
        assert scene.folders() == {"Unknown": ["m1", "r-m1"]}
        assert scene.receipt()["status"] == "in_doubt"
        process = ExchangeProcess.objects.get(status="IN_DOUBT")
        assert scene.step(str(process.pk), "resolve", committed=True) == "OK"
        move_files()
        assert scene.folders() == {"Messages": ["r-m1"], "Log": ["m1"]}

    def test_misplaced_file_is_put_back(self, scene: Scene) -> None:
        scene.send("m1")
        put(scene, "m1", "Messages", "Log")
        assert reindex().moved == 1
        assert scene.folders() == {"Messages": ["m1"]}

    def test_foreign_files_are_reported_and_left_alone(self, scene: Scene) -> None:
        scene.send("m1")
        folder = path(scene, "Messages", "m1").parent
        (folder / "notes.txt").write_text("mine")
        (folder / path(scene, "Messages", "m1").name.replace("m1", "m2")).write_text("{}")
        (folder / "link.json").symlink_to("/etc/passwd")
        printed, told = StringIO(), StringIO()
        call_command("reindex_messages", stdout=printed, stderr=told)
        assert "3 left alone" in printed.getvalue()
        assert told.getvalue().count("left alone") == 3
        assert (folder / "notes.txt").read_text() == "mine"

    def test_missing_file_is_named(self, scene: Scene) -> None:
        scene.send("m1")
        path(scene, "Messages", "m1").unlink()
        assert "m1" in reindex().missing[0]


class TestAfterRestore:
    def test_what_was_processed_since_is_not_offered_again(self, scene: Scene) -> None:
        scene.send("m1")
        put(scene, "m1", "Messages", "Log")
        assert reindex(after_restore=True).corrected == 1
        assert scene.receipt()["status"] == "processed"
        assert scene.start()["status"] == "IDLE"

    def test_started_process_of_the_copy_is_over(self, scene: Scene) -> None:
        scene.send("m1")
        scene.send("m2")
        process = scene.start()["process_id"]
        put(scene, "m1", "Messages", "Log")
        reindex(after_restore=True)
        assert scene.process(process)["status"] == "TIMED_OUT"
        assert [message["id"] for message in scene.start()["messages"]] == ["m2"]

    def test_ready_process_whose_request_was_moved_was_committed(self, scene: Scene) -> None:
        process = scene.ready()
        put(scene, "m1", "Messages", "Log")
        put(scene, "r-m1", "Prepared", "Messages")
        reindex(after_restore=True)
        move_files()
        assert scene.process(process)["status"] == "DONE"
        assert scene.folders() == {"Messages": ["r-m1"], "Log": ["m1"]}

    def test_ready_process_of_which_nothing_is_known_is_in_doubt(self, scene: Scene) -> None:
        process = scene.ready()
        reindex(after_restore=True)
        assert scene.process(process)["status"] == "IN_DOUBT"

    def test_process_rolled_back_since_leaves_no_reply_behind(self, scene: Scene) -> None:
        process = scene.ready()
        path(scene, "Prepared", "r-m1").unlink()
        reindex(after_restore=True)
        assert scene.step(process, "resolve", committed=False) == "OK"
        move_files()
        assert scene.folders() == {"Messages": ["m1"]}
        assert not Message.objects.filter(public_id="r-m1").exists()

    def test_confirmed_reply_is_not_fetched_again(self, scene: Scene) -> None:
        scene.step(scene.ready(), "commit")
        move_files()
        put(scene, "r-m1", "Messages", "Log")
        reindex(after_restore=True)
        assert scene.fetch() == []

    def test_two_of_one_file_become_one(self, scene: Scene) -> None:
        scene.send("m1")
        file = path(scene, "Messages", "m1")
        shutil.copy(file, file.parent.parent / "Log" / file.name)
        reindex(after_restore=True)
        assert scene.folders() == {"Log": ["m1"]}
