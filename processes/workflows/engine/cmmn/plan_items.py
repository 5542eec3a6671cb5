"""One plan item, read closely: what it says itself, over what its definition element says."""

from collections import defaultdict

from processes.workflows.engine.bpmn.file import Subject
from processes.workflows.engine.bpmn.nodes import read_name
from processes.workflows.engine.case_plan import OnPartReference, PlanItem
from processes.workflows.engine.cmmn.item_definitions import (
    ItemControl,
    PlanItemDefinition,
    read_control,
    read_item_definition,
    read_own_form,
)
from processes.workflows.engine.cmmn.outline import OutlinedItem
from processes.workflows.engine.cmmn.sentries import SentryReader, read_criteria
from processes.workflows.engine.definition import Node, NodeKind, ScopeDefinition


def read_plan_items(sentries: SentryReader) -> tuple[dict[str, Node], dict[str, PlanItem]]:
    """Read every plan item, and the case plan model before them."""
    nodes: dict[str, Node] = {}
    items: dict[str, PlanItem] = {}
    described: dict[str, PlanItemDefinition] = {}
    for key, placed in sentries.outline.items.items():
        element = placed.described_by
        if element.id not in described:
            described[element.id] = read_item_definition(element, placed.kind, sentries)
        nodes[key] = _read_node(placed, described[element.id], sentries)
        items[key] = _read_item(placed, described[element.id], sentries)
    return nodes, items


def _read_node(placed: OutlinedItem, described: PlanItemDefinition, sentries: SentryReader) -> Node:
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


def _read_item(placed: OutlinedItem, described: PlanItemDefinition, sentries: SentryReader) -> PlanItem:
    subject = Subject(placed.element, sentries.outline.file)
    own = read_control(subject, "itemControl") if placed.kind is not NodeKind.CASE_PLAN else ItemControl()
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


def index_on_parts(
    root: str, items: dict[str, PlanItem], scopes: dict[str, ScopeDefinition]
) -> dict[tuple[str, str], tuple[OnPartReference, ...]]:
    """Group every on-part by its source and event, in the order of the plan items."""
    around = _find_enclosing_stages(scopes)
    found: dict[tuple[str, str], list[OnPartReference]] = defaultdict(list)
    for key, item in items.items():
        for number, criterion in enumerate(item.criteria):
            for place, part in enumerate(criterion.sentry.on):
                common = root if part.is_file else _common(around[key], around[part.source])
                found[part.source, part.event].append(OnPartReference(key, number, place, common))
    return {heard: tuple(listening) for heard, listening in found.items()}


def _find_enclosing_stages(scopes: dict[str, ScopeDefinition]) -> dict[str, tuple[str, ...]]:
    """Give the stages around each plan item, the outermost first."""
    around: dict[str, tuple[str, ...]] = {}
    for scope in scopes.values():  # a stage comes after the one it lies in
        around |= dict.fromkeys(scope.nodes, (*around.get(scope.id, ()), scope.id))
    return around


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    return [stage for stage, same in zip(one, other, strict=False) if stage == same][-1]
