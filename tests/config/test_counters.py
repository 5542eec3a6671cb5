import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import counters
from config.counters import (
    FOLDER_VARIABLE,
    MEMORY,
    ensure_folder,
    find_place,
    remove_own_folder,
    remove_stale_folders,
    share_counters,
)
from config.environment import read


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    variables = {"DATA_DIR": str(tmp_path), "AMQP_URL": "amqp://broker", "PORT": "8123"}
    monkeypatch.setattr(counters, "environment", lambda: read.read_environment(variables))
    yield tmp_path
    remove_own_folder()


class TestShareCounters:
    def test_makes_a_folder_that_is_known_before_the_library_looks_for_it(self, data: Path) -> None:
        share_counters()
        assert Path(os.environ[FOLDER_VARIABLE]).is_dir()

    def test_data_cannot_fill_where_it_lies(self, data: Path) -> None:
        share_counters()
        assert os.stat(os.environ[FOLDER_VARIABLE]).st_dev != os.stat(data).st_dev

    def test_without_a_broker_one_process_counts_for_itself(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
        monkeypatch.setattr(counters, "environment", lambda: read.read_environment({"DATA_DIR": str(tmp_path)}))
        share_counters()
        assert FOLDER_VARIABLE not in os.environ

    def test_without_a_place_apart_each_counts_for_itself(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(counters, "find_place", lambda *arguments: None)
        share_counters()
        ensure_folder()
        remove_stale_folders()
        remove_own_folder()
        assert FOLDER_VARIABLE not in os.environ

    def test_folder_that_was_tidied_away_is_made_again_for_a_new_process(self, data: Path) -> None:
        share_counters()
        remove_own_folder()
        ensure_folder()
        assert Path(os.environ[FOLDER_VARIABLE]).is_dir()


class TestFindPlace:
    def test_passes_over_the_file_system_of_the_data_and_what_is_not_there(self, tmp_path: Path) -> None:
        same, none = tmp_path / "same", tmp_path / "none"
        same.mkdir()
        assert find_place(tmp_path / "data", (same, none)) is None

    def test_trusts_no_folder_that_is_not_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place = find_place(tmp_path, (MEMORY,))
        assert place is not None
        monkeypatch.setattr(os, "getuid", lambda: int(place.name.rpartition("-")[2]) + 1)
        place.with_name(f"postern-{os.getuid()}").symlink_to(tmp_path)
        try:
            assert find_place(tmp_path, (MEMORY,)) is None
        finally:
            place.with_name(f"postern-{os.getuid()}").unlink()


class TestForget:
    def test_what_a_killed_supervisor_of_this_port_left_goes_and_nothing_else(self, data: Path) -> None:
        share_counters()
        mine = Path(os.environ[FOLDER_VARIABLE])
        left, elsewhere = mine.with_name(f"{mine.name}0"), mine.with_name("other-8124-1")
        former = data / "metrics" / f"{mine.name}1"
        for folder in (left, elsewhere, former):
            folder.mkdir(parents=True)
        remove_stale_folders()
        assert [folder.is_dir() for folder in (mine, left, elsewhere, former)] == [True, False, True, False]
        remove_own_folder()
        assert not mine.exists()
        elsewhere.rmdir()
