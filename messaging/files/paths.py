"""Where message files lie: `DATA_DIR/messages/{database}/{folder}/{name}`."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from config.common.files import DRAFT, make_folder
from messaging.files.names import name_of
from messaging.models.message import Message

Folder = Message.Folder
# The folder in which a message of each direction is first written, and where its draft may be.
DRAFT_FOLDER = {Message.Direction.REQUEST: Folder.MESSAGES, Message.Direction.REPLY: Folder.PREPARED}


def root() -> Path:
    path: Path = settings.DATA_DIR / "messages"
    return path


def folder_path(database_id: str, folder: str) -> Path:
    return _folder_path(settings.DATA_DIR, database_id, folder)


@lru_cache(maxsize=10_000)
def _folder_path(data_dir: Path, database_id: str, folder: str) -> Path:
    return data_dir / "messages" / database_id / folder


def ensure_folders(database_id: str) -> None:
    """Create the five folders of a database durably; after the first time in a process that costs five `stat` calls."""
    folders = [folder_path(database_id, folder) for folder in Folder.values]
    if database_id in _ensured and all(folder.is_dir() for folder in folders):
        return
    for folder in folders:
        make_folder(folder)
    _ensured.add(database_id)


def are_folders_ensured(database_id: str) -> bool:
    """Return whether this process has ensured the folders of a database; they may have been removed since."""
    return database_id in _ensured


# A process that created a folder may have been killed before it was on the disk: each process ensures it once.
_ensured: set[str] = set()


def path_of(message: Message, folder: str = "") -> Path:
    return folder_path(message.database_id, folder or message.folder) / name_of(message)


def draft_of(message: Message) -> Path:
    """Return the path of the file before it has its name."""
    birthplace = DRAFT_FOLDER[Message.Direction(message.direction)]
    return folder_path(message.database_id, birthplace) / f"{DRAFT}{message.token.hex}"


def possible_paths(message: Message) -> Iterator[Path]:
    """Yield the paths where the file may be if it is not in its folder, the likeliest first."""
    base, name = root() / message.database_id, name_of(message)
    if message.moving_from:
        yield base / message.moving_from / name
    yield from (base / each / name for each in Folder.values if each not in (message.folder, message.moving_from))
    yield draft_of(message)
