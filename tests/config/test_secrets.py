import os
from pathlib import Path
from typing import Any

import pytest

from config.secrets import field_key


def test_a_new_secret_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has encrypted by the time of a crash could not be read without it."""
    steps: list[str] = []
    link = os.link

    def note_sync(descriptor: int) -> None:
        steps.append(f"sync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name}")

    def note_link(*names: Any) -> None:
        steps.append("name")
        link(*names)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "link", note_link)
    key = field_key(tmp_path)
    assert steps == [f"sync .field_key.{os.getpid()}", "name", f"sync {tmp_path.name}"]
    assert field_key(tmp_path) == key
    assert len(steps) == 3, "what is there is only read"
