"""Keep retired words out of the names of modules and packages: `python -m tests.retired_words`, part of `make check`.

And tests where what they test stands: `tests/a/test_b.py` is for `a/b.py`, and so are the files of `tests/a/b/`.

`docs/glossary.md` says what stands instead of each. A module is a noun or the plain verb of its one function: a gerund
tells nobody who does what to whom.
"""

import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePath

WITHOUT_COUNTERPART = ("corpus", "case_corpus")
"""Folders of tests with files of their own: definitions and what is expected of them."""
ACROSS_MODULES = (
    ("*/api/test_examples.py", "what the OpenAPI document shows of all calls of a folder"),
    ("*/test_*hostile.py", "what was made to harm, whichever module meets it first"),
    ("*/test_mutations.py", "files damaged at random, through all that reads them"),
    ("*/test_oracle.py", "a second opinion by an engine that others wrote"),
    ("*/test_random_*.py", "random runs of the whole, beside a model of it"),
    ("config/api/test_strictness.py", "a slip of the pen, whatever the call"),
    ("config/common/web/test_cursors.py", "every list of the API to its end"),
    ("config/dashboard/test_stylesheets.py", "stylesheets of all pages"),
    ("config/engines/test_health.py", "one question to every engine"),
    ("config/runtime/test_supervised.py", "every thread and task that lives long"),
    ("notifications/sending/test_alert_by_mail.py", "an alert from its raising to the mailbox"),
    ("notifications/sessions/test_contract_machine.py", "the whole contract of sessions beside a model"),
    ("notifications/test_alert_titles.py", "the alerts that all of the product raises"),
    ("notifications/test_spine_race.py", "sequencers, relays and writers at once"),
    ("processes/coordination/api/test_silent_reader.py", "a reader that does not answer, for calls, pages and waits"),
    ("processes/exchange/api/test_bounds.py", "lengths in the calls of the exchange and of the messages"),
    ("processes/exchange/api/test_keys.py", "who may call what, of the exchange and of the messages"),
    ("processes/exchange/test_volume.py", "the volume of the messages is away, for everybody"),
    ("processes/workflows/engine/bpmn/test_limits.py", "bounds of a file, which several readers keep"),
    ("processes/workflows/engine/cmmn/test_limits.py", "bounds of a file, which several readers keep"),
    ("processes/workflows/engine/dialects/test_bounds.py", "bounds of a file, which several translators keep"),
    ("processes/workflows/engine/dialects/test_vendor_elements.py", "whatever other engines write, by all translators"),
    ("processes/workflows/engine/expressions/test_fuzz.py", "random texts through parser and evaluator"),
    ("processes/workflows/engine/expressions/test_properties.py", "laws that parser and evaluator keep together"),
    ("sensors/api/test_as_of.py", "sensors and clients as they were, over several calls"),
    ("sensors/api/test_losses.py", "silence, as the calls about sensors, events and deliveries tell it"),
    ("sensors/explanation/test_access.py", "who may ask, over REST and on the page"),
)
"""Tests of several modules, in the lowest folder that has them all, each with what it is about."""
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
    if path.parts[0] == "tests" and path.stem.startswith("test_"):
        yield from _find_no_counterpart(path)
    if path.parts[0] not in PRODUCT or "migrations" in path.parts:
        return
    for part in (*path.parts[:-1], path.stem):
        for word in () if part in PLAIN else RETIRED.intersection(part.split("_")):
            yield f"{name}: “{word}” is retired, docs/glossary.md says what stands instead"
    if path.stem.endswith("ing") and path.stem not in PLAIN:
        yield f"{name}: name it by a noun or a plain verb, not by a gerund"


def _find_no_counterpart(path: PurePath) -> Iterator[str]:
    """A test stands where what it tests stands, so the way from one to the other is never looked for."""
    folder = PurePath(*path.parts[1:-1])
    if not folder.parts or folder.parts[0] not in PRODUCT or folder.name in WITHOUT_COUNTERPART:
        return
    tested = Path(folder, path.stem.removeprefix("test_"))
    is_across = any(fnmatch(str(path.relative_to("tests")), pattern) for pattern, _ in ACROSS_MODULES)
    if Path(f"{folder}.py").is_file():
        return  # a folder for one module, whose files are named for what they look at
    if not Path(folder).is_dir():
        yield f"{path}: the product has neither a folder {folder} nor a module {folder}.py"
    elif not (tested.is_dir() or Path(f"{tested}.py").is_file() or is_across):
        yield f"{path}: the product has no {tested}.py; what is about several modules is named in ACROSS_MODULES"


if __name__ == "__main__":
    sys.exit(main())
