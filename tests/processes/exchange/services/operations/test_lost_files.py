"""Files that are nowhere: the operator's way out of FAILED."""

from uuid import UUID

import pytest

from config.records.models import ChangeRecord, LogEntry
from messaging.files.names import name_of
from messaging.models import Message
from processes.exchange.errors import FilesFound, ProcessNotFailed
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.operations import find_lost_files, go_on_without_files
from tests.messaging.raw_calls import file_of
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import alerts, bring_to

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

FOLDER_OF = {"m1": "Messages", "m2": "Messages", "r1": "Prepared"}


def failed(scene: Scene, *lost: str) -> str:
    """Return a process of two messages and a reply that has failed because these files are gone."""
    for id in ("m1", "m2"):
        scene.send(id)
    process = str(scene.start()["process_id"])
    results = {"m1": "PROCESSED", "m2": "PROCESSED_INCORRECT"}
    assert scene.prepare(process, results, scene.reply("r1", reply_to="m1")) == "OK"
    for id in lost:
        file_of(scene, id, FOLDER_OF[id]).unlink()
    assert scene.step(process, "commit") == "OK"
    move_files()
    assert scene.process(process)["status"] == "FAILED"
    return process


def go_on(process: str, *ids: str) -> None:
    messages = list(Message.objects.filter(public_id__in=ids).values_list("pk", flat=True))
    go_on_without_files(process_id=UUID(process), messages=messages, reason="no backup", actor="staff:olga")
    move_files()


class TestFindLostFiles:
    def test_names_what_is_nowhere(self, scene: Scene) -> None:
        process = ExchangeProcess.objects.get(pk=failed(scene, "m2", "r1"))
        assert [message.public_id for message in find_lost_files(process)] == ["r1", "m2"]

    def test_of_other_processes_nothing_is_lost(self, scene: Scene) -> None:
        process = ExchangeProcess.objects.get(pk=bring_to(scene, "CLEANUP"))
        file_of(scene, "m1").unlink()
        assert find_lost_files(process) == []


class TestGoOnWithoutFiles:
    @pytest.mark.parametrize(("id", "status"), [("m1", "processed"), ("m2", "incorrect")])
    def test_request_stays_what_the_erp_made_of_it(self, scene: Scene, id: str, status: str) -> None:
        process = failed(scene, id)
        before = scene.receipt(id)
        go_on(process, id)
        assert scene.process(process)["status"] == "DONE"
        assert (before["status"], scene.receipt(id)) == (status, before)
        message = Message.objects.get(public_id=id)
        assert (message.file_gone_at is None, message.process, message.moving_from) == (False, None, "")

    def test_reply_becomes_incorrect_and_says_why(self, scene: Scene) -> None:
        process = failed(scene, "r1")
        go_on(process, "r1")
        assert scene.process(process)["status"] == "DONE"
        assert scene.folders() == {"Log": ["m1"], "Error": ["m2"]}
        receipt = scene.receipt("r1", of=scene.database.pk)
        assert (receipt["status"], receipt["error_code"]) == ("incorrect", "unreadable")
        assert "no backup" in receipt["error_text"]
        assert (scene.fetch(), scene.receipt("m1")["replies"]) == ([], [])

    def test_the_lane_is_free_and_the_alert_closed(self, scene: Scene) -> None:
        process = failed(scene, "m1", "r1")
        assert scene.start()["status"] == "BUSY"
        go_on(process, "m1", "r1")
        assert (scene.start()["status"], alerts("exchange.failed")) == ("IDLE", [])

    def test_only_for_what_was_shown(self, scene: Scene) -> None:
        process = failed(scene, "m1", "r1")
        go_on(process, "m1")
        assert scene.process(process)["status"] == "FAILED"
        assert alerts("exchange.failed") == [f"process/{process}"]
        assert Message.objects.get(public_id="r1").file_gone_at is None

    def test_file_that_was_restored_is_kept(self, scene: Scene) -> None:
        process = failed(scene, "m1", "m2")
        message = Message.objects.get(public_id="m1")
        kept = file_of(scene, "r1")
        (kept.parent.parent / "Unknown" / name_of(message)).write_bytes(kept.read_bytes())
        go_on(process, "m1", "m2")
        assert (scene.process(process)["status"], scene.files("Log")) == ("DONE", ["m1"])
        assert Message.objects.get(public_id="m1").file_gone_at is None

    def test_where_all_were_restored_it_is_refused(self, scene: Scene) -> None:
        process = failed(scene, "m1")
        with pytest.raises(FilesFound):
            go_on(process, "m2", "r1")
        assert scene.process(process)["status"] == "FAILED"

    @pytest.mark.parametrize("status", ["STARTED", "READY_TO_COMMIT", "CLEANUP", "DONE", "IN_DOUBT"])
    def test_only_what_failed_can_go_on(self, scene: Scene, status: str) -> None:
        process = bring_to(scene, status)
        with pytest.raises(ProcessNotFailed):
            go_on(process, "m1")

    def test_is_audited(self, scene: Scene) -> None:
        process = failed(scene, "m1")
        go_on(process, "m1")
        change = ChangeRecord.objects.get(kind="process")
        assert (change.object_id, change.actor) == (process, "staff:olga")
        assert change.after == {"status": "CLEANUP", "without": ["m1"], "reason": "no backup"}
        assert any("no backup" in line["text"] for line in scene.process(process)["log"])
        assert LogEntry.objects.filter(subject="message/acme/m1", text__contains="no backup").exists()
