"""Files with a few elements and attributes taken away, doubled, renamed or mixed up."""

import os
from random import Random

import pytest
from lxml import etree

from processes.workflows.engine.bpmn.nodes import ACTIVITIES, EVENTS
from processes.workflows.engine.bpmn.parser import parse_bpmn
from processes.workflows.engine.definition import Definition, Trigger
from processes.workflows.engine.problems import MOST_PROBLEMS
from tests.processes.workflows.engine.bpmn.source_files import FILES, find_problems

ROUNDS = max(20, int(float(os.environ.get("DRILL_SCALE", "0.02")) * 1_000))
SOURCES = [path.read_bytes() for path in sorted(FILES.glob("*.bpmn"))]


class TestMutations:
    @pytest.mark.parametrize("seed", range(ROUNDS))
    def test_are_refused_with_reasons_or_whole(self, seed: int) -> None:
        random = Random(seed)
        for source in SOURCES:
            mutated = mutate(source, random)
            problems = find_problems(mutated)
            assert len(problems) <= MOST_PROBLEMS
            if not problems:
                assert_whole(parse_bpmn(mutated))


def assert_whole(definition: Definition) -> None:
    """Assert what the execution takes for granted."""
    nodes, flows = definition.nodes, definition.flows
    for flow in flows.values():
        assert nodes[flow.source].scope == nodes[flow.target].scope
    for node in nodes.values():
        assert [flows[key].source for key in node.outgoing] == [node.id] * len(node.outgoing)
        assert [flows[key].target for key in node.incoming] == [node.id] * len(node.incoming)
        assert node.default is None or node.default in node.outgoing
        assert node.id in definition.scopes[node.scope].nodes
        assert node.event is not None or node.kind not in EVENTS
        assert node.compensated_by is None or nodes[node.compensated_by].is_for_compensation
    for event in (node.event for node in nodes.values() if node.event is not None):
        assert (event.timer is not None) == (event.trigger is Trigger.TIMER)
        assert (event.condition is not None) == (event.trigger is Trigger.CONDITION)
        assert event.timer is None or (event.timer.literal is None) != (event.timer.expression is None)
        assert event.name or event.trigger not in (Trigger.MESSAGE, Trigger.SIGNAL)
    assert all(nodes[host].kind in ACTIVITIES for host in definition.boundaries)
    assert definition.starts.keys() == definition.scopes.keys()


def mutate(source: bytes, random: Random) -> bytes:
    root = etree.fromstring(source)
    elements = [element for element in root.iter(etree.Element) if element is not root and "/DI}" not in element.tag]
    for _ in range(random.randint(1, 4)):
        random.choice(MUTATIONS)(random.choice(elements), random.choice(elements), random)
    return bytes(etree.tostring(root))


def remove(element: etree._Element, _: etree._Element, __: Random) -> None:
    if element.getparent() is not None:
        element.getparent().remove(element)


def move(element: etree._Element, other: etree._Element, _: Random) -> None:
    if element not in other.iterancestors() and element is not other:
        other.append(element)


def rename(element: etree._Element, other: etree._Element, _: Random) -> None:
    element.tag = other.tag


def forget(element: etree._Element, _: etree._Element, random: Random) -> None:
    if element.attrib:
        del element.attrib[random.choice(element.attrib.keys())]


def confuse(element: etree._Element, other: etree._Element, random: Random) -> None:
    if element.attrib and other.attrib:
        element.set(random.choice(element.attrib.keys()), random.choice(other.attrib.values()))
    element.text = random.choice([other.text, "x", "PT1X", "R/", "${", "= =", "1 +", "a = b"])


MUTATIONS = [remove, move, rename, forget, confuse]
