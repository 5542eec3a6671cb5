"""Metrics on a disk that is full to the last byte: counting goes on, and kills nobody by SIGBUS."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNT = [sys.executable, "-m", "tests.faults.count_on_full_disk"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "data"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_counting_goes_on(disk: Path) -> None:
    environment = {**os.environ, "DATA_DIR": str(disk), "AMQP_URL": "amqp://broker", "PORT": "8124"}
    done = subprocess.run(COUNT, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr  # SIGBUS is -7
