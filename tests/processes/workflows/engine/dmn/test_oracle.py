"""Random tables, decided here and by SpiffWorkflow, an engine written by others.

Its entries are Python: the tables are made of those that mean the same in FEEL. What it calls UNIQUE takes the first
rule.
"""

import random
from types import SimpleNamespace
from typing import Any

import pytest
from lxml import etree
from SpiffWorkflow.bpmn.script_engine import PythonScriptEngine
from SpiffWorkflow.dmn.engine.DMNEngine import DMNEngine
from SpiffWorkflow.dmn.parser.DMNParser import DMNParser

from tests.processes.workflows.decision_files import MODEL, decision, dmn, table
from tests.processes.workflows.engine.dmn.evaluate import decide

NUMBERS = ["-", "< 3", "<= 3", "> 5", ">= 5", "4", "? > 2 and ? < 6", "!= 4", "x + 1"]
TEXTS = ["-", '"a"', '"b"', '!= "a"', '? in ["a", "c"]']
OUTPUTS = ["1", "2.5", '"yes"', "n * 2 + 1", "true"]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("ours", "theirs"), [("FIRST", "UNIQUE"), ("COLLECT", "COLLECT")])
def test_both_decide_alike(seed: int, ours: str, theirs: str) -> None:
    chance = random.Random(seed)
    rules = [[chance.choice(NUMBERS), chance.choice(TEXTS), chance.choice(OUTPUTS)] for _ in range(6)]
    for _ in range(10):
        given = {"n": chance.randrange(8), "s": chance.choice("abc"), "x": chance.randrange(4)}
        found = decide(dmn(decision("d", table(["n", "s"], ["r"], rules, hit=ours))), **given).result
        assert found == ask_spiff(rules, theirs, given), (rules, given)


def ask_spiff(rules: list[list[str]], hit: str, given: dict[str, Any]) -> Any:
    written = [[_in_python(entry) for entry in rule] for rule in rules]
    logic = table(["n", "s"], ["r"], written, hit=hit)
    for name in ("decisionTable", "inputExpression", "inputEntry", "outputEntry"):
        logic = logic.replace(f"<{name}", f'<{name} id="{name}"')  # it wants every part to have one
    parser = DMNParser(None, etree.fromstring(dmn(decision("d", logic))), {"dmn": MODEL})
    parser.parse()
    task = SimpleNamespace(data=dict(given), workflow=SimpleNamespace(script_engine=PythonScriptEngine()))
    found = DMNEngine(parser.decision.decisionTables[0]).result(task)
    return found.get("r", [] if hit == "COLLECT" else None)


def _in_python(entry: str) -> str:
    """Write an entry as Python has it: what takes everything is empty there."""
    return {"-": "", "true": "True"}.get(entry, entry)
