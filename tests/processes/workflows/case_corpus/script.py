"""The scripts of the corpus of cases: what is done to a case and what, by the standard, comes of it.

    # in the order of the file
    start          -> create plan Draft Check, start Draft .. Draft :: active Draft, available Check
    complete Draft -> complete Draft, start Check          .. Check :: completed Draft, active Check
    complete Check -> complete Check plan == completed              :: completed Draft Check

A script begins with its title. Before the arrow stands a command with variables, `name=JSON` without blanks: `start`,
`complete task`, `timer listener[@when it must be due]`, `message name`, `set`, `suspend`, `resume`, `terminate`,
`close`; or one of an item: `start item`, `occur`, `disable`, `reenable`, `suspend_item`, `resume_item`,
`terminate_item`, `complete_item`. Of several with the same name `#n` is the n-th; nothing is said: the first task, the
last item. After the arrow, what happens:

- the transitions in their order, those of one name together; of processes what is left (`leave`) and cancelled;
- `..` and the tasks that are open and the timers that run, in any order;
- `::` and the items by their states, all but the plan, in any order;
- `==` and the status, which is active when nothing is said;
- `with` and the variables of the case, all of them; nothing is said: they are not looked at.

`...` alone: as often before. Or else `refused`: the command does not fit, or `fails at element`: it could not go
through. Nothing has changed then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.processes.workflows.corpus.script import Command, read_parts, read_variables

FOLDER = Path(__file__).parent
ITEM_COMMANDS = (
    "start",
    "occur",
    "disable",
    "reenable",
    "suspend_item",
    "resume_item",
    "terminate_item",
    "complete_item",
)
_TARGETED = (*ITEM_COMMANDS, "complete", "timer", "message")
_MARKS = ("..", "::", "==", "with")


@dataclass(frozen=True)
class ExpectedCase:
    trace: tuple[tuple[str, str], ...] = ()
    waiting: tuple[str, ...] = ()
    states: tuple[tuple[str, str], ...] = ()
    """Each item with its state, sorted."""
    status: str = "active"
    variables: dict[str, Any] | None = None
    failure: str = ""
    is_open: bool = False
    """Nothing is said."""


@dataclass(frozen=True)
class CaseScriptStep:
    line: str
    command: Command
    expected: ExpectedCase


@dataclass(frozen=True)
class CaseScript:
    key: str
    """The file, and the case or process in it."""
    title: str
    steps: tuple[CaseScriptStep, ...]


def read_keys(kind: str = "cmmn") -> list[str]:
    return sorted(path.stem for path in (FOLDER / "files").glob(f"*.{kind}"))


def read_scripts() -> list[CaseScript]:
    return [script for path in sorted((FOLDER / "scripts").glob("*.txt")) for script in _read_scripts(path)]


def _read_scripts(path: Path) -> Iterator[CaseScript]:
    _, *parts = path.read_text().split("\n# ")
    for part in parts:
        title, *lines = part.splitlines()
        yield CaseScript(path.stem, title, tuple(_read_step(line) for line in lines if line.strip()))


def _read_step(line: str) -> CaseScriptStep:
    command, arrow, expected = line.partition("->")
    if not arrow:
        raise ValueError(f"no arrow: {line}")
    return CaseScriptStep(line, _read_command(command.split()), _read_expected(expected.split()))


def _read_command(words: list[str]) -> Command:
    name, *rest = words
    target = rest.pop(0) if name in _TARGETED and rest and "=" not in rest[0] else ""
    target, _, mark = target.partition("@" if name == "timer" else "#")
    return Command(name, target, mark, tuple(read_variables(rest).items()))


def _read_expected(words: list[str]) -> ExpectedCase:
    if words[:1] == ["..."]:
        return ExpectedCase(is_open=True)
    if words[:1] in (["refused"], ["fails"]):
        return ExpectedCase(failure=" ".join(words))
    parts = read_parts(words, _MARKS)
    return ExpectedCase(
        trace=_read_groups(parts[""]),
        waiting=tuple(sorted(parts.get("..", []))),
        states=tuple(sorted((element, state) for state, element in _read_groups(parts.get("::", [])))),
        status=parts.get("==", ["active"])[0],
        variables=read_variables(parts["with"]) if "with" in parts else None,
    )


def _read_groups(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Read `create A B, start A` as pairs of the first word of a group and each of its others."""
    groups = [group.split() for group in " ".join(words).split(",") if group.strip()]
    return tuple((first, element) for first, *elements in groups for element in elements)
