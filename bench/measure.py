"""Measure the figures of one module on a fresh database: `python -m bench.measure MODULE RESULT`."""

import importlib
import os
import sys
import tempfile
from pathlib import Path

from bench.figure import save
from bench.fresh_database import set_up


def main(name: str, result: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="postern-bench-data-", ignore_cleanup_errors=True) as folder:
        os.environ.setdefault("DATA_DIR", folder)
        set_up()
        save(importlib.import_module(f"bench.{name}").figures(), result)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
