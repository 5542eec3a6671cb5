import errno
import os
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from config.common.errors import VolumeAway
from config.records.models import LogEntry
from config.runtime.alerts import storage
from config.runtime.alerts.ongoing_alerts import ABANDONED
from config.runtime.alerts.storage import (
    Disk,
    Examiner,
    StorageWatch,
    disks,
    examine,
    examine_without_writing,
)
from messaging.files.volume import check_folder, check_volume
from notifications.models import Alert
from tests.messaging.failing_disk import failing
from tests.processes.exchange.scene import Scene
from tests.processes.exchange.test_volume import folder_away, unmounted

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

STORAGE = ["config.runtime.alerts.storage"]
ROOMY = os.statvfs_result((4096, 4096, 10**9, 10**9, 10**9, 10**6, 10**6, 10**6, 0, 255))


@pytest.fixture(autouse=True)
def place(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.DATA_DIR = tmp_path
    check_volume()
    leave(monkeypatch)
    return tmp_path


def leave(monkeypatch: pytest.MonkeyPatch, **room: int) -> None:
    """Let the disk have as much room as the test says, else plenty."""
    names = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail", "f_flag")
    values = [room.get(name, value) for name, value in zip(names, ROOMY, strict=False)]
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result((*values, 255)))


def open_alerts() -> dict[str, str]:
    return {alert.kind: alert.words for alert in Alert.objects.exclude(status="resolved")}


