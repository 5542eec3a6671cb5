import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.environment.rules import BadVariable
from config.private_folder import make_private

NOBODY = 65534
ROOT = Path(__file__).resolve().parents[2]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _own_umask() -> Iterator[None]:
    """What is made private here must not stay so for the tests that follow in this process."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of an installation from before."""
    made = tmp_path / "data"
    made.mkdir()
    made.chmod(0o755)
    return made


class TestMakePrivate:
    def test_a_new_folder_is_its_owners_alone(self, tmp_path: Path) -> None:
        make_private(tmp_path / "new" / "data")
        assert mode_of(tmp_path / "new" / "data") == 0o700

    def test_one_from_before_is_narrowed_and_its_databases_too(self, folder: Path) -> None:
        database = folder / "postern.sqlite3"
        database.touch()
        database.chmod(0o644)
        make_private(folder)
        assert (mode_of(folder), mode_of(database)) == (0o700, 0o600)

    def test_the_folder_that_everybody_shares_is_refused_and_left_alone(self, folder: Path) -> None:
        folder.chmod(0o1777)
        with pytest.raises(BadVariable, match="DATA_DIR: must not be a folder that everybody shares"):
            make_private(folder)
        assert mode_of(folder) == 0o1777

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
    def test_one_of_somebody_else_is_refused_with_what_to_do(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o755)
            os.seteuid(NOBODY)
            try:
                with pytest.raises(BadVariable, match=f"must be readable by nobody else.*: chown {name} to the user"):
                    make_private(Path(name))
            finally:
                os.seteuid(0)


@pytest.mark.slow
def test_the_first_start_leaves_nothing_that_another_user_can_read(tmp_path: Path) -> None:
    command = "import os; os.umask(0o022); import django; django.setup(); from django.db import connection; "
    command += "connection.cursor().execute('CREATE TABLE t (x)')"
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data")}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run([sys.executable, "-c", command], cwd=ROOT, env=environment, check=True)
    files = sorted((tmp_path / "data").iterdir())
    assert "postern.sqlite3" in [file.name for file in files]
    assert {mode_of(file) & 0o077 for file in [tmp_path / "data", *files]} == {0}
