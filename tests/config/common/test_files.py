import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.common.errors import DiskFailed, DiskFull
from config.common.files import DRAFT, delete_durably, make_folder, move_durably, sweep_drafts, write_durably


def failing(number: int) -> object:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


class TestWriteDurably:
    def test_writes_all_chunks_and_returns_the_size(self, tmp_path: Path) -> None:
        assert write_durably(tmp_path / "a.json", [b"one", b"two"]) == 6
        assert (tmp_path / "a.json").read_bytes() == b"onetwo"
        assert os.listdir(tmp_path) == ["a.json"]

    def test_syncs_the_file_before_the_rename_and_the_folder_after_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps: list[str] = []
        fsync, rename = os.fsync, os.rename

        def log_fsync(descriptor: int) -> None:
            steps.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
            fsync(descriptor)

        def log_rename(source: Path, target: Path) -> None:
            steps.append("rename")
            rename(source, target)

        monkeypatch.setattr(os, "fsync", log_fsync)
        monkeypatch.setattr(os, "rename", log_rename)
        write_durably(tmp_path / "a", [b"x"])
        assert steps == ["file", "rename", "folder"]

    @pytest.mark.parametrize("step", ["write", "fsync", "rename", "open"])
    @pytest.mark.parametrize(
        ("number", "error"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, DiskFailed)]
    )
    def test_a_disk_that_fails_leaves_nothing_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int, error: type[Exception]
    ) -> None:
        monkeypatch.setattr(os, step, failing(number))
        with pytest.raises(error):
            write_durably(tmp_path / "a", [b"x"])
        monkeypatch.undo()
        assert os.listdir(tmp_path) == []

    def test_a_source_that_fails_in_the_middle_leaves_nothing_behind(self, tmp_path: Path) -> None:
        def broken() -> Iterator[bytes]:
            yield b"half"
            raise ConnectionError

        with pytest.raises(ConnectionError):
            write_durably(tmp_path / "a", broken())
        assert os.listdir(tmp_path) == []

    def test_a_replaced_file_is_the_old_one_or_the_new_one(self, tmp_path: Path) -> None:
        write_durably(tmp_path / "a", [b"old"])
        with pytest.raises(ZeroDivisionError):
            write_durably(tmp_path / "a", (bytes([1 // 0]) for _ in range(1)))
        assert (tmp_path / "a").read_bytes() == b"old"
        write_durably(tmp_path / "a", [b"new"])
        assert (tmp_path / "a").read_bytes() == b"new"

    def test_a_short_write_is_continued(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write = os.write
        monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
        write_durably(tmp_path / "a", [b"0123456789"])
        assert (tmp_path / "a").read_bytes() == b"0123456789"

    def test_a_process_killed_while_writing_leaves_only_a_draft(self, tmp_path: Path) -> None:
        program = (
            "import sys, time; from pathlib import Path; from config.common.files import write_durably\n"
            "def slow():\n"
            "    yield b'x' * 1000\n"
            "    print('writing', flush=True); time.sleep(60)\n"
            f"write_durably(Path({str(tmp_path)!r}) / 'final', slow())"
        )
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert child.stdout is not None
        with child.stdout:
            assert child.stdout.readline() == b"writing\n"
            child.send_signal(signal.SIGKILL)
            child.wait()
        names = os.listdir(tmp_path)
        assert len(names) == 1
        assert names[0].startswith(DRAFT)


class TestMoveDurably:
    def test_moves_between_folders(self, tmp_path: Path) -> None:
        make_folder(tmp_path / "from")
        make_folder(tmp_path / "deep" / "to")
        write_durably(tmp_path / "from" / "a", [b"x"])
        move_durably(tmp_path / "from" / "a", tmp_path / "deep" / "to" / "a")
        assert os.listdir(tmp_path / "from") == []
        assert (tmp_path / "deep" / "to" / "a").read_bytes() == b"x"

    def test_a_full_disk_is_an_error_of_ours(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_durably(tmp_path / "a", [b"x"])
        monkeypatch.setattr(os, "rename", failing(errno.ENOSPC))
        with pytest.raises(DiskFull):
            move_durably(tmp_path / "a", tmp_path / "b")
        assert os.listdir(tmp_path) == ["a"]

    def test_a_missing_source_stays_pythons_own_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            move_durably(tmp_path / "a", tmp_path / "b")


class TestDeleteDurably:
    def test_deletes_and_may_be_repeated(self, tmp_path: Path) -> None:
        write_durably(tmp_path / "a", [b"x"])
        delete_durably(tmp_path / "a")
        delete_durably(tmp_path / "a")
        assert os.listdir(tmp_path) == []


class TestSweepDrafts:
    def test_takes_old_drafts_and_nothing_else(self, tmp_path: Path) -> None:
        for name in (f"{DRAFT}old", f"{DRAFT}young", "message.json"):
            (tmp_path / name).write_bytes(b"x")
        hour_ago = time.time() - 3600
        os.utime(tmp_path / f"{DRAFT}old", (hour_ago, hour_ago))
        assert sweep_drafts(tmp_path, older_than_seconds=600) == 1
        assert sorted(os.listdir(tmp_path)) == [f"{DRAFT}young", "message.json"]
