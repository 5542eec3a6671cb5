"""Measure every figure, or those of the modules named: `python -m bench [ingest sessions …]`.

Each module is measured by a process of its own: pools, threads and caches that one leaves behind would hold connections
to the database that the next one makes anew, and take part in what it measures.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figure import Figure, load, save

MODULES = (
    *("ingest", "rest", "growth", "lists", "deliveries", "exchange", "sessions", "workflows", "termination", "inbox"),
    *("coordination", "live", "pages"),
)


def main(names: list[str]) -> int:
    found: list[Figure] = []
    broken: list[str] = []
    for name in names or MODULES:
        figures = measure(name)
        if figures is None:
            broken.append(name)
        else:
            found += figures
    save(found, Path("var") / "bench.json")
    failed = [figure.name for figure in found if not figure.holds]
    print(f"{len(found) - len(failed)} of {len(found)} figures hold", end="")
    print(f"; not: {', '.join(failed)}" if failed else "", end="")
    print(f"; not measured: {', '.join(broken)}" if broken else "")
    return 1 if failed or broken else 0


def measure(name: str) -> list[Figure] | None:
    """Return the figures of the module, or None where its process failed."""
    with tempfile.TemporaryDirectory(prefix="postern-bench-") as folder:
        result = Path(folder) / "figures.json"
        done = subprocess.run([sys.executable, "-m", "bench.measure", name, str(result)])
        return load(result) if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
