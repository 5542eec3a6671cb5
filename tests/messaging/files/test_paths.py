import errno
from pathlib import Path

import pytest

from config.common.errors import DiskFull
from messaging.files.paths import draft_of, ensure_folders, path_of, possible_paths
from tests.messaging.failing_disk import failing
from tests.messaging.files.message_rows import row

pytestmark = pytest.mark.embedded

FOLDERS = ["Error", "Log", "Messages", "Prepared", "Unknown"]


class TestPathOf:
    def test_lies_in_the_folder_of_the_database(self, folders: Path) -> None:
        assert path_of(row()).parent == folders / "Messages"
        assert path_of(row(direction="reply", folder="Prepared")).parent == folders / "Prepared"
        assert path_of(row(), "Log").parent == folders / "Log"

    def test_draft_is_beside_where_the_file_is_born(self, folders: Path) -> None:
        request, reply = row(folder="Log"), row(direction="reply", folder="Log")
        assert draft_of(request) == folders / "Messages" / f".draft-{request.token.hex}"
        assert draft_of(reply) == folders / "Prepared" / f".draft-{reply.token.hex}"


class TestPossiblePaths:
    def test_likeliest_first_each_once_the_right_one_never(self, folders: Path) -> None:
        message = row(folder="Log", moving_from="Unknown")
        paths = list(possible_paths(message))
        assert paths[0].parent.name == "Unknown"
        assert sorted(path.parent.name for path in paths[:-1]) == ["Error", "Messages", "Prepared", "Unknown"]
        assert paths[-1] == draft_of(message)


class TestEnsureFolders:
    def test_makes_the_five(self, folders: Path) -> None:
        ensure_folders("erp")
        assert sorted(path.name for path in folders.iterdir()) == FOLDERS

    @pytest.mark.parametrize("name", FOLDERS)
    def test_makes_what_is_missing(self, folders: Path, name: str) -> None:
        ensure_folders("erp")
        (folders / name).rmdir()
        ensure_folders("erp")
        assert sorted(path.name for path in folders.iterdir()) == FOLDERS

    def test_touches_nothing_when_they_are_there(self) -> None:
        ensure_folders("erp")
        with failing() as disk:
            ensure_folders("erp")
        assert disk.steps == 0

    def test_folder_whose_sync_failed_is_synced_the_next_time(self, folders: Path) -> None:
        folders.mkdir(parents=True)
        with failing(errno.ENOSPC, names=["fsync"], at=3), pytest.raises(DiskFull):
            ensure_folders("erp")
        assert [path.name for path in folders.iterdir()] == ["Messages"]
        with failing(names=["fsync"], at=100) as disk:
            ensure_folders("erp")
        assert disk.steps > 10, "Messages too"
