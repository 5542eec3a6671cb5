"""The scripts of the corpus: what is done to an instance and what, by the standard, comes of it.

    # the large ones are approved
    start amount=150        -> begin route .. approve
    complete approve ok=true -> approve done == completed with amount=150 ok=true

A script begins with its title. Before the arrow stands a command with variables, `name=JSON` without blanks:
`start[@start event]`, `complete task[#n]` (the n-th of that name), `fail task [code=…]`, `message name`, `signal name`,
`timer event[@when it must be due]`, `set`, `suspend`, `resume`, `terminate`. After it, what happens:

- the elements that are left, in order; a round of a loop counts; with a `-` those that are cancelled, in any order;
- `..` and everything that is waited for afterwards, in alphabetical order, `join` for a token that waits at a join;
- `==` and the status, which is active when nothing is said;
- `with` and the variables of the process, all of them; nothing is said: they are not looked at;
- `gives` and the effects, `kind:name` or, with what they are given, `kind:name{…}`; nothing is said: there are none.

Or else `refused`: the command does not fit, or `fails [at element]`: it could not go through. Nothing has changed then.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Command:
    name: str
    target: str = ""
    mark: str = ""
    """What stands behind `@` or `#`."""
    variables: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Expected:
    left: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    status: str = "active"
    variables: dict[str, Any] | None = None
    effects: tuple[str, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class ScriptStep:
    line: str
    command: Command
    expected: Expected


@dataclass(frozen=True)
class Script:
    key: str
    """The file, and the process in it."""
    title: str
    steps: tuple[ScriptStep, ...]

    def __str__(self) -> str:
        return f"{self.key}: {self.title}"


def read_keys() -> list[str]:
    return sorted(path.stem for path in (FOLDER / "files").glob("*.bpmn"))


def read_scripts() -> list[Script]:
    return [script for key in read_keys() for script in _read_scripts(key)]


def _read_scripts(key: str) -> Iterator[Script]:
    _, *parts = (FOLDER / "scripts" / f"{key}.txt").read_text().split("\n# ")
    for part in parts:
        title, *lines = part.splitlines()
        yield Script(key, title, tuple(read_step(line) for line in lines if line.strip()))


def read_step(line: str) -> ScriptStep:
    command, arrow, expected = line.partition("->")
    if not arrow:
        raise ValueError(f"no arrow: {line}")
    return ScriptStep(line, _read_command(command.split()), _read_expected(expected.split()))


def _read_command(words: list[str]) -> Command:
    head, *rest = words
    name, _, mark = head.partition("@")
    target = rest.pop(0) if name in ("complete", "fail", "message", "signal", "timer") else ""
    if name in ("complete", "timer"):
        target, _, mark = target.partition("#" if name == "complete" else "@")
    return Command(name, target, mark, tuple(read_variables(rest).items()))


def _read_expected(words: list[str]) -> Expected:
    if words[:1] == ["refused"]:
        return Expected(failure="refused")
    if words[:1] == ["fails"]:
        return Expected(failure=" ".join(words))
    parts = read_parts(words, ("..", "==", "with", "gives"))
    return Expected(
        left=tuple(word for word in parts[""] if not word.startswith("-")),
        cancelled=tuple(sorted(word[1:] for word in parts[""] if word.startswith("-"))),
        waiting=tuple(sorted(parts.get("..", []))),
        status=parts.get("==", ["active"])[0],
        variables=read_variables(parts["with"]) if "with" in parts else None,
        effects=tuple(parts.get("gives", [])),
    )


def read_parts(words: list[str], marks: Collection[str]) -> dict[str, list[str]]:
    """Give the words that follow each mark, and those before the first."""
    parts: dict[str, list[str]] = {"": []}
    for word in words:
        if word in marks:
            parts[word] = []
        else:
            parts[next(reversed(parts))].append(word)
    return parts


def read_variables(words: list[str]) -> dict[str, Any]:
    pairs = (word.partition("=") for word in words)
    return {name: value if name == "code" else json.loads(value) for name, _, value in pairs}
