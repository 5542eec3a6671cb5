"""A disk of data that is full to the last byte kills nobody who counts."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

COUNT = """
from config.counters import forget_own, share_counters
share_counters()
from prometheus_client import Counter
with open(__import__("os").environ["DATA_DIR"] + "/filler", "wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 4096)
    except OSError:
        pass
counter = Counter("drill", "what is counted", ["name"])
for number in range(5000):
    counter.labels(str(number)).inc()
forget_own()
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "data"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_counting_goes_on(disk: Path) -> None:
    environment = {**os.environ, "DATA_DIR": str(disk), "AMQP_URL": "amqp://broker", "PORT": "8124"}
    done = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr  # SIGBUS is -7
