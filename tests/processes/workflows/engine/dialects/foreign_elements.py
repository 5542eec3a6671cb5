"""Elements as other tools write them, and the file around them."""

from dataclasses import dataclass
from itertools import pairwise

HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:camunda="http://camunda.org/schema/1.0/bpmn" xmlns:operaton="http://operaton.org/schema/1.0/bpmn"'
    ' xmlns:flowable="http://flowable.org/bpmn" xmlns:activiti="http://activiti.org/bpmn"'
    ' xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:tns="http://www.jboss.org/drools">'
)
CALLEE = (
    f'{HEAD}<process id="callee" isExecutable="true"><startEvent id="ask"/><userTask id="look"/>'
    '<sequenceFlow id="f" sourceRef="ask" targetRef="look"/></process></definitions>'
).encode()


@dataclass(frozen=True)
class ForeignFile:
    body: str
    script: str
    roots: str = ""

    @property
    def source(self) -> bytes:
        return f'{HEAD}{self.roots}<process id="p" isExecutable="true">{self.body}</process></definitions>'.encode()


def chain(*nodes: str) -> str:
    """Write elements one after the other, between a start and an end, with flows that have no ids."""
    ids = ["begin", *(node.split('id="', 1)[1].split('"', 1)[0] for node in nodes), "done"]
    flows = (f'<sequenceFlow sourceRef="{a}" targetRef="{b}"/>' for a, b in pairwise(ids))
    return "".join(['<startEvent id="begin"/>', *nodes, '<endEvent id="done"/>', *flows])


def flow(source: str, target: str, condition: str = "", more: str = "") -> str:
    inner = f"<conditionExpression{more}>{condition}</conditionExpression>" if condition else ""
    return f'<sequenceFlow id="{source}-{target}" sourceRef="{source}" targetRef="{target}">{inner}</sequenceFlow>'


def extended(inner: str) -> str:
    return f"<extensionElements>{inner}</extensionElements>"


def choice(first: str, more: str = "", kind: str = "exclusive") -> str:
    """Write a gateway whose first way has a condition and whose second is the default."""
    return (
        f'<startEvent id="begin"/><{kind}Gateway id="way" default="way-no"/><task id="yes"/><task id="no"/>'
        + flow("begin", "way")
        + flow("way", "yes", first, more)
        + flow("way", "no")
    )


def cards(element: str, inner: str = "") -> str:
    return f"<multiInstanceLoopCharacteristics {element}>{inner}</multiInstanceLoopCharacteristics>"
