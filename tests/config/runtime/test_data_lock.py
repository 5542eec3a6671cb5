from pathlib import Path

import pytest
from django.conf import settings

from config.runtime.data_lock import UNFINISHED, InUse, RestoreUnfinished, serving, stopped


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)


def test_several_serve_and_one_alone_replaces() -> None:
    with serving(), serving(), pytest.raises(InUse), stopped():
        pass
    with stopped(), pytest.raises(InUse), serving():
        pass
    with serving():
        pass


def test_nobody_serves_what_is_half_restored(tmp_path: Path) -> None:
    (tmp_path / UNFINISHED).write_text("/backups/monday\n")
    with pytest.raises(RestoreUnfinished, match=r"manage\.py restore /backups/monday"), serving():
        pass
    with stopped():
        (tmp_path / UNFINISHED).unlink()
    with serving():
        pass
