"""`make venv`, the first half of `make run`, with stand-ins for Python."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.requirement_hashes import _lines

ROOT = Path(__file__).resolve().parents[1]

# Says yes to every question, makes an environment with itself as its Python, and notes what it was asked to install.
GOOD = """#!/bin/sh
case "$*" in
    "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *"-m pip"*) echo "$@" >> installed ;;
esac
"""
OLD = """#!/bin/sh
exit 1
"""
WITHOUT_ENSUREPIP = """#!/bin/sh
case "$*" in *ensurepip*) exit 1 ;; esac
"""


PINS = "--require-hashes\n" + "".join(
    f"# why\n{name}==1 \\\n    --hash=sha256:a{name} \\\n    --hash=sha256:b{name}\n" for name in ("x", "y", "z", "q")
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.txt").write_text(PINS)
    return tmp_path


def make_venv(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    program = folder / "python"
    program.write_text(python)
    program.chmod(0o755)
    return subprocess.run(
        ["make", "venv", f"PYTHON={program}"],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )


def count_installations(folder: Path) -> int:
    """Each installation is three calls of pip, with a share of the list each."""
    calls = (folder / "installed").read_text().splitlines()
    assert len(calls) % 3 == 0
    return len(calls) // 3


class TestVenv:
    def test_says_what_it_does(self, folder: Path) -> None:
        done = make_venv(folder, GOOD)
        assert done.stdout.splitlines() == ["Creating .venv ...", "Installing requirements.txt ..."]

    def test_takes_nothing_without_its_hash(self, folder: Path) -> None:
        make_venv(folder, GOOD)
        calls = (folder / "installed").read_text().splitlines()
        assert all("--require-hashes" in call for call in calls)

    def test_each_share_has_its_pins_with_all_their_hashes(self, folder: Path) -> None:
        make_venv(folder, GOOD)
        shares = "".join(share.read_text() for share in sorted((folder / ".venv").glob("share-*")))
        assert sorted(
            re.findall(r"^\w==1 \\\n    --hash=sha256:a(\w) \\\n    --hash=sha256:b\1$", shares, re.M)
        ) == list("qxyz")
        assert "--require-hashes" not in shares  # an option of the list, which is given to each call

    def test_a_second_time_does_nothing(self, folder: Path) -> None:
        make_venv(folder, GOOD)
        assert make_venv(folder, GOOD).stdout == ""
        assert count_installations(folder) == 1

    def test_installs_again_when_the_list_has_changed(self, folder: Path) -> None:
        make_venv(folder, GOOD)
        (folder / "requirements.txt").write_text(PINS.replace("x==1", "x==9"))
        make_venv(folder, GOOD)
        assert count_installations(folder) == 2

    def test_installs_again_after_an_interrupted_installation(self, folder: Path) -> None:
        failing = GOOD.replace('echo "$@" >> installed', 'echo "$@" >> installed; exit 1')
        assert make_venv(folder, failing).returncode != 0
        make_venv(folder, failing)
        assert count_installations(folder) == 2

    def test_an_old_python_is_told_in_one_line(self, folder: Path) -> None:
        done = make_venv(folder, OLD)
        assert done.returncode != 0
        assert done.stderr.splitlines()[0].startswith("Postern needs Python 3.11 or newer")
        assert not (folder / ".venv").exists()

    def test_a_python_without_ensurepip_is_told_which_package_to_install(self, folder: Path) -> None:
        done = make_venv(folder, WITHOUT_ENSUREPIP)
        assert done.returncode != 0
        assert "install the package python3-venv" in done.stderr.splitlines()[0]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_pin_has_hashes_and_pip_asks_for_them_whoever_calls_it(name: str) -> None:
    text = (ROOT / name).read_text().replace("\\\n", "")
    assert "--require-hashes" in text.splitlines()
    assert (
        "".join(_lines("--require-hashes\n-r other\n", collector=None)) == "--require-hashes\n-r other\n"
    )  # kept anew
    pins = [line for line in text.splitlines() if "==" in line]
    assert pins
    assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_an_option_stays_when_the_hashes_are_written_anew() -> None:
    options = ["--require-hashes\n", "-r requirements.txt\n"]
    asked: Any = None  # there is no pin to ask the index for
    assert list(_lines("".join(options), asked)) == options
