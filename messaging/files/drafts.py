"""Drafts of message files: written before the row is committed, renamed after it.

A draft is on the disk, its own name included, before the row that refers to it is committed; after the commit a rename
gives it the name of the message. A crash before the commit leaves a draft without a row, which is swept an hour later.
After one behind the commit the row's token finds the draft, and whoever needs the file first moves it. The rename
is not synced: within one folder it has happened or not, and either way the file is found.
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
    """Write the message files of one database and direction as drafts, all or none."""
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
    check_volume()  # last: the drafts were written on the volume that is there now, and on no other


def _make_folders(database_id: str) -> None:
    check_new_folders(database_id)
    ensure_folders(database_id)


def drop_drafts(messages: Sequence[Message]) -> None:
    """Delete the drafts of messages that were not accepted."""
    _delete([draft_of(message) for message in messages])


def name_drafts(messages: Sequence[Message]) -> None:
    """Rename the drafts of committed rows to their names; where that fails, whoever needs the file next does it."""
    for message in messages:
        with suppress(OSError):  # somebody was faster, or the disk fails: the row's token still finds the draft
            os.rename(draft_of(message), path_of(message))


def _delete(drafts: Sequence[Path]) -> None:
    for draft in drafts:
        with suppress(OSError):  # what is left is swept later
            draft.unlink(missing_ok=True)
