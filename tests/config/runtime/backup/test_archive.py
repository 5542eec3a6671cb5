import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from config.runtime.backup.archive import (
    MANIFEST,
    ArchiveDamaged,
    ArchiveWriter,
    Manifest,
    check,
    read_members,
    written,
)


def write(path: Path, **members: bytes) -> Path:
    with written(path) as writer:
        for name, content in members.items():
            writer.add_bytes(name, content)
        writer.finish(manifest())
    return path


def manifest() -> Manifest:
    return Manifest(version="1", made_at="now", database="sqlite", migrations=["sensors.0001"], field_keys=["f"])


def repack(path: Path, target: Path, *, without: str = "", extra: tarfile.TarInfo | None = None) -> Path:
    """Write the members of a backup anew, otherwise than they were."""
    with tarfile.open(path, "r:gz") as old, tarfile.open(target, "w:gz") as new:
        for entry in old:
            if entry.name != without:
                new.addfile(entry, old.extractfile(entry))
        if extra is not None:
            new.addfile(extra, io.BytesIO(b"x" * extra.size))
    return target


class TestCheck:
    def test_a_whole_one_has_its_manifest_and_members(self, tmp_path: Path) -> None:
        path = write(tmp_path / "b", one=b"1", two=b"22")
        assert (check(path).members, check(path).migrations) == (2, ["sensors.0001"])
        assert [(name, file.read()) for name, _, file in read_members(path)] == [("one", b"1"), ("two", b"22")]

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
    def test_one_that_was_cut_is_damaged(self, tmp_path: Path, share: float) -> None:
        path = write(tmp_path / "b", one=os.urandom(50_000))
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
        with pytest.raises(ArchiveDamaged):
            check(path)

    def test_a_byte_that_was_changed_is_noticed(self, tmp_path: Path) -> None:
        path = write(tmp_path / "b", one=b"amount: 100")
        content = gzip.decompress(path.read_bytes()).replace(b"amount: 100", b"amount: 900")
        path.write_bytes(gzip.compress(content))
        with pytest.raises(ArchiveDamaged, match="not what was written"):
            check(path)

    @pytest.mark.parametrize("without", ["one", MANIFEST])
    def test_a_member_that_is_gone_is_noticed(self, tmp_path: Path, without: str) -> None:
        path = write(tmp_path / "b", one=b"1", two=b"22")
        with pytest.raises(ArchiveDamaged):
            check(repack(path, tmp_path / "c", without=without))

    def test_something_behind_the_manifest_is_noticed(self, tmp_path: Path) -> None:
        path = write(tmp_path / "b", one=b"1")
        extra = tarfile.TarInfo("two")
        extra.size = 1
        with pytest.raises(ArchiveDamaged):
            check(repack(path, tmp_path / "c", extra=extra))

    @pytest.mark.parametrize("name", ["/etc/passwd", "messages/../../x", ".."])
    def test_names_that_lead_outside_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ArchiveDamaged, match="no backup has"):
            check(write(tmp_path / "b", **{name: b"x"}))

    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
    def test_only_files_are_members(self, tmp_path: Path, kind: bytes) -> None:
        extra = tarfile.TarInfo("messages/x")
        extra.type, extra.linkname = kind, "/etc/passwd"
        with pytest.raises(ArchiveDamaged):
            check(repack(write(tmp_path / "b", one=b"1"), tmp_path / "c", extra=extra))

    @pytest.mark.parametrize(
        "content",
        [b"", b"no archive", gzip.compress(b"no archive either", mtime=0)],
        ids=["empty", "text", "packed text"],
    )
    def test_any_other_file_is_no_backup(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "b").write_bytes(content)
        with pytest.raises(ArchiveDamaged):
            check(tmp_path / "b")


class TestWritten:
    def test_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        assert write(tmp_path / "b").stat().st_mode & 0o777 == 0o600

    def test_what_fails_leaves_the_one_before(self, tmp_path: Path) -> None:
        path = write(tmp_path / "b", one=b"1")
        with pytest.raises(FileNotFoundError), written(path):
            (tmp_path / "gone").read_bytes()
        assert [file.read() for _, _, file in read_members(path)] == [b"1"]
        assert list(tmp_path.iterdir()) == [path]


class TestAddFile:
    def test_what_is_gone_or_no_file_is_left_out(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("/etc/passwd")
        writer = ArchiveWriter(io.BytesIO())
        found = [writer.add_file(name, tmp_path / name) for name in ("gone", "pipe", "link", ".")]
        assert (found, writer.members) == ([False] * 4, 0)
