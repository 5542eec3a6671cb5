"""Measure every figure, or those of the modules named: `python -m bench [ingest heartbeat …]`."""

import importlib
import sys
from pathlib import Path

from bench.figure import Figure, save
from bench.fresh_database import set_up

MODULES = ("ingest", "rest", "growth", "lists", "deliveries", "exchange", "sessions", "workflows", "coordination")


def main(names: list[str]) -> int:
    found: list[Figure] = []
    for name in names or MODULES:
        set_up()
        found += importlib.import_module(f"bench.{name}").figures()
    save(found, Path("var") / "bench.json")
    failed = [figure.name for figure in found if not figure.holds]
    print(
        f"{len(found) - len(failed)} of {len(found)} figures hold" + (f"; not: {', '.join(failed)}" if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
