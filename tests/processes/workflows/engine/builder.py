"""Small processes for tests, written down without XML.

    process(user("a"), exclusive("g"), "start > a > g", "g > end : x > 1", "g > other default")

A string is a chain of flows; after ` : ` stands the condition of the last one, ` default` makes the last one the
default. Start and end events named `start…` and `end…` need not be given.
"""

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

from processes.workflows.engine.definition import (
    Assignment,
    BpmnEvent,
    Definition,
    Flow,
    Loop,
    Node,
    NodeKind,
    ScopeDefinition,
    TimerDefinition,
    TimerKind,
    Trigger,
)
from processes.workflows.engine.expressions import Expression, compile_expression


@dataclass(frozen=True)
class Part:
    """A node, with what lies in it when it is a scope."""

    node: Node
    inside: tuple["Part | str", ...] = ()


def process(*parts: Part | str, key: str = "P", name: str = "") -> Definition:
    plan = _Plan()
    _add_scope(plan, key, None, parts)
    return Definition(
        key=key,
        name=name or key,
        kind="bpmn",
        scopes=plan.scopes,
        nodes=plan.nodes,
        flows=plan.flows,
        boundaries=_grouped((node.attached_to, node.id) for node in plan.nodes.values() if node.attached_to),
        starts=_grouped((node.scope, node.id) for node in plan.nodes.values() if node.kind is NodeKind.START),
        event_sub_processes=_grouped(
            (node.scope, node.id) for node in plan.nodes.values() if node.kind is NodeKind.EVENT_SUB_PROCESS
        ),
    )


def node(kind: NodeKind, key: str, **more: Any) -> Part:
    return Part(Node(id=key, kind=kind, scope="", **more))


def user(key: str, **more: Any) -> Part:
    return node(NodeKind.USER_TASK, key, **more)


def script(key: str, **assigns: str) -> Part:
    return node(NodeKind.SCRIPT_TASK, key, assigns=assignments(assigns))


def service(key: str, handler: str, inputs: dict[str, str] | None = None, **more: Any) -> Part:
    return node(NodeKind.SERVICE_TASK, key, handler=handler, inputs=assignments(inputs or {}), **more)


def assignments(texts: dict[str, str]) -> tuple[Assignment, ...]:
    return tuple(Assignment(name, compile_expression(text)) for name, text in texts.items())


def start(key: str, event: BpmnEvent | None = None, **more: Any) -> Part:
    return node(NodeKind.START, key, event=event, **more)


def end(key: str, event: BpmnEvent | None = None) -> Part:
    return node(NodeKind.END, key, event=event)


def catch(key: str, event: BpmnEvent) -> Part:
    return node(NodeKind.CATCH, key, event=event)


def throw(key: str, event: BpmnEvent | None = None, **inputs: str) -> Part:
    return node(NodeKind.THROW, key, event=event, inputs=assignments(inputs))


def boundary(key: str, attached_to: str, event: BpmnEvent, **more: Any) -> Part:
    return node(NodeKind.BOUNDARY, key, attached_to=attached_to, event=event, **more)


def exclusive(key: str) -> Part:
    return node(NodeKind.EXCLUSIVE, key)


def parallel(key: str) -> Part:
    return node(NodeKind.PARALLEL, key)


def inclusive(key: str) -> Part:
    return node(NodeKind.INCLUSIVE, key)


def event_based(key: str) -> Part:
    return node(NodeKind.EVENT_BASED, key)


def sub(key: str, *inside: Part | str, **more: Any) -> Part:
    return Part(Node(id=key, kind=NodeKind.SUB_PROCESS, scope="", **more), inside)


def event_sub(key: str, *inside: Part | str) -> Part:
    return Part(Node(id=key, kind=NodeKind.EVENT_SUB_PROCESS, scope=""), inside)


def call(key: str, called: str, **more: Any) -> Part:
    return node(NodeKind.CALL_ACTIVITY, key, called=called, **more)


