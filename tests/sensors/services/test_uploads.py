import os
import time
from pathlib import Path
from typing import Any

import pytest
import time_machine

from sensors.services.uploads import LIFETIME_SECONDS, UploadGone, drop_upload, read_upload, save_upload


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path / "uploads"


class TestReadUpload:
    def test_gives_the_file_back_to_its_owner(self) -> None:
        assert read_upload(save_upload(b"id\n", owner="1"), owner="1") == b"id\n"

    def test_gives_it_to_nobody_else(self) -> None:
        with pytest.raises(UploadGone):
            read_upload(save_upload(b"id\n", owner="1"), owner="2")

    @pytest.mark.parametrize("token", ["", "../../etc/passwd", "WyIxIiwiLi4vYSJd:1sF:x"])
    def test_takes_no_token_that_it_has_not_made(self, token: str) -> None:
        with pytest.raises(UploadGone):
            read_upload(token, owner="1")

    def test_forgets_after_an_hour(self) -> None:
        token = save_upload(b"id\n", owner="1")
        with time_machine.travel(time.time() + LIFETIME_SECONDS + 1), pytest.raises(UploadGone):
            read_upload(token, owner="1")

    def test_is_gone_once_it_is_dropped(self) -> None:
        token = save_upload(b"id\n", owner="1")
        drop_upload(token, owner="1")
        with pytest.raises(UploadGone):
            read_upload(token, owner="1")


class TestKeepUpload:
    def test_deletes_what_nobody_came_back_for(self, folder: Path) -> None:
        save_upload(b"old", owner="1")
        (old,) = folder.iterdir()
        os.utime(old, (0, 0))
        save_upload(b"new", owner="1")
        assert [file.read_bytes() for file in folder.iterdir()] == [b"new"]
