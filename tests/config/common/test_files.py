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
    def fail(*_: object, **__: object) -> None:
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
        monkeypatch.setattr(os, "link", failing(errno.ENOSPC))
        with pytest.raises(DiskFull):
            move_durably(tmp_path / "a", tmp_path / "b")
        assert os.listdir(tmp_path) == ["a"]

    def test_a_missing_source_stays_pythons_own_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            move_durably(tmp_path / "a", tmp_path / "b")

    def test_a_disk_that_fails_between_leaves_the_old_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_durably(tmp_path / "a", [b"x"])
        monkeypatch.setattr(os, "fsync", failing(errno.EIO))
        with pytest.raises(DiskFailed):
            move_durably(tmp_path / "a", tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == b"x"

    @pytest.mark.parametrize(("source", "target"), [("a", "b"), ("b", "a")])
    def test_a_move_that_was_stopped_is_finished_there_or_back(self, tmp_path: Path, source: str, target: str) -> None:
        write_durably(tmp_path / "a", [b"x"])
        os.link(tmp_path / "a", tmp_path / "b")
        move_durably(tmp_path / source, tmp_path / target)
        assert os.listdir(tmp_path) == [target]
        assert (tmp_path / target).read_bytes() == b"x"

    def test_another_file_in_the_target_is_replaced(self, tmp_path: Path) -> None:
        write_durably(tmp_path / "a", [b"new"])
        write_durably(tmp_path / "b", [b"old"])
        move_durably(tmp_path / "a", tmp_path / "b")
        assert os.listdir(tmp_path) == ["b"]
        assert (tmp_path / "b").read_bytes() == b"new"

    def test_a_file_moved_to_itself_stays(self, tmp_path: Path) -> None:
        write_durably(tmp_path / "a", [b"x"])
        (tmp_path / "alias").symlink_to(tmp_path)
        move_durably(tmp_path / "a", tmp_path / "a")
        move_durably(tmp_path / "a", tmp_path / "alias" / "a")
        assert (tmp_path / "a").read_bytes() == b"x"

    @pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
    def test_renames_where_a_file_may_have_one_name_only(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        write_durably(tmp_path / "a", [b"x"])
        monkeypatch.setattr(os, "link", failing(number))
        move_durably(tmp_path / "a", tmp_path / "b")
        assert os.listdir(tmp_path) == ["b"]

    @pytest.mark.parametrize("elsewhere", ["b", "c"])
    def test_who_comes_late_leaves_the_file_where_the_other_put_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: str
    ) -> None:
        write_durably(tmp_path / "a", [b"x"])
        link = os.link

        def link_and_be_overtaken(*paths: Path, follow_symlinks: bool) -> None:
            link(*paths)
            monkeypatch.undo()
            move_durably(tmp_path / "a", tmp_path / elsewhere)

        monkeypatch.setattr(os, "link", link_and_be_overtaken)
        with pytest.raises(FileNotFoundError):
            move_durably(tmp_path / "a", tmp_path / "b")
        assert os.listdir(tmp_path) == [elsewhere]

    def test_a_symlink_is_moved_and_not_followed(self, tmp_path: Path) -> None:
        write_durably(tmp_path / "secret", [b"x"])
        (tmp_path / "a").symlink_to(tmp_path / "secret")
        move_durably(tmp_path / "a", tmp_path / "b")
        assert (tmp_path / "b").is_symlink()
        assert sorted(os.listdir(tmp_path)) == ["b", "secret"]


class TestDeleteDurably:
    def test_deletes_and_may_be_repeated(self, tmp_path: Path) -> None:
        write_durably(tmp_path / "a", [b"x"])
        delete_durably(tmp_path / "a")
        delete_durably(tmp_path / "a")
        assert os.listdir(tmp_path) == []


class TestMakeFolder:
    def test_makes_what_is_missing_and_may_be_repeated(self, tmp_path: Path) -> None:
        make_folder(tmp_path / "a" / "b" / "c")
        make_folder(tmp_path / "a" / "b" / "c")
        assert (tmp_path / "a" / "b" / "c").is_dir()

    def test_a_folder_that_somebody_else_makes_meanwhile_is_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mkdir = os.mkdir

        def come_second(path: Path) -> None:
            mkdir(path)
            mkdir(path)

        monkeypatch.setattr(os, "mkdir", come_second)
        make_folder(tmp_path / "a" / "b")
        assert (tmp_path / "a" / "b").is_dir()

    def test_a_file_of_that_name_is_an_error(self, tmp_path: Path) -> None:
        write_durably(tmp_path / "a", [b"x"])
        with pytest.raises(NotADirectoryError):
            make_folder(tmp_path / "a")

    def test_a_full_disk_is_an_error_of_ours(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "mkdir", failing(errno.ENOSPC))
        with pytest.raises(DiskFull):
            make_folder(tmp_path / "a")


class TestSweepDrafts:
    def test_takes_old_drafts_and_nothing_else(self, tmp_path: Path) -> None:
        for name in (f"{DRAFT}old", f"{DRAFT}young", "message.json"):
            (tmp_path / name).write_bytes(b"x")
        hour_ago = time.time() - 3600
        os.utime(tmp_path / f"{DRAFT}old", (hour_ago, hour_ago))
        assert sweep_drafts(tmp_path, older_than_seconds=600) == 1
        assert sorted(os.listdir(tmp_path)) == [f"{DRAFT}young", "message.json"]

    def test_follows_no_link_and_opens_nothing(self, tmp_path: Path) -> None:
        outside, folder = tmp_path / "outside", tmp_path / "folder"
        make_folder(folder)
        write_durably(outside, [b"x"])
        (folder / f"{DRAFT}link").symlink_to(outside)
        (folder / f"{DRAFT}broken").symlink_to(tmp_path / "nowhere")
        os.mkfifo(folder / f"{DRAFT}pipe")
        assert sweep_drafts(folder, older_than_seconds=-60) == 3
        assert os.listdir(folder) == []
        assert outside.read_bytes() == b"x"

    def test_a_link_is_as_old_as_itself_and_not_as_its_target(self, tmp_path: Path) -> None:
        write_durably(tmp_path / "old", [b"x"])
        os.utime(tmp_path / "old", (0, 0))
        (tmp_path / f"{DRAFT}link").symlink_to(tmp_path / "old")
        assert sweep_drafts(tmp_path, older_than_seconds=600) == 0

    def test_a_folder_is_nobodys_draft(self, tmp_path: Path) -> None:
        make_folder(tmp_path / f"{DRAFT}folder")
        write_durably(tmp_path / f"{DRAFT}file", [b"x"])
        assert sweep_drafts(tmp_path, older_than_seconds=-60) == 1
        assert os.listdir(tmp_path) == [f"{DRAFT}folder"]

    def test_a_draft_that_goes_meanwhile_is_no_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "listdir", lambda folder: [f"{DRAFT}gone"])
        assert sweep_drafts(tmp_path, older_than_seconds=-60) == 0

    def test_a_missing_folder_has_no_drafts(self, tmp_path: Path) -> None:
        assert sweep_drafts(tmp_path / "missing", older_than_seconds=0) == 0
