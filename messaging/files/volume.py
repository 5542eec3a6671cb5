"""The volume of the message files: a marker file in its root has the token that the database knows.

While the volume is not mounted its folder is missing, or empty: every file seems to be gone, and what is written there
is hidden when the volume comes back. So no file counts as missing, and no new message is accepted, unless the marker
shows that this is the volume.
"""

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.utils.translation import gettext_noop

from config.common.errors import VolumeAway
from config.common.files import DRAFT, make_folder, sync_folder, translate_disk_errors, write_draft
from messaging.files.paths import ensure_folders, folder_path, path_of, possible_paths, root
from messaging.models import ExchangeDatabase, Message, MessageVolume

MARKER = ".volume"
SAMPLE = 100
"""So many of the oldest and of the newest messages are looked for before a folder without a marker is adopted."""
NO_MARKER = gettext_noop(
    "The volume with the message files is not available: there is no marker in %(path)s on %(node)s. Mount it; no "
    "message is dropped meanwhile"
)
OTHER_MARKER = gettext_noop("The volume in %(path)s on %(node)s does not hold the message files of this database")
NO_FILES = gettext_noop(
    "The folder %(path)s on %(node)s has neither a marker nor any of the message files: mount the volume, or adopt "
    "the folder"
)
NO_FOLDER = gettext_noop(
    "The message folder %(path)s is missing on %(node)s: mount or restore it; if its files are lost for good, run "
    "`manage.py reindex_messages --adopt-volume`"
)
UNREADABLE = gettext_noop(
    "The volume with the message files cannot be read: %(path)s on %(node)s: %(reason)s (errno %(errno)s)"
)
# A process has used up its own resources: this says nothing of the volume.
_SCARCE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}

_known: dict[Path, uuid.UUID] = {}
"""The token of the database by folder: read once, and again when a marker differs."""


def check_volume() -> None:
    """Raise `VolumeAway` unless the marker is that of the volume that the database knows."""
    try:
        check_marker(read_marker())
    except VolumeAway:
        # Whoever adopts the folder meanwhile writes the marker before the row: with the row seen, it is there now.
        check_marker(read_marker())


def check_marker(marker: uuid.UUID | None) -> None:
    """Raise `VolumeAway` unless this marker, read before, is that of the volume that the database knows."""
    if marker is None or marker != _known.get(root()):
        _known[root()] = _recognise(marker)


def check_folder(database_id: str) -> None:
    """Raise `VolumeAway` unless the volume is there, with all folders of this database."""
    check_volume()
    missing = find_missing_folder(database_id)
    if missing is not None:
        raise VolumeAway(NO_FOLDER, path=str(missing))


def find_missing_folder(database_id: str) -> Path | None:
    """Return the first folder of this database that is missing; its own, if that is away, perhaps with its mount."""
    folders = [root() / database_id, *(folder_path(database_id, folder) for folder in Message.Folder.values)]
    try:
        return next((folder for folder in folders if not folder.is_dir()), None)
    except OSError as error:  # a mount that has died says so of its folders too
        raise _unreadable(root() / database_id, error) from error


def check_new_folders(database_id: str) -> None:
    """Raise `VolumeAway` unless the folders of this database may be created: with messages it has them already."""
    check_volume()
    if has_files(database_id):
        check_folder(database_id)


def has_files(database_id: str) -> bool:
    """Return whether files of this database must be on the volume, and so its folders too."""
    return Message.objects.filter(database=database_id, file_gone_at=None).exists()


@contextmanager
def volume_present(database_id: str) -> Iterator[None]:
    """Check that the volume is there before and after a search: what is not found in between does not exist."""
    check_folder(database_id)
    yield
    check_folder(database_id)


def adopt_volume(*, forced: bool = False) -> uuid.UUID:
    """Make the folder the volume of this database; return its token.

    A folder without a marker is adopted if it has files of the messages that the database knows, or if it knows none:
    then it is new, or from before there were markers. `forced` takes it as it is.
    """
    marker = read_marker()
    if marker is None and not forced and not _has_our_files():
        raise VolumeAway(NO_FILES, path=str(root()))
    token = marker or _write_marker()
    if forced:
        MessageVolume.objects.update_or_create(pk=1, defaults={"token": token})
        for database_id in ExchangeDatabase.objects.values_list("pk", flat=True):
            ensure_folders(database_id)
    else:
        token = _agree(token, MessageVolume.objects.get_or_create(pk=1, defaults={"token": token})[0].token)
    _known[root()] = token
    return token


def adopt_restored_volume() -> None:
    """Let a database that was restored from a backup adopt the volume that is there; without a marker it is away."""
    marker = read_marker()
    if marker is not None:
        MessageVolume.objects.update_or_create(pk=1, defaults={"token": marker})
    check_volume()


def read_marker() -> uuid.UUID | None:
    """Return the token in the marker, or None where there is no marker."""
    path = root() / MARKER
    try:
        return uuid.UUID(path.read_text().strip())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> Exception:
    if error.errno in _SCARCE:
        return error
    return VolumeAway(UNREADABLE, path=str(path), reason=error.strerror, errno=error.errno)


def check_writable() -> None:
    """Write and delete a file on the volume; raise the error of a disk that fails."""
    check_volume()
    draft = root() / f"{DRAFT}{uuid.uuid4().hex}"
    try:
        write_draft(draft, [b"postern\n"])
    finally:
        with suppress(OSError):  # the error of the write is what matters
            draft.unlink(missing_ok=True)


def _recognise(marker: uuid.UUID | None) -> uuid.UUID:
    known = MessageVolume.objects.filter(pk=1).first()
    if known is None:
        return adopt_volume()
    return _agree(marker, known.token)


def _agree(marker: uuid.UUID | None, token: uuid.UUID) -> uuid.UUID:
    if marker is None:
        raise VolumeAway(NO_MARKER, path=str(root()))
    if marker != token:
        raise VolumeAway(OTHER_MARKER, path=str(root()))
    return token


def _has_our_files() -> bool:
    expected = Message.objects.filter(file_gone_at=None)
    sample = [*expected.order_by("pk")[:SAMPLE], *expected.order_by("-pk")[:SAMPLE]]
    paths = (path for message in sample for path in (path_of(message), *possible_paths(message)))
    return not sample or any(os.path.lexists(path) for path in paths)


def _write_marker() -> uuid.UUID:
    """Write the marker and return its token, or that of another process that was faster."""
    # Before the row refers to it: otherwise a crash would have everybody wait for a volume that never was.
    make_folder(root())
    token = uuid.uuid4()
    draft = root() / f"{DRAFT}{token.hex}"
    with translate_disk_errors():
        write_draft(draft, [f"{token}\n".encode()])
        try:
            # Fails where there is a marker: of two processes that adopt the folder at once, one token stays.
            os.link(draft, root() / MARKER)
        except OSError:
            if read_marker() is None:  # what is there is no marker, or a file may have one name only
                os.rename(draft, root() / MARKER)
        draft.unlink(missing_ok=True)
        sync_folder(root())
    return read_marker() or token
