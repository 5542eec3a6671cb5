"""Where the processes of one node keep their counters together.

Plain Python, and before Django: the library that counts looks for the folder when it is imported.
"""

import os
import shutil
import socket
from pathlib import Path

from config.env import environment

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def share_counters() -> None:
    """Have the processes that this one is going to fork count in one folder; without a broker there are none."""
    env = environment()
    if env.amqp_url is not None:
        folder = env.data_dir / "metrics" / f"{socket.gethostname()}-{env.port}-{os.getpid()}"
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[FOLDER_VARIABLE] = str(folder)


def forget_others() -> None:
    """Remove what supervisors of this port have left behind that were killed: the port is ours now."""
    mine = Path(os.environ[FOLDER_VARIABLE])
    for folder in mine.parent.glob(f"{mine.name.rpartition('-')[0]}-*"):
        if folder != mine:
            shutil.rmtree(folder, ignore_errors=True)


def forget_own() -> None:
    shutil.rmtree(os.environ[FOLDER_VARIABLE], ignore_errors=True)
