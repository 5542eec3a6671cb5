"""Where the processes of one node keep their counters together: in memory, apart from all data.

The library that counts maps its files: a write to a page for which the disk has no room is no error but SIGBUS, the end
of the process. So they never lie on the file system of `DATA_DIR`, which data may fill.

Plain Python, and before Django: the library looks for the folder when it is imported.
"""

import os
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from config.environment.read import environment

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
MEMORY = Path("/dev/shm")  # noqa: S108  (a folder of our own in it, closed to others)


def share_counters() -> None:
    """Set the folder in which the processes that this one forks count together; without a broker there are none."""
    env = environment()
    if env.amqp_url is None:
        return
    place = find_place(env.data_dir, (MEMORY, Path(tempfile.gettempdir())))
    if place is None:
        print("There is no folder apart from DATA_DIR: each process counts for itself.", file=sys.stderr)
        return
    folder = place / f"{_stem()}{os.getpid()}"
    folder.mkdir(exist_ok=True)
    os.environ[FOLDER_VARIABLE] = str(folder)


def find_place(data_dir: Path, candidates: Sequence[Path]) -> Path | None:
    """Return a folder that is ours alone on a file system that data cannot fill, or None."""
    data_dir.mkdir(parents=True, exist_ok=True)
    for candidate in candidates:
        own = candidate / f"postern-{os.getuid()}"
        try:
            if os.stat(candidate).st_dev == os.stat(data_dir).st_dev:
                continue
            own.mkdir(mode=0o700, exist_ok=True)
            found = os.lstat(own)
        except OSError:
            continue
        # Everybody may write there: under our name may lie what somebody else has put there first.
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
            return own
    return None


def ensure_folder() -> None:
    """Make the folder again for a process that starts: whoever tidies up memory may have taken it away meanwhile."""
    if FOLDER_VARIABLE in os.environ:
        Path(os.environ[FOLDER_VARIABLE]).mkdir(mode=0o700, parents=True, exist_ok=True)


def remove_stale_folders() -> None:
    """Remove the folders of killed supervisors of this port, which is held by this process now."""
    mine = Path(os.environ.get(FOLDER_VARIABLE, ""))
    former = environment().data_dir / "metrics"  # where older versions kept them
    for place in (mine.parent, former):
        for folder in place.glob(f"{_stem()}*"):
            if folder != mine:
                shutil.rmtree(folder, ignore_errors=True)


def remove_own_folder() -> None:
    if FOLDER_VARIABLE in os.environ:
        shutil.rmtree(os.environ[FOLDER_VARIABLE], ignore_errors=True)


def _stem() -> str:
    return f"{socket.gethostname()}-{environment().port}-"
