import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from config.common.errors import VolumeAway
from config.runtime.backup.archive import ArchiveWriter, check, read_members
from config.runtime.backup.create import create_backup
from messaging.files.paths import root
from messaging.files.volume import check_volume

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.embedded]


@pytest.fixture(autouse=True)
def _own_folders() -> Iterator[None]:
    check_volume()
    yield
    shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


def put(name: str) -> Path:
    path = root() / "erp" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(name)
    return path


def messages_in(backup: Path) -> set[str]:
    return {name for name, _, _ in read_members(backup) if name.startswith("messages/erp/")}


def create(path: Path) -> Any:
    return create_backup(path, lambda what, done, of: None)


def test_has_database_messages_keys_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIND_ADDRESS", "127.0.0.9")
    put("Log/a.json")
    create(tmp_path / "b")
    members = {name: file.read() for name, _, file in read_members(tmp_path / "b")}
    assert check(tmp_path / "b").members == len(members)
    assert {"messages/.volume", "messages/erp/Log/a.json", "settings.env"} <= set(members)
    assert any(name.startswith("database.") and size for name, size in members.items())
    assert b"BIND_ADDRESS=127.0.0.9\n" in members["settings.env"]


def test_a_message_that_moves_while_it_is_looked_for_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders are read one after the other: it leaves one that was not read yet for one that was."""
    moves = [(put("Messages/a.json"), root() / "erp/Log/a.json"), (put("Prepared/b.json"), root() / "erp/Error/b.json")]
    for _, target in moves:
        target.parent.mkdir()
    add_file = ArchiveWriter.add_file

    def move_first(writer: ArchiveWriter, name: str, path: Path) -> bool:
        if moves and name.startswith("messages/"):
            source, target = moves.pop()
            source.rename(target)
        return add_file(writer, name, path)

    monkeypatch.setattr(ArchiveWriter, "add_file", move_first)
    create(tmp_path / "b")
    assert {name.rpartition("/")[2] for name in messages_in(tmp_path / "b")} == {"a.json", "b.json"}


def test_without_the_volume_there_is_no_backup(tmp_path: Path) -> None:
    (root() / ".volume").unlink()
    put("Log/a.json")
    with pytest.raises(VolumeAway):
        create(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []
