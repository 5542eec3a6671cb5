"""Files for the tests: those in files/, and small ones written on the spot."""

from pathlib import Path

from processes.workflows.engine.bpmn.parser import parse_bpmn
from processes.workflows.engine.definition import Definition, Node
from processes.workflows.engine.problems import InvalidDefinition, Problem

FILES = Path(__file__).parent / "files"


def load(name: str) -> Definition:
    return parse_bpmn((FILES / f"{name}.bpmn").read_bytes())


def wrap(body: str, roots: str = "") -> bytes:
    """Write a file around a process; the body begins on line 4."""
    return (
        '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:postern="https://postern.dev/bpmn/1.0">'
        f'{roots}\n<process id="p" isExecutable="true">\n<startEvent id="s" />\n{body}\n</process>\n</definitions>'
    ).encode()


def read_only(body: str, roots: str = "") -> Node:
    """Read the one element that stands beside the start event."""
    definition = parse_bpmn(wrap(body, roots))
    return next(node for node in definition.nodes.values() if node.id != "s")


def find_problems(source: bytes) -> tuple[Problem, ...]:
    try:
        parse_bpmn(source)
    except InvalidDefinition as refused:
        return refused.problems
    return ()
