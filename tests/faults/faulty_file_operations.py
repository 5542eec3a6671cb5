"""Faulty variants of the file layer: each does its steps in an order that fails only when the power does."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from config.common.files import DRAFT, sync_folder, write_draft, write_durably


def write_without_sync(path: Path, chunks: Iterable[bytes]) -> None:
    os.rename(_draft(path, chunks), path)
    sync_folder(path.parent)


def write_without_sync_of_folder(path: Path, chunks: Iterable[bytes]) -> None:
    os.rename(_draft(path, chunks, synced=True), path)


def write_in_place(path: Path, chunks: Iterable[bytes]) -> None:
    _write(path, chunks, synced=True)
    sync_folder(path.parent)


def write_and_sync_after_rename(path: Path, chunks: Iterable[bytes]) -> None:
    os.rename(_draft(path, chunks), path)
    _write(path, [], synced=True)
    sync_folder(path.parent)


def write_and_sync_folder_before_rename(path: Path, chunks: Iterable[bytes]) -> None:
    draft = _draft(path, chunks, synced=True)
    sync_folder(path.parent)
    os.rename(draft, path)


def write_with_old_one_deleted_first(path: Path, chunks: Iterable[bytes]) -> None:
    draft = _draft(path, chunks, synced=True)
    with suppress(FileNotFoundError):
        os.unlink(path)
    os.rename(draft, path)
    sync_folder(path.parent)


def write_with_draft_that_looks_final(path: Path, chunks: Iterable[bytes]) -> None:
    draft = path.with_suffix(".new")
    write_draft(draft, chunks)
    os.rename(draft, path)
    sync_folder(path.parent)


def move_by_rename(source: Path, target: Path) -> None:
    os.rename(source, target)
    sync_folder(target.parent)
    sync_folder(source.parent)


def move_by_rename_with_source_synced_first(source: Path, target: Path) -> None:
    os.rename(source, target)
    sync_folder(source.parent)
    sync_folder(target.parent)


def move_by_rename_without_sync(source: Path, target: Path) -> None:
    os.rename(source, target)


def move_without_sync_between(source: Path, target: Path) -> None:
    _link(source, target)
    os.unlink(source)
    sync_folder(target.parent)
    sync_folder(source.parent)


def move_with_source_synced_first(source: Path, target: Path) -> None:
    _link(source, target)
    os.unlink(source)
    sync_folder(source.parent)
    sync_folder(target.parent)


def move_without_sync_of_source(source: Path, target: Path) -> None:
    _link(source, target)
    sync_folder(target.parent)
    os.unlink(source)


def move_by_copy(source: Path, target: Path) -> None:
    _write(target, [_read(source)])
    sync_folder(target.parent)
    os.unlink(source)
    sync_folder(source.parent)


def move_by_synced_copy_in_place(source: Path, target: Path) -> None:
    _write(target, [_read(source)], synced=True)
    sync_folder(target.parent)
    os.unlink(source)
    sync_folder(source.parent)


def move_with_source_deleted_first(source: Path, target: Path) -> None:
    content = _read(source)
    os.unlink(source)
    write_durably(target, [content])
    sync_folder(source.parent)


def delete_without_sync(path: Path) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def make_folder_without_sync(path: Path) -> None:
    for folder in _missing(path):
        os.mkdir(folder)


def make_folder_and_sync_only_itself(path: Path) -> None:
    for folder in _missing(path):
        os.mkdir(folder)
        sync_folder(folder)


def make_folder_and_sync_only_the_last_parent(path: Path) -> None:
    for folder in _missing(path):
        os.mkdir(folder)
    sync_folder(path.parent)


def make_folder_and_trust_what_is_there(path: Path) -> None:
    for folder in _missing(path):
        os.mkdir(folder)
        sync_folder(folder.parent)


def _draft(path: Path, chunks: Iterable[bytes], *, synced: bool = False) -> Path:
    draft = path.with_name(f"{DRAFT}{path.name}")
    _write(draft, chunks, synced=synced)
    return draft


def _write(path: Path, chunks: Iterable[bytes], *, synced: bool = False) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    for chunk in chunks:
        os.write(descriptor, chunk)
    if synced:
        os.fsync(descriptor)
    os.close(descriptor)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    content = os.read(descriptor, 1 << 20)
    os.close(descriptor)
    return content


def _link(source: Path, target: Path) -> None:
    with suppress(FileExistsError):
        os.link(source, target)


def _missing(path: Path) -> list[Path]:
    return [folder for folder in (*reversed(path.parents), path) if not _is_there(folder)]


def _is_there(path: Path) -> bool:
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True
