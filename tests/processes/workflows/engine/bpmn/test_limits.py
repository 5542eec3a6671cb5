"""The bounds of a file: as much as is allowed is read, one more is refused and named."""

from collections.abc import Callable

import pytest

from processes.workflows.engine.bpmn.file import MAX_EXPRESSION_TEXT, MAX_EXPRESSIONS, MAX_NAME
from processes.workflows.engine.bpmn.forms import MAX_CHOICES, MAX_FIELDS
from processes.workflows.engine.bpmn.outline import MAX_FLOWS, MAX_NODES
from processes.workflows.engine.bpmn.xml import MAX_ATTRIBUTES, MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS
from processes.workflows.engine.expressions.limits import MAX_TEXT
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.process_files import process


def around(body: str) -> bytes:
    return process("p", '<startEvent id="s"/>', body)


def of_size(size: int) -> bytes:
    empty = around("<!---->")
    return around(f"<!--{'x' * (size - len(empty))}-->")


def notes(count: int) -> str:
    """Elements that are counted and no more: the definitions, the process, its start event and these."""
    return "<documentation/>" * (count - 3)


def inside_one_another(depth: int) -> str:
    """Elements as deep as this, with the definitions and the process around them."""
    return "<documentation>" * (depth - 2) + "</documentation>" * (depth - 2)


def attributes(count: int) -> str:
    written = " ".join(f'a{number}="x"' for number in range(count))
    return f"<documentation {written}/>"


def tasks(count: int) -> str:
    """Tasks beside the start event."""
    return "".join(f'<task id="t{number}"/>' for number in range(count - 1))


def flows(count: int) -> str:
    one = '<sequenceFlow id="f{}" sourceRef="g" targetRef="h"/>'
    return '<parallelGateway id="g"/><parallelGateway id="h"/>' + "".join(one.format(n) for n in range(count))


def scripts(count: int, text: str = "1") -> str:
    given = "".join(f'<postern:assign name="a{number}" expression="{text}"/>' for number in range(count))
    return f'<scriptTask id="t"><extensionElements>{given}</extensionElements></scriptTask>'


def sums(length: int) -> str:
    """An expression of so many characters."""
    return f"{'1' + ' ' * (length - 3)}+1"


def more(length: int) -> str:
    return f'<scriptTask id="more" postern:assign="a = {"1" * length}"/>' if length else ""


def fields(count: int, *, choices: int = 1) -> str:
    chosen = "".join(f'<postern:choice value="c{number}"/>' for number in range(choices))
    given = "".join(f'<postern:field name="f{n}" type="choice">{chosen}</postern:field>' for n in range(count))
    return f'<userTask id="t"><extensionElements><postern:form>{given}</postern:form></extensionElements></userTask>'


LIMITS: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "bytes": (MAX_BYTES, of_size),
    "elements": (MAX_ELEMENTS, lambda count: around(notes(count))),
    "depth": (MAX_DEPTH, lambda depth: around(inside_one_another(depth))),
    "attributes": (MAX_ATTRIBUTES, lambda count: around(attributes(count))),
    "nodes": (MAX_NODES, lambda count: around(tasks(count))),
    "flows": (MAX_FLOWS, lambda count: around(flows(count))),
    "id": (MAX_NAME, lambda length: around(f'<task id="{"i" * length}"/>')),
    "expressions": (MAX_EXPRESSIONS, lambda count: around(scripts(count))),
    "characters of an expression": (MAX_TEXT, lambda length: around(scripts(1, sums(length)))),
    "characters of all expressions": (
        MAX_EXPRESSION_TEXT,
        lambda count: around(scripts(count // 100, sums(100)) + more(count % 100)),
    ),
    "fields of a form": (MAX_FIELDS, lambda count: around(fields(count))),
    "choices of a field": (MAX_CHOICES, lambda count: around(fields(1, choices=count))),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_one_past_the_limit_is_refused(limit: str) -> None:
    most, write = LIMITS[limit]
    parse_definition(write(most))
    with pytest.raises(InvalidDefinition):
        parse_definition(write(most + 1))
