"""Cases with a few elements and attributes taken away, doubled, renamed or mixed up."""

import os
from random import Random

import pytest
from lxml import etree

from processes.workflows.engine.case_plan import CriterionRole, PlanItem
from processes.workflows.engine.cmmn.parser import parse_cmmn
from processes.workflows.engine.definition import Definition, NodeKind
from processes.workflows.engine.problems import MOST_PROBLEMS
from tests.processes.workflows.case_files import (
    case,
    case_task,
    human,
    listener,
    milestone,
    process_task,
    stage,
    timer,
)
from tests.processes.workflows.engine.bpmn.test_mutations import mutate
from tests.processes.workflows.engine.cmmn.source_files import FILES, list_problems

ROUNDS = max(40, int(float(os.environ.get("DRILL_SCALE", "0.02")) * 2_000))
CALLS = (NodeKind.PROCESS_TASK, NodeKind.CASE_TASK)


def undrawn(source: bytes) -> bytes:
    root = etree.fromstring(source)
    for drawing in root.findall("{*}CMMNDI"):
        root.remove(drawing)
    return bytes(etree.tostring(root))


SOURCES = [
    undrawn((FILES / "camunda_modeler.cmmn").read_bytes()),
    case(
        human("A", form="a:number*", repeats="x > 1", required=True),
        stage(
            "S",
            human("B", manual=True, exit=["A complete", "L occur"]),
            stage("T", milestone("M", entry="B exit by B_exit2", repeats=True), auto=True, exit="M occur if y"),
            process_task("P", "pay", entry="file f.g update, A complete"),
            repeats=True,
            entry=["A complete", "if z"],
        ),
        case_task("C", by="which"),
        listener("L"),
        timer("R", "R3/PT1H", after="file f create"),
        exit="M occur",
        files=["f", "f.g"],
    ).encode(),
]


class TestMutations:
    @pytest.mark.parametrize("seed", range(ROUNDS))
    def test_are_refused_with_reasons_or_whole(self, seed: int) -> None:
        random = Random(seed)
        for source in SOURCES:
            mutated = mutate(source, random)
            problems = list_problems(mutated)
            assert len(problems) <= MOST_PROBLEMS
            if not problems:
                assert_whole(parse_cmmn(mutated))

    @pytest.mark.parametrize("source", SOURCES)
    def test_what_they_are_made_of_is_whole(self, source: bytes) -> None:
        assert_whole(parse_cmmn(source))


def assert_whole(definition: Definition) -> None:
    """Assert what the execution takes for granted."""
    plan, nodes, scopes = definition.plan, definition.nodes, definition.scopes
    assert plan.items.keys() == nodes.keys()
    assert scopes[definition.key].nodes == (plan.root,)
    assert [key for scope in scopes.values() for key in scope.nodes if nodes[key].scope != scope.id] == []
    assert sorted(key for scope in scopes.values() for key in scope.nodes) == sorted(nodes)
    assert {key for key in nodes if nodes[key].kind in (NodeKind.CASE_PLAN, NodeKind.STAGE)} == scopes.keys() - {
        definition.key
    }
    for key, node in nodes.items():
        assert (node.event is not None and node.event.timer is not None) == (node.kind is NodeKind.TIMER_LISTENER)
        assert (bool(node.called) != (plan.items[key].called_by is not None)) == (node.kind in CALLS)
        assert all(criterion.sentry.on or criterion.sentry.condition for criterion in plan.items[key].criteria)
    assert_heard(definition)


def assert_heard(definition: Definition) -> None:
    """Assert that every on-part is found by its source and event, once, and that the criterion it names is one."""
    plan = definition.plan
    heard = [(found.item, found.criterion, found.part) for all_ in plan.on_parts.values() for found in all_]
    assert sorted(heard) == sorted(
        (key, number, place)
        for key, item in plan.items.items()
        for number, criterion in enumerate(item.criteria)
        for place in range(len(criterion.sentry.on))
    )
    for (source, event), all_ in plan.on_parts.items():
        for found in all_:
            part = plan.items[found.item].criteria[found.criterion].sentry.on[found.part]
            assert (part.source, part.event, found.common in definition.scopes) == (source, event, True)
            assert source in (plan.files if part.is_file else plan.items)
            assert not part.criterion or part.criterion in exits_of(plan.items[source])


def exits_of(item: PlanItem) -> set[str]:
    return {criterion.id for criterion in item.criteria if criterion.role is CriterionRole.EXIT}
