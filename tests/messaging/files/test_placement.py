import errno
import os
from pathlib import Path
from typing import Any

import pytest

from config.common.errors import DiskFailed, VolumeAway
from config.common.files import move_durably
from messaging.files import placement
from messaging.files.paths import draft_of, ensure_folders, path_of, possible_paths
from messaging.files.placement import FileForeign, FileMissing, delete_file, place_file, withdraw_file
from messaging.models import Message
from tests.messaging.failing_disk import failing
from tests.messaging.files.message_rows import row

pytestmark = pytest.mark.embedded


@pytest.fixture
def message() -> Message:
    """A message that is to go from Messages to Log."""
    ensure_folders("erp")
    return row(folder="Log", status="processed", moving_from="Messages")


def found(message: Message) -> list[str]:
    """List the folders in which the file is, and the draft."""
    paths = [path_of(message), *possible_paths(message)]
    return sorted("draft" if path == draft_of(message) else path.parent.name for path in paths if path.exists())


class TestPutInPlace:
    @pytest.mark.parametrize("folder", ["Messages", "Prepared", "Unknown", "Error", "Log"])
    def test_finds_it_in_any_folder(self, message: Message, folder: str) -> None:
        path_of(message, folder).write_bytes(b"{}")
        place_file(message)
        assert found(message) == ["Log"]

    def test_finds_it_without_its_name(self, message: Message) -> None:
        draft_of(message).write_bytes(b"{}")
        place_file(message)
        assert found(message) == ["Log"]

    def test_is_nowhere(self, message: Message) -> None:
        with pytest.raises(FileMissing, match="_m1_"):
            place_file(message)

    def test_again_is_the_same(self, message: Message) -> None:
        path_of(message, "Messages").write_bytes(b"{}")
        place_file(message)
        place_file(message)
        assert found(message) == ["Log"]

    def test_ends_a_move_that_was_stopped_half_way(self, message: Message) -> None:
        path_of(message, "Messages").write_bytes(b"{}")
        os.link(path_of(message, "Messages"), path_of(message))
        place_file(message)
        assert found(message) == ["Log"]

    @pytest.mark.parametrize("step", range(1, 7))
    def test_stopped_at_any_step_it_is_somewhere(self, message: Message, step: int) -> None:
        path_of(message, "Messages").write_bytes(b"{}")
        with failing(errno.EIO, at=step), pytest.raises(DiskFailed):
            place_file(message)
        assert found(message)
        place_file(message)
        assert found(message) == ["Log"]

    @pytest.mark.parametrize("folder", ["Messages", "Log"])
    def test_what_is_no_file_is_left_alone(self, message: Message, folder: str) -> None:
        path_of(message, folder).symlink_to("/etc/hostname")
        with pytest.raises(FileForeign):
            place_file(message)
        assert path_of(message, folder).is_symlink()

    @pytest.mark.parametrize("place", [place_file, lambda message: placement.place_files([message])])
    def test_makes_no_folder_that_is_gone(self, message: Message, folders: Path, place: Any) -> None:
        path_of(message, "Messages").write_bytes(b"{}")
        (folders / "Log").rmdir()
        with pytest.raises(VolumeAway):
            place(message)
        assert not (folders / "Log").exists()
        assert found(message) == ["Messages"]

    def test_name_given_between_two_looks_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The sender renames without a lock: neither look found it, yet it is there."""
        ensure_folders("erp")
        message, real = row(), placement.is_file
        draft_of(message).write_bytes(b"{}")

        def look_then_rename(path: Path) -> bool:
            is_there = real(path)
            if path == path_of(message) and draft_of(message).exists():
                os.rename(draft_of(message), path)
            return is_there

        monkeypatch.setattr(placement, "is_file", look_then_rename)
        place_file(message)
        assert found(message) == ["Messages"]

    @pytest.mark.parametrize("target", ["Messages", "Log"])
    def test_name_given_between_look_and_move_is_seen(self, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
        ensure_folders("erp")
        message, real = row(folder=target, status="processed"), move_durably
        draft_of(message).write_bytes(b"{}")

        def rename_then_move(source: Path, to: Path) -> None:
            if source == draft_of(message):
                os.rename(source, path_of(message, "Messages"))
            real(source, to)

        monkeypatch.setattr(placement, "move_durably", rename_then_move)
        place_file(message)
        assert found(message) == [target]


class TestWithdraw:
    @pytest.mark.parametrize("folder", ["Prepared", "Unknown", "Messages"])
    def test_takes_the_name_away(self, folder: str) -> None:
        ensure_folders("erp")
        reply = row(direction="reply", folder=folder)
        path_of(reply).write_bytes(b"{}")
        withdraw_file(reply)
        assert found(reply) == ["draft"]

    def test_draft_stays_as_it_is(self) -> None:
        ensure_folders("erp")
        reply = row(direction="reply", folder="Prepared")
        draft_of(reply).write_bytes(b"{}")
        withdraw_file(reply)
        assert found(reply) == ["draft"]


class TestDeleteFile:
    @pytest.mark.parametrize("names", [["Log"], ["Messages", "Log"], ["draft"], []])
    def test_deletes_it_wherever_it_is(self, message: Message, names: list[str]) -> None:
        for name in names:
            path: Any = draft_of(message) if name == "draft" else path_of(message, name)
            path.write_bytes(b"{}")
        delete_file(message)
        assert found(message) == []
