"""Write the files of new messages: drafts first, their rows next, their names last.

A draft is on the disk, name and all, before the row that speaks of it is committed; after the commit a rename gives it
its name. Killed before the commit: a draft that no row knows, swept an hour later. Killed after it: the row's token
finds the draft, and whoever wants the file first puts it in its place. The rename is not synced: within one folder it
is done or not done, and either way the file is found.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from config.common.files import sync_folder, translate_disk_errors, write_draft
from messaging.files.envelope import content_of
from messaging.files.paths import are_folders_ensured, draft_of, ensure_folders, path_of
from messaging.files.reader import as_application_error
from messaging.files.volume import check_new_folders, check_volume
from messaging.models.message import Message


def write_drafts(messages: Sequence[tuple[Message, bytes]]) -> None:
    """Bring the files of messages of one database and direction to the disk, all or none."""
    if not messages:
        return
    drafts = [draft_of(message) for message, _ in messages]
    try:
        with translate_disk_errors():
            _write(messages, drafts)
    except BaseException as error:
        _delete(drafts)
        if isinstance(error, OSError):
            raise as_application_error(error) from error
        raise


def _write(messages: Sequence[tuple[Message, bytes]], drafts: Sequence[Path]) -> None:
    database_id = messages[0][0].database_id
    if not are_folders_ensured(database_id):
        _make_folders(database_id)
    for (message, payload), draft in zip(messages, drafts, strict=True):
        content = content_of(message, payload)
        try:
            write_draft(draft, content)
        except FileNotFoundError:  # the folder was taken away
            _make_folders(database_id)
            write_draft(draft, content)
    sync_folder(drafts[0].parent)
    check_volume()  # last: on the volume that is there now the drafts were written, and on no other


def _make_folders(database_id: str) -> None:
    check_new_folders(database_id)
    ensure_folders(database_id)


def drop_drafts(messages: Sequence[Message]) -> None:
    """Delete the drafts of messages that were not accepted after all."""
    _delete([draft_of(message) for message in messages])


def name_drafts(messages: Sequence[Message]) -> None:
    """Give the files of committed rows their names; where that fails, the next who wants the file does it."""
    for message in messages:
        with suppress(OSError):  # somebody was first, or the disk fails: the row's token still finds the draft
            os.rename(draft_of(message), path_of(message))


def _delete(drafts: Sequence[Path]) -> None:
    for draft in drafts:
        with suppress(OSError):  # what is left is swept
            draft.unlink(missing_ok=True)
