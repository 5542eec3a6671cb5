import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from config.common.errors import DiskFailed
from messaging.files.envelope import content_of
from messaging.files.paths import ensure_folders, path_of
from messaging.files.reader import CHUNK, OutOfResources, Unreadable, check_file, join_files, read_chunks
from messaging.models import Message
from tests.messaging.failing_disk import failing
from tests.messaging.files.message_rows import row

pytestmark = pytest.mark.embedded


def written(id: str = "m1", payload: bytes = b'{"n":1}') -> Message:
    ensure_folders("erp")
    message = row(id, payload)
    path_of(message).write_bytes(b"".join(content_of(message, payload)))
    return message


def shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def rewrite(path: Path) -> None:
    path.write_bytes(b" " * path.stat().st_size)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_link(path: Path) -> None:
    os.rename(path, path.with_name("other"))
    path.symlink_to("other")


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


class TestCheckFile:
    def test_is_as_it_was_written(self) -> None:
        check_file(written())
        check_file(written(), whole=True)

    @pytest.mark.parametrize(
        "spoil", [shorten, lengthen, rewrite, empty, replace_by_link, replace_by_pipe, replace_by_folder]
    )
    def test_is_not_as_it_was_written(self, spoil: Callable[[Path], None]) -> None:
        message = written()
        spoil(path_of(message))
        with pytest.raises(Unreadable):
            check_file(message)

    def test_is_another_messages(self) -> None:
        message, other = written("m1"), written("m2")
        os.rename(path_of(other), path_of(message))
        with pytest.raises(Unreadable):
            check_file(message)

    def test_is_not_there(self) -> None:
        with pytest.raises(FileNotFoundError):
            check_file(row())

    @pytest.mark.parametrize("name", ["open", "read"])
    def test_disk_that_fails_once_is_asked_again(self, name: str) -> None:
        message = written()
        with failing(errno.EIO, names=[name]):
            check_file(message)
        with failing(errno.EIO, names=[name], times=2), pytest.raises(Unreadable):
            check_file(message)

    @pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
    def test_lack_of_resources_is_not_the_files_fault(self, error: int) -> None:
        message = written()
        with failing(error, names=["open"]), pytest.raises(OutOfResources):
            check_file(message)

    @pytest.mark.parametrize("name", ["open", "read"])
    def test_neither_is_another_failure(self, name: str) -> None:
        message = written()
        with failing(errno.ESTALE, names=[name]), pytest.raises(DiskFailed):
            check_file(message)

    def test_only_a_whole_look_sees_the_end(self) -> None:
        message = written(payload=b'"' + b"x" * 3 * CHUNK + b'"')
        with failing(errno.EIO, names=["read"], at=3, times=9) as disk:
            check_file(message)
            assert disk.steps == 1
            with pytest.raises(Unreadable):
                check_file(message, whole=True)

    def test_leaves_no_file_open(self) -> None:
        message, before = written(), len(os.listdir("/proc/self/fd"))
        shorten(path_of(message))
        for _ in range(5):
            with pytest.raises(Unreadable):
                check_file(message)
        assert len(os.listdir("/proc/self/fd")) == before


class TestReadChunks:
    def test_every_byte_in_bounded_pieces(self) -> None:
        message = written(payload=b'"' + b"x" * 3 * CHUNK + b'"')
        chunks = list(read_chunks(message))
        assert b"".join(chunks) == path_of(message).read_bytes()
        assert max(map(len, chunks)) == CHUNK

    def test_shortened_meanwhile(self) -> None:
        message = written()
        shorten(path_of(message))
        with pytest.raises(Unreadable):
            list(read_chunks(message))

    def test_lengthened_meanwhile_it_ends_where_it_should(self) -> None:
        message = written()
        content = path_of(message).read_bytes()
        lengthen(path_of(message))
        assert b"".join(read_chunks(message)) == content

    def test_given_up_half_way_it_leaves_no_file_open(self) -> None:
        message, before = written(payload=b'"' + b"x" * 3 * CHUNK + b'"'), len(os.listdir("/proc/self/fd"))
        chunks = read_chunks(message)
        next(chunks)
        chunks.close()  # type: ignore[attr-defined]
        assert len(os.listdir("/proc/self/fd")) == before


class TestJoinFiles:
    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_commas_stand_between_them(self, count: int) -> None:
        messages = [written(f"m{number}") for number in range(count)]
        files = b",".join(path_of(message).read_bytes() for message in messages)
        assert b"".join(join_files(b"<", messages, b">")) == b"<" + files + b">"

    def test_small_files_share_a_piece_and_large_ones_come_in_several(self) -> None:
        small = [written(f"s{number}") for number in range(20)]
        large = written("l1", b'"' + b"x" * 10 * CHUNK + b'"')
        pieces = list(join_files(b"<", [*small, large], b">"))
        assert 10 <= len(pieces) <= 12
        assert max(map(len, pieces)) <= 2 * CHUNK

    def test_opens_one_at_a_time(self) -> None:
        messages, before = (
            [written(f"m{number}", b'"' + b"x" * CHUNK + b'"') for number in range(5)],
            len(os.listdir("/proc/self/fd")),
        )
        most = max(len(os.listdir("/proc/self/fd")) for _ in join_files(b"<", messages, b">"))
        assert most <= before + 1
