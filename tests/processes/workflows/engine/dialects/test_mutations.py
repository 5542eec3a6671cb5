"""Files of other tools, damaged at random: each is refused or run, and nothing else comes of it."""

import random
from datetime import UTC, datetime

import pytest
from lxml import etree

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.parser import parse_file
from processes.workflows.engine.problems import InvalidDefinition
from processes.workflows.engine.runner import CommandFailed, CommandRejected, InstanceState, run_command
from tests.processes.workflows.engine.dialects.foreign_files import FILES, POOLS

AT = datetime(2030, 1, 1, tzinfo=UTC)
TEXTS = ["", "x", "${a.b()}", "${a", "=a", "=", "a b", "true", "0", "~", "t~asks", "p", "PT1H", "R/PT1S", "0 0 * * *"]
ROUNDS = 250


def damage(source: bytes, dice: random.Random) -> bytes:
    root = etree.fromstring(source, etree.XMLParser(remove_comments=True))
    for _ in range(dice.randint(1, 4)):
        elements = [element for element in root.iter() if element is not root]
        if not elements:
            break
        element = dice.choice(elements)
        parent = element.getparent()
        kind = dice.randrange(6)
        if kind == 0:
            parent.remove(element)
        elif kind == 1 and element.attrib:
            del element.attrib[dice.choice(sorted(element.attrib))]
        elif kind == 2 and element.attrib:
            element.attrib[dice.choice(sorted(element.attrib))] = dice.choice(TEXTS)
        elif kind == 3:
            element.text = dice.choice(TEXTS)
        elif kind == 4:
            element.tag = dice.choice(elements).tag
        else:
            parent.append(etree.fromstring(etree.tostring(element)))
    damaged: bytes = etree.tostring(root)
    return damaged


def run(definition: Definition) -> None:
    """Start an instance and complete whatever is open, a few times over."""

    def library(key: str, revision: int | str | None) -> tuple[Definition, int]:
        if key != definition.key:
            raise LookupError(key)
        return definition, 1

    state: InstanceState | None = None
    command: dict[str, object] = {"command": "start", "definition": [definition.key, 1], "variables": {}}
    for _ in range(5):
        try:
            state = run_command(library, state, command, AT).state
        except (CommandFailed, CommandRejected):
            return
        tasks = state.get("tasks", {})
        if not tasks:
            return
        key, task = next(iter(tasks.items()))
        name = "complete_job" if task["kind"] in ("external", "job") else "complete_task"
        command = {"command": name, "task": key, "variables": {"a": [1]}}


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_is_refused_or_run(seed: int) -> None:
    dice = random.Random(seed)
    sources = [*(file.source for file in FILES.values()), POOLS]
    accepted = 0
    for _ in range(ROUNDS):
        try:
            parsed = parse_file(damage(dice.choice(sources), dice))
        except InvalidDefinition:
            continue
        accepted += 1
        for definition in parsed.definitions:
            run(definition)
    assert 0 < accepted < ROUNDS
