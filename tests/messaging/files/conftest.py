from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def folders(settings: Any, tmp_path: Path) -> Path:
    """Let every test have folders of its own; return those of the database."""
    settings.DATA_DIR = tmp_path
    return tmp_path / "messages" / "erp"
