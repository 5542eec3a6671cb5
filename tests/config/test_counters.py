import os
from pathlib import Path

import pytest

from config import counters, env
from config.counters import FOLDER_VARIABLE, forget_others, forget_own, share_counters


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    variables = {"DATA_DIR": str(tmp_path), "AMQP_URL": "amqp://broker", "PORT": "8123"}
    monkeypatch.setattr(counters, "environment", lambda: env.read(variables))
    return tmp_path


class TestShareCounters:
    def test_makes_a_folder_that_is_known_before_the_library_looks_for_it(self, data: Path) -> None:
        share_counters()
        assert Path(os.environ[FOLDER_VARIABLE]).parent == data / "metrics"
        assert Path(os.environ[FOLDER_VARIABLE]).is_dir()

    def test_without_a_broker_one_process_counts_for_itself(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
        monkeypatch.setattr(counters, "environment", lambda: env.read({"DATA_DIR": str(tmp_path)}))
        share_counters()
        assert FOLDER_VARIABLE not in os.environ


class TestForget:
    def test_what_a_killed_supervisor_of_this_port_left_goes_and_nothing_else(self, data: Path) -> None:
        share_counters()
        mine = Path(os.environ[FOLDER_VARIABLE])
        left, elsewhere = mine.with_name(f"{mine.name}0"), mine.with_name("other-8124-1")
        for folder in (left, elsewhere):
            folder.mkdir()
        forget_others()
        assert sorted(data.joinpath("metrics").iterdir()) == sorted([mine, elsewhere])
        forget_own()
        assert list(data.joinpath("metrics").iterdir()) == [elsewhere]
