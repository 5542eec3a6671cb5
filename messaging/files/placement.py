"""Move a file to the folder that its row names. The caller keeps the row locked until it has committed."""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from django.utils.translation import gettext_noop

from config.common.files import delete_durably, move_all_durably, move_durably, translate_disk_errors
from messaging.files.paths import draft_of, path_of, possible_paths
from messaging.files.volume import check_folder, volume_present
from messaging.models.message import Message

LOOKS = 3
MISSING = gettext_noop("the file is in none of its folders")


class FileMissing(Exception):
    """The file is in none of its folders."""


class FileForeign(Exception):
    """Something that is no file has the message's name."""


def place_file(message: Message) -> None:
    """Move the file to its folder from wherever it is; copies that a crash left elsewhere are removed.

    It is looked for in all folders: a crash, or a process that lost its lock, may have put it there; the row decides.
    """
    # The sender renames its draft without a lock, perhaps between two looks: one round without the file proves nothing.
    for _ in range(LOOKS - 1):
        with suppress(FileNotFoundError):
            if _move_from_anywhere(message):
                return
    # Nor does any round without the volume.
    with volume_present(message.database_id), suppress(FileNotFoundError):
        if _move_from_anywhere(message):
            return
    raise FileMissing(path_of(message).name)


def find_files(message: Message) -> list[Path]:
    """Return the paths at which the file lies, its draft included; none only if its volume was there to look at."""
    if found := _look(message):
        return found
    with volume_present(message.database_id):
        return _look(message)


def place_files(messages: Sequence[Message]) -> None:
    """Move the files of several messages of one database; raise `FileMissing` for one that is not found."""
    moves: list[tuple[Path, Path]] = []
    for message in messages:
        target = path_of(message)
        sources = [path for path in possible_paths(message) if is_file(path)]
        if not sources and not is_file(target):
            raise FileMissing(target.name)
        moves += ((source, target) for source in sources)
    if moves:
        check_folder(messages[0].database_id)
        move_all_durably(moves)


def withdraw_file(message: Message) -> None:
    """Rename the file back to its draft, before it is deleted: no new message can have that name."""
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


def _move_from_anywhere(message: Message) -> bool:
    """Move the file from where it is; return whether it is in its folder now."""
    target = path_of(message)
    sources = [path for path in possible_paths(message) if is_file(path)]
    if not sources:
        return is_file(target)
    check_folder(message.database_id)
    for source in sources:  # beside a file in its folder lies what a crash left of a move: finishing it removes that
        move_durably(source, target)
    return True
