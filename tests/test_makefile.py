"""`make venv`, the first half of `make run`, with stand-ins for Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.txt").write_text("one==1\ntwo==2\nthree==3\n")
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

    def test_a_second_time_does_nothing(self, folder: Path) -> None:
        make_venv(folder, GOOD)
        assert make_venv(folder, GOOD).stdout == ""
        assert count_installations(folder) == 1

    def test_installs_again_when_the_list_has_changed(self, folder: Path) -> None:
        make_venv(folder, GOOD)
        (folder / "requirements.txt").write_text("one==9\ntwo==2\nthree==3\n")
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
