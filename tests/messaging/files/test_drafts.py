import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from config.common.errors import DiskFailed, DiskFull
from messaging.files import drafts
from messaging.files.drafts import drop_drafts, name_drafts, write_drafts
from messaging.files.envelope import content_of
from messaging.files.paths import draft_of, path_of
from messaging.files.reader import OutOfResources
from tests.faults.simulated_disk import Disk, DiskOs, Renames
from tests.messaging.failing_disk import failing
from tests.messaging.files.message_rows import row

pytestmark = pytest.mark.embedded


class TestWriteDrafts:
    def test_file_is_whole_and_has_no_name_yet(self, folders: Path) -> None:
        message = row(payload=b'{"n": 1}')
        write_drafts([(message, b'{"n": 1}')])
        content = draft_of(message).read_bytes()
        assert (len(content), json.loads(content)["payload"]) == (message.size, {"n": 1})
        assert not path_of(message).exists()

    def test_nothing_to_write_touches_nothing(self, folders: Path) -> None:
        write_drafts([])
        assert not folders.exists()

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (errno.ENOSPC, DiskFull),
            (errno.EDQUOT, DiskFull),
            (errno.EIO, DiskFailed),
            (errno.EROFS, DiskFailed),
            (errno.EMFILE, OutOfResources),
        ],
    )
    def test_all_or_none(self, folders: Path, error: int, expected: type[Exception]) -> None:
        write_drafts([(row("m0"), b"0")])
        first = {*folders.glob("*/*"), *folders.glob("*/.*")}
        with failing(error, names=["write"], at=5), pytest.raises(expected):
            write_drafts([(row("m1"), b"1"), (row("m2"), b"2")])
        assert {*folders.glob("*/*"), *folders.glob("*/.*")} == first

    def test_a_folder_that_was_taken_away_is_made_again(self, folders: Path) -> None:
        write_drafts([(row("m1"), b"{}")])
        shutil.rmtree(folders)
        message = row("m2")
        write_drafts([(message, b"{}")])
        assert draft_of(message).exists()

    def test_draft_of_another_is_never_overwritten(self, folders: Path) -> None:
        message = row()
        write_drafts([(message, b"1")])
        with pytest.raises(DiskFailed):
            write_drafts([(message, b"2")])


class TestCrash:
    """The row is committed when the drafts are written: a crash from then on must find each of them."""

    @pytest.mark.parametrize("renames", Renames)
    def test_whatever_a_crash_keeps_the_drafts_are_whole_once_they_are_written(
        self, monkeypatch: pytest.MonkeyPatch, renames: Renames
    ) -> None:
        messages = [(row(f"m{n}", b'{"n": 1}'), b'{"n": 1}') for n in range(2)]
        disk = Disk(renames)
        for folder in reversed(draft_of(messages[0][0]).parents[:-1]):
            disk.make(folder, folder=True)
            disk.sync(disk.find(folder.parent))
        monkeypatch.setattr("config.common.files.os", DiskOs(disk))
        monkeypatch.setattr(drafts, "are_folders_ensured", lambda database_id: True)
        monkeypatch.setattr(drafts, "check_volume", lambda: None)
        write_drafts(messages)
        states = list(disk.states())
        assert states
        for message, payload in messages:
            whole = b"".join(content_of(message, payload))
            kept = {state.contents.get(state.tree.files.get(str(draft_of(message)), "")) for state in states}
            assert kept == {whole}


class TestNameDrafts:
    def test_gives_them_their_names(self) -> None:
        messages = [row("m1"), row("m2")]
        write_drafts([(message, b"{}") for message in messages])
        name_drafts(messages)
        assert all(path_of(message).exists() and not draft_of(message).exists() for message in messages)

    def test_who_comes_late_does_no_harm(self) -> None:
        message = row()
        write_drafts([(message, b"{}")])
        os.rename(draft_of(message), path_of(message, "Log"))
        name_drafts([message])
        assert not path_of(message).exists()

    def test_one_that_fails_stops_no_other(self) -> None:
        messages = [row("m1"), row("m2")]
        write_drafts([(message, b"{}") for message in messages])
        with failing(errno.EIO, names=["rename"]):
            name_drafts(messages)
        assert [path_of(message).exists() for message in messages] == [False, True]
        assert draft_of(messages[0]).exists()


class TestDropDrafts:
    def test_deletes_what_is_there(self) -> None:
        messages = [row("m1"), row("m2")]
        write_drafts([(messages[1], b"{}")])
        drop_drafts(messages)
        assert not draft_of(messages[1]).exists()
