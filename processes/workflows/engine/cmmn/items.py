"""One plan item, read closely: what it says itself, over what its definition element says."""

from processes.workflows.engine.bpmn.file import Subject
from processes.workflows.engine.bpmn.nodes import read_name
from processes.workflows.engine.case_plan import PlanItem
from processes.workflows.engine.cmmn.criteria import read_criteria
from processes.workflows.engine.cmmn.described import Described, read_described, read_own_form
from processes.workflows.engine.cmmn.outline import OutlinedItem
from processes.workflows.engine.cmmn.rules import Control, read_control
from processes.workflows.engine.cmmn.sentries import Sentries
from processes.workflows.engine.definition import Node, NodeKind


def read_items(sentries: Sentries) -> tuple[dict[str, Node], dict[str, PlanItem]]:
    """Read every plan item, and the case plan model before them."""
    nodes: dict[str, Node] = {}
    items: dict[str, PlanItem] = {}
    described: dict[str, Described] = {}
    for key, placed in sentries.outline.items.items():
        element = placed.described_by
        if element.id not in described:
            described[element.id] = read_described(element, placed.kind, sentries)
        nodes[key] = _read_node(placed, described[element.id], sentries)
        items[key] = _read_item(placed, described[element.id], sentries)
    return nodes, items


def _read_node(placed: OutlinedItem, described: Described, sentries: Sentries) -> Node:
    subject = Subject(placed.element, sentries.outline.file)
    is_item = placed.kind is not NodeKind.CASE_PLAN
    return Node(
        id=placed.element.id,
        kind=placed.kind,
        scope=placed.scope,
        name=(read_name(subject) if is_item else "") or described.name,
        line=placed.element.line,
        event=described.event,
        form=(read_own_form(subject, placed.kind) if is_item else ()) or described.form,
        called=described.called,
    )


def _read_item(placed: OutlinedItem, described: Described, sentries: Sentries) -> PlanItem:
    subject = Subject(placed.element, sentries.outline.file)
    own = read_control(subject, "itemControl") if placed.kind is not NodeKind.CASE_PLAN else Control()
    control = own.or_else(described.control)
    return PlanItem(
        criteria=read_criteria(placed, sentries) + described.triggers,
        manual_activation=control.manual_activation,
        repetition=control.repetition,
        required=control.required,
        is_blocking=described.is_blocking,
        auto_completes=described.auto_completes,
        called_by=described.called_by,
    )
