"""Bring a file to where its row says it belongs. The caller holds the row's lock until it has committed."""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from config.common.files import delete_durably, move_all_durably, move_durably, translate_disk_errors
from messaging.files.paths import draft_of, ensure_folders, path_of, possible_paths
from messaging.files.volume import volume_present
from messaging.models.message import Message

LOOKS = 3


class FileMissing(Exception):
    """The file is in none of its folders."""


class FileForeign(Exception):
    """Something that is no file has the message's name."""


def place_file(message: Message) -> None:
    """Move the file to its folder from wherever it is; what a crash left of it elsewhere goes.

    A file that is not where it was left is looked for in the other folders: a mover that lost its lock, or a crash,
    may have put it there, and the row decides. Its sender holds no lock when the draft gets its name, which may be
    between two looks: one round that does not find the file proves nothing. Nor does any without its volume.
    """
    for _ in range(LOOKS - 1):
        with suppress(FileNotFoundError):
            if _bring(message):
                return
    with volume_present(message.database_id), suppress(FileNotFoundError):
        if _bring(message):
            return
    raise FileMissing(path_of(message).name)


def find_files(message: Message) -> list[Path]:
    """List where the file lies, its draft included; it is nowhere only if its volume was there to look at."""
    if found := _look(message):
        return found
    with volume_present(message.database_id):
        return _look(message)


def place_files(messages: Sequence[Message]) -> None:
    """Move the files of several messages of one database; one that is not found raises, and may be tried alone."""
    moves: list[tuple[Path, Path]] = []
    for message in messages:
        target = path_of(message)
        sources = [path for path in possible_paths(message) if is_file(path)]
        if not sources and not is_file(target):
            raise FileMissing(target.name)
        moves += ((source, target) for source in sources)
    if moves:
        ensure_folders(messages[0].database_id)
        move_all_durably(moves)


def withdraw_file(message: Message) -> None:
    """Take the file of a row that is about to be deleted back to its draft, from where no new message can have it."""
    draft = draft_of(message)
    for path in find_files(message):
        if path != draft:
            move_durably(path, draft)


def delete_file(message: Message) -> None:
    """Delete the file for good, wherever it is."""
    for path in _look(message):
        delete_durably(path)


def is_file(path: Path) -> bool:
    with translate_disk_errors():
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            return False
    if not stat.S_ISREG(mode):
        raise FileForeign(path.name)
    return True


def _look(message: Message) -> list[Path]:
    return [path for path in (path_of(message), *possible_paths(message)) if is_file(path)]


def _bring(message: Message) -> bool:
    """Return whether the file is in its place now."""
    target = path_of(message)
    sources = [path for path in possible_paths(message) if is_file(path)]
    if not sources:
        return is_file(target)
    ensure_folders(message.database_id)
    for source in sources:  # beside a file in its place there is what a stopped move left, and finishing it removes it
        move_durably(source, target)
    return True