def message(name: str) -> BpmnEvent:
    return BpmnEvent(Trigger.MESSAGE, name=name)


def signal(name: str) -> BpmnEvent:
    return BpmnEvent(Trigger.SIGNAL, name=name)


def error(code: str = "") -> BpmnEvent:
    return BpmnEvent(Trigger.ERROR, name=code)


def compensation(activity: str = "") -> BpmnEvent:
    return BpmnEvent(Trigger.COMPENSATION, name=activity)


def condition(text: str) -> BpmnEvent:
    return BpmnEvent(Trigger.CONDITION, condition=compile_expression(text))


def duration(text: str) -> BpmnEvent:
    return BpmnEvent(Trigger.TIMER, timer=TimerDefinition(TimerKind.DURATION, literal=text))


def date(text: str) -> BpmnEvent:
    return BpmnEvent(Trigger.TIMER, timer=TimerDefinition(TimerKind.DATE, literal=text))


def cycle(text: str) -> BpmnEvent:
    return BpmnEvent(Trigger.TIMER, timer=TimerDefinition(TimerKind.CYCLE, literal=text))


def timer_of(kind: TimerKind, text: str) -> BpmnEvent:
    return BpmnEvent(Trigger.TIMER, timer=TimerDefinition(kind, expression=compile_expression(text)))


TERMINATE = BpmnEvent(Trigger.TERMINATE)


def each(collection: str = "", *, is_sequential: bool = False, cardinality: str = "", **more: Any) -> Loop:
    """Make a multi-instance loop."""
    more["completion"] = _compiled(more.get("completion", ""))
    return Loop(True, is_sequential, cardinality=_compiled(cardinality), collection=collection, **more)


def again(text: str = "", **more: Any) -> Loop:
    """Make a standard loop."""
    return Loop(False, condition=_compiled(text), **more)


@dataclass
class _Plan:
    scopes: dict[str, ScopeDefinition] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    flows: dict[str, Flow] = field(default_factory=dict)


def _add_scope(plan: _Plan, key: str, parent: str | None, parts: tuple[Part | str, ...]) -> None:
    own: list[str] = []
    plan.scopes[key] = ScopeDefinition(key, parent, ())
    for part in parts:
        if isinstance(part, Part):
            _add_node(plan, key, own, part.node)
            if part.inside:
                _add_scope(plan, part.node.id, key, part.inside)
    for part in parts:
        if isinstance(part, str):
            _add_flows(plan, key, own, part)
    plan.scopes[key] = ScopeDefinition(key, parent, tuple(own))


def _add_node(plan: _Plan, scope: str, own: list[str], given: Node) -> None:
    plan.nodes[given.id] = replace(given, scope=scope)
    own.append(given.id)


def _add_flows(plan: _Plan, scope: str, own: list[str], text: str) -> None:
    chain, _, expression = text.partition(" : ")
    is_default = chain.endswith(" default")
    keys = [key.strip() for key in chain.removesuffix(" default").split(">")]
    for key in keys:
        if key not in plan.nodes:
            _add_node(plan, scope, own, Node(key, NodeKind.START if key.startswith("start") else NodeKind.END, scope))
    for source, target in itertools.pairwise(keys):
        is_last = target == keys[-1]
        flow = Flow(f"{source}-{target}", source, target, condition=_compiled(expression) if is_last else None)
        while flow.id in plan.flows:
            flow = replace(flow, id=f"{flow.id}'")
        plan.flows[flow.id] = flow
        before, after = plan.nodes[source], plan.nodes[target]
        default = flow.id if is_default and is_last else before.default
        plan.nodes[source] = replace(before, outgoing=(*before.outgoing, flow.id), default=default)
        plan.nodes[target] = replace(plan.nodes[target], incoming=(*after.incoming, flow.id))


def _compiled(text: str) -> Expression | None:
    return compile_expression(text) if text else None


def _grouped(pairs: Any) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for key, value in pairs:
        groups[key] = (*groups.get(key, ()), value)
    return groups
