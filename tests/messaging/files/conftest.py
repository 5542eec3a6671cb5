from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def folders(settings: Any, tmp_path: Path, db: None) -> Path:
    """Let every test have folders of its own, and a database that adopts them; return those of the ERP."""
    settings.DATA_DIR = tmp_path
    return tmp_path / "messages" / "erp"