class TestLookOnce:
    def test_all_is_well(self) -> None:
        assert StorageWatch().run_once() is False
        assert open_alerts() == {}

    def test_volume_that_is_away_is_an_alert_with_its_path_and_closes_itself(self, place: Path) -> None:
        watch = StorageWatch(node="n1")
        with unmounted():
            watch.run_once()
            assert str(place / "messages") in open_alerts()["storage.volume"]
            assert LogEntry.objects.filter(kind="alert", level="error").count() == 1
        watch.run_once()
        assert Alert.objects.get().resolution == "the volume is available again"

    @pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EIO])
    @pytest.mark.parametrize("step", ["open", "write", "fsync"])
    def test_disk_that_refuses_is_an_alert_with_path_and_errno(self, place: Path, error: int, step: str) -> None:
        watch = StorageWatch(node="n1")
        with failing(error, names=[step], modules=STORAGE):
            watch.run_once()
        expected = f"The disk of {place} on n1 is not writable: {os.strerror(error)} (errno {error})"
        assert open_alerts() == {"storage.failed": expected}
        watch.run_once()
        assert open_alerts() == {}

    def test_little_room_warns_before_and_closes_when_there_is_clearly_more(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        watch = StorageWatch()
        limit = storage.LOW_BYTES // 4096
        seen = []
        for blocks in (limit, limit - 1, limit + 1, int(limit * 1.2)):
            leave(monkeypatch, f_bavail=blocks)
            watch.run_once()
            seen.append(list(open_alerts()))
        assert seen == [[], ["storage.low"], ["storage.low"], []]

    def test_folder_of_a_database_that_is_away_is_an_alert_unless_it_never_had_messages(self, place: Path) -> None:
        scene, watch = Scene(), StorageWatch(node="n1")
        watch.run_once()
        watch.run_once()
        assert open_alerts() == {}
        scene.send("m1")
        with folder_away(scene.database.pk, "Prepared", with_folder=False):
            watch.run_once()
            watch.run_once()
            assert str(place / "messages" / scene.database.pk / "Prepared") in open_alerts()["storage.volume"]
        watch.run_once()
        assert open_alerts() == {}

    def test_a_folder_that_cannot_be_looked_at_is_one_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scene, watch = Scene(), StorageWatch(node="n1")
        scene.send("m1")
        watch.run_once()
        is_dir = Path.is_dir

        def refuse(path: Path) -> bool:
            if path.name == scene.database.pk:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            return is_dir(path)

        monkeypatch.setattr(Path, "is_dir", refuse)
        watch.run_once()
        assert os.strerror(errno.ESTALE) in open_alerts()["storage.volume"]
        with pytest.raises(VolumeAway):
            check_folder(scene.database.pk)

    def test_a_database_that_refuses_keeps_nothing_from_being_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        full = storage.Finding(storage.FAILED, storage.DATABASE, storage.DATABASE_FULL, {"state": "53100"})
        monkeypatch.setattr(storage, "ask_postgresql", lambda: [full])
        watch = StorageWatch(node="n1", asks_database=True)

        def refuse() -> None:
            raise OperationalError("could not write init file")

        monkeypatch.setattr(watch, "_check_missing_folders", refuse)
        watch.run_once()
        assert "storage.failed" in open_alerts()

    def test_another_node_does_not_close_what_this_one_sees(self) -> None:
        with unmounted():
            StorageWatch(node="n1").run_once()
        StorageWatch(node="n2").run_once()
        assert list(open_alerts()) == ["storage.volume"]

    def test_the_alert_names_node_and_path(self, place: Path) -> None:
        with unmounted():
            StorageWatch(node="web-2").run_once()
        assert f"{place / 'messages'} on web-2" in open_alerts()["storage.volume"]

    def test_the_node_itself_closes_it_after_its_restart_too(self) -> None:
        with unmounted():
            StorageWatch(node="n1").run_once()
        StorageWatch(node="n1").run_once()
        assert Alert.objects.get().resolution == "the volume is available again"

    def test_that_of_a_node_that_is_gone_is_closed_with_what_is_true(self) -> None:
        with unmounted():
            StorageWatch(node="n1").run_once()
        Alert.objects.update(last_at=timezone.now() - ABANDONED - timedelta(seconds=1))
        StorageWatch(node="n2").run_once()
        assert Alert.objects.get().resolution == "not reported again for three minutes"

    def test_volume_that_does_not_answer_holds_up_no_alert(self, monkeypatch: pytest.MonkeyPatch) -> None:
        answer = threading.Event()
        monkeypatch.setattr(storage, "read_marker", lambda: answer.wait(30) and None)
        monkeypatch.setattr(storage, "PATIENCE_SECONDS", 0.05)
        watch = StorageWatch(node="n1")
        try:
            watch.run_once()
        finally:
            answer.set()
        assert f"errno {errno.ETIMEDOUT}" in open_alerts()["storage.failed"]


class TestExamine:
    def test_leaves_nothing_behind(self, place: Path) -> None:
        before = set(place.iterdir())
        assert examine(disks("n1"), "n1") == []
        assert set(place.iterdir()) == before

    def test_names_may_be_used_up_as_well_as_bytes(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        leave(monkeypatch, f_favail=999)
        assert [finding.kind for finding in examine([Disk("disk/n1", place)], "n1")] == ["storage.low"]

    def test_file_system_that_does_not_count_names_has_enough(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        leave(monkeypatch, f_favail=0, f_files=0)
        assert examine([Disk("disk/n1", place)], "n1") == []


class TestExamineWithoutWriting:
    def test_sees_full_read_only_and_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert examine_without_writing() == []
        leave(monkeypatch, f_bavail=0)
        assert examine_without_writing()[0].detail["errno"] == errno.ENOSPC
        leave(monkeypatch, f_flag=os.ST_RDONLY)
        assert examine_without_writing()[0].detail["errno"] == errno.EROFS
        with unmounted():
            assert examine_without_writing()[0].kind == "storage.volume"


class TestExaminer:
    def test_disk_that_does_not_answer_is_a_finding_and_is_asked_once(self) -> None:
        asked, answer = [], threading.Event()

        def hang() -> list[storage.Finding]:
            asked.append(1)
            answer.wait(30)
            return []

        examiner = Examiner(hang, patience=0.05, node="n1")
        found = [examiner.findings() for _ in range(2)]
        assert [finding.detail["errno"] for (finding,) in found] == [errno.ETIMEDOUT] * 2
        assert len(asked) == 1
        answer.set()
        examiner._patience = 10
        assert examiner.findings() == []

    def test_an_error_that_nobody_expected_is_raised_and_no_older_finding_is_shown_for_it(self) -> None:
        results = iter([[storage._cannot_write(Disk("disk/n1", Path("/data")), OSError(5, "gone"), "n1")]])
        examiner = Examiner(lambda: next(results), patience=10, node="n1")
        assert len(examiner.findings()) == 1
        for _ in range(2):
            with pytest.raises(StopIteration):
                examiner.findings()

    def test_a_page_is_shown_whatever_the_look_at_the_disks_fails_of(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail() -> list[storage.Finding]:
            raise ZeroDivisionError

        monkeypatch.setattr(storage, "_glance", Examiner(fail, patience=10, node="n1"))
        [finding] = storage.read_storage_findings()
        assert finding.detail["reason"] == "ZeroDivisionError()"
