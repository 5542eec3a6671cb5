"""Keep retired words out of the names of modules and packages: `python -m tests.retired_words`, part of `make check`.

`docs/glossary.md` says what stands instead of each. A module is a noun or the plain verb of its one function: a gerund
tells nobody who does what to whom.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import PurePath

PRODUCT = ("config", "sensors", "notifications", "messaging", "processes")
RETIRED = frozenset(
    [
        "among",
        "cast",
        "deaf",
        "engage",
        "forget",
        "frame",
        "freeing",
        "given",
        "heal",
        "hearing",
        "hold",
        "holding",
        "journeys",
        "keep",
        "keeping",
        "leave",
        "leaving",
        "letter",
        "letters",
        "moment",
        "moments",
        "orphans",
        "owe",
        "owed",
        "placing",
        "postponed",
        "recent",
        "showing",
        "standing",
        "standings",
        "stillness",
        "tell",
        "telling",
        "told",
        "unknown",
        "unwanted",
        "wanted",
        "welcome",
        "works",
    ]
)
# Words that end so without being gerunds, and what is the industry's own noun.
PLAIN = frozenset(["dead_letters", "ping", "ring", "routing", "settings", "signing", "staging", "streaming", "string"])


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "*.py"], capture_output=True, text=True, check=True).stdout.splitlines()
    problems = sorted({problem for name in listed for problem in find_problems(name)})
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def find_problems(name: str) -> Iterator[str]:
    """Say what is wrong with the path of a module; migrations keep the names that databases know them by."""
    path = PurePath(name)
    if path.parts[0] not in PRODUCT or "migrations" in path.parts:
        return
    for part in (*path.parts[:-1], path.stem):
        for word in () if part in PLAIN else RETIRED.intersection(part.split("_")):
            yield f"{name}: “{word}” is retired, docs/glossary.md says what stands instead"
    if path.stem.endswith("ing") and path.stem not in PLAIN:
        yield f"{name}: name it by a noun or a plain verb, not by a gerund"


if __name__ == "__main__":
    sys.exit(main())
