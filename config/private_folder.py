"""The folder of the data is its owner's alone: it holds sessions, secrets and everybody's messages."""

import os
import stat
from pathlib import Path

from config.environment.rules import BadVariable

OTHERS = stat.S_IRWXG | stat.S_IRWXO
UMASK = 0o077


def make_private(folder: Path) -> None:
    """Create the folder, or narrow one that others can look into; from here on the process makes private files alone.

    Nodes that share the folder run as the same user.
    """
    os.umask(UMASK)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadVariable("DATA_DIR", f"must be a folder that can be written to ({error.strerror})") from error
    _narrow(folder)
    # Of an installation from before: SQLite gives the files beside these the same mode.
    for database in folder.glob("*.sqlite3*"):
        _narrow(database)


def _narrow(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & OTHERS:
        return
    if mode & stat.S_ISVTX:
        raise BadVariable("DATA_DIR", f"must not be a folder that everybody shares: name a folder inside {path}")
    try:
        path.chmod(mode & ~OTHERS)
    except OSError as error:
        raise _open_to_others(path) from error
    if stat.S_IMODE(path.stat().st_mode) & OTHERS:  # a file system that keeps no modes
        raise _open_to_others(path)


def _open_to_others(path: Path) -> BadVariable:
    rule = "must be readable by nobody else, and its mode cannot be changed by this user"
    return BadVariable("DATA_DIR", f"{rule}: chown {path} to the user that runs Postern, or chmod it go-rwx")
