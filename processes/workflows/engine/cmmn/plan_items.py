"""Plan items: what each says itself, over what its definition says; and the index of what their criteria wait for."""

from collections import defaultdict

from processes.workflows.engine.bpmn.extensions import read_extensions
from processes.workflows.engine.bpmn.file import Subject
from processes.workflows.engine.bpmn.nodes import read_name
from processes.workflows.engine.bpmn.people import PEOPLE
from processes.workflows.engine.bpmn.revisions import CHOICES
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


def read_plan_items(reader: SentryReader) -> tuple[dict[str, Node], dict[str, PlanItem]]:
    """Read the case plan model and every plan item, as nodes of the definition and as items of the plan."""
    nodes: dict[str, Node] = {}
    items: dict[str, PlanItem] = {}
    # A definition is read once, however many plan items refer to it: its problems are reported once.
    definitions: dict[str, PlanItemDefinition] = {}
    for key, outlined in reader.outline.items.items():
        element = outlined.definition
        if element.id not in definitions:
            definitions[element.id] = read_item_definition(element, outlined.kind, reader)
        nodes[key] = _read_node(outlined, definitions[element.id], reader)
        items[key] = _read_item(outlined, definitions[element.id], reader)
    return nodes, items


def _read_node(outlined: OutlinedItem, definition: PlanItemDefinition, reader: SentryReader) -> Node:
    subject = Subject(outlined.element, reader.outline.file)
    is_item = outlined.kind is not NodeKind.CASE_PLAN
    form, people = read_own_form(subject, outlined.kind) if is_item else ((), None)
    return Node(
        id=outlined.element.id,
        kind=outlined.kind,
        scope=outlined.scope,
        name=(read_name(subject) if is_item else "") or definition.name,
        line=outlined.element.line,
        event=definition.event,
        form=form or definition.form,
        people=people or definition.people,
        called=definition.called,
        revision=definition.revision,
        decision=definition.decision,
        handler=definition.handler,
        topic=definition.topic if definition.handler else "",
        inputs=definition.inputs,
        outputs=definition.outputs,
        returns_all=not definition.outputs,
    )


def _read_item(outlined: OutlinedItem, definition: PlanItemDefinition, reader: SentryReader) -> PlanItem:
    subject = Subject(outlined.element, reader.outline.file)
    own = read_control(subject, "itemControl") if outlined.kind is not NodeKind.CASE_PLAN else ItemControl()
    control = own.or_else(definition.control)
    return PlanItem(
        criteria=read_criteria(outlined, reader) + definition.triggers,
        manual_activation=control.manual_activation,
        repetition=control.repetition,
        required=control.required,
        is_blocking=definition.is_blocking,
        auto_completes=definition.auto_completes,
        called_by=definition.called_by,
        neutral=read_extensions(subject, known=_ANY).value("neutral"),
    )


_ANY = PEOPLE | CHOICES | {"form", "neutral", "handler", "topic", "input", "output", "versionTag"}


def index_on_parts(
    root: str, items: dict[str, PlanItem], scopes: dict[str, ScopeDefinition]
) -> dict[tuple[str, str], tuple[OnPartReference, ...]]:
    """Index the on-parts of all criteria by source and event, in the order of the plan items."""
    around = _find_enclosing_stages(scopes)
    found: dict[tuple[str, str], list[OnPartReference]] = defaultdict(list)
    for key, item in items.items():
        for number, criterion in enumerate(item.criteria):
            for place, part in enumerate(criterion.sentry.on):
                stages = zip(around[key], around.get(part.source, ()), strict=False)
                common = root if part.is_file else [one for one, other in stages if one == other][-1]
                found[part.source, part.event].append(OnPartReference(key, number, place, common))
    return {source: tuple(parts) for source, parts in found.items()}


def _find_enclosing_stages(scopes: dict[str, ScopeDefinition]) -> dict[str, tuple[str, ...]]:
    """Return the stages around each plan item, the outermost first."""
    around: dict[str, tuple[str, ...]] = {}
    for scope in scopes.values():  # a stage comes after the one it lies in
        around |= dict.fromkeys(scope.nodes, (*around.get(scope.id, ()), scope.id))
    return around
