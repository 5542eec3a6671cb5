"""Secrets that nobody configured: made once in DATA_DIR, readable by their owner alone."""

import base64
import os
import secrets
from collections.abc import Callable
from pathlib import Path


def signing_key(folder: Path) -> str:
    return _load_or_make(folder / "secret_key", lambda: secrets.token_urlsafe(64))


def field_key(folder: Path) -> str:
    return _load_or_make(folder / "field_key", lambda: base64.urlsafe_b64encode(os.urandom(32)).decode())


def _load_or_make(path: Path, make: Callable[[], str]) -> str:
    """Return the kept secret; of several processes that start at once the first one's value wins."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make())
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first: its value is the one read below
        finally:
            draft.unlink()
        _sync_folder(path.parent)
    return path.read_text().strip()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
