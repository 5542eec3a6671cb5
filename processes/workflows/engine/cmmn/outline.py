"""The outline of a case: which plan items lie in which stage, what defines them, and the items of the case file."""

from dataclasses import dataclass, field

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.file import SourceFile, Subject, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.cmmn.file import CMMN
from processes.workflows.engine.definition import NodeKind, ScopeDefinition

MAX_ITEMS = 2_000
MAX_STAGES_DEEP = 50
"""Stages can be nested by reference, deeper than the elements of the file."""


@dataclass(frozen=True, slots=True)
class OutlinedItem:
    """A plan item, or the case plan model, which defines itself."""

    element: XmlElement
    definition: XmlElement
    kind: NodeKind
    scope: str


@dataclass(slots=True)
class CaseOutline:
    file: SourceFile
    ids: dict[str, XmlElement] = field(default_factory=dict)
    definitions: dict[str, XmlElement] = field(default_factory=dict)
    """The elements that define plan items."""
    holders: dict[str, str] = field(default_factory=dict)
    """The stage element in which each of them stands."""
    sentries: dict[str, XmlElement] = field(default_factory=dict)
    items: dict[str, OutlinedItem] = field(default_factory=dict)
    scopes: dict[str, ScopeDefinition] = field(default_factory=dict)
    planned: set[str] = field(default_factory=set)
    """The stage elements that have their plan item."""
    refused: set[str] = field(default_factory=set)
    """Plan items with a problem already: a reference to one of them adds no second problem."""

    def name_item(self, key: str) -> str:
        """Return the name of a plan item or case file item as people know it; its id where it has none."""
        item = self.items.get(key)
        return key if item is None else item.element.get("name") or item.definition.get("name") or key


def outline_case(case: XmlElement, plan: XmlElement, file: SourceFile) -> CaseOutline:
    """Walk through a case plan model by its elements, then by its plan items: these refer to elements anywhere."""
    outline = CaseOutline(file)
    if register_id(outline, case) and register_id(outline, plan):
        _register(outline, plan)
        outline.scopes[case.id] = ScopeDefinition(case.id, None, (plan.id,))
        outline.items[plan.id] = OutlinedItem(plan, plan, NodeKind.CASE_PLAN, case.id)
        outline.planned.add(plan.id)
        _place_items(outline, plan, plan.id, parent=case.id, depth=0)
    return outline


def register_id(outline: CaseOutline, element: XmlElement) -> bool:
    is_own = Subject(element, outline.file).has_own_id(outline.ids)
    if is_own:
        outline.ids[element.id] = element
    return is_own


KINDS = {
    "stage": NodeKind.STAGE,
    "humanTask": NodeKind.HUMAN_TASK,
    "processTask": NodeKind.PROCESS_TASK,
    "caseTask": NodeKind.CASE_TASK,
    "decisionTask": NodeKind.DECISION_TASK,
    "milestone": NodeKind.MILESTONE,
    "timerEventListener": NodeKind.TIMER_LISTENER,
    "userEventListener": NodeKind.USER_LISTENER,
}
_NEVER_RUN = frozenset({"task", "eventListener", "planFragment"})
_CRITERIA = frozenset({"entryCriterion", "exitCriterion"})
# Documentation, diagrams, and what belongs to the stage itself.
_IGNORED = frozenset(
    {"documentation", "extensionElements", "defaultControl", "textAnnotation", "association", "artifact", "group"}
)


def _register(outline: CaseOutline, stage: XmlElement) -> None:
    """Index the elements of a stage and of the stages within it by id."""
    for child in stage.children:
        if child.space != CMMN or child.name in _IGNORED:
            continue
        if child.name in KINDS or child.name in _NEVER_RUN:
            _register_item_definition(outline, stage, child)
        elif child.name == "planItem":
            register_id(outline, child)
            _register_criteria(outline, child)
        elif child.name == "sentry":
            if register_id(outline, child):
                outline.sentries[child.id] = child
        elif child.name == "planningTable":
            _refuse_discretionary_items(outline, child)
        elif child.name not in _CRITERIA:
            Subject(child, outline.file).refuse(f"Elements of the type {quote(child.name)} are not supported.")
    _register_criteria(outline, stage)


def _register_item_definition(outline: CaseOutline, stage: XmlElement, element: XmlElement) -> None:
    if not register_id(outline, element):
        return
    outline.definitions[element.id] = element
    outline.holders[element.id] = stage.id
    if element.name == "stage":
        _register(outline, element)
    for table in element.all("planningTable"):
        _refuse_discretionary_items(outline, table)


def _register_criteria(outline: CaseOutline, holder: XmlElement) -> None:
    """Register the ids of criteria, which are optional."""
    for child in holder.children:
        if child.space == CMMN and child.name in _CRITERIA and child.id:
            register_id(outline, child)


def _refuse_discretionary_items(outline: CaseOutline, table: XmlElement) -> None:
    for child in table.children:
        if child.space == CMMN and child.name == "discretionaryItem":
            Subject(child, outline.file).refuse("Discretionary items are not supported.")
        elif child.space == CMMN and child.name == "planningTable":
            _refuse_discretionary_items(outline, child)


def _place_items(outline: CaseOutline, stage: XmlElement, scope: str, *, parent: str, depth: int) -> None:
    """Outline the plan items of a stage; `scope` is the id of the stage's own plan item."""
    inside: list[str] = []
    # Before its contents, so that outer stages come first; replaced when they are known.
    outline.scopes[scope] = ScopeDefinition(scope, parent, ())
    for item in stage.all("planItem"):
        if outline.ids.get(item.id) is not item:  # its id is missing or used twice, which is a problem already
            continue
        definition = _find_item_definition(outline, item, stage)
        if definition is None:
            outline.refused.add(item.id)
            continue
        if len(outline.items) > MAX_ITEMS:
            outline.file.problems.abort(item.id, item.line, f"A case has at most {MAX_ITEMS} plan items.")
        inside.append(item.id)
        outline.items[item.id] = OutlinedItem(item, definition, KINDS[definition.name], scope)
        if definition.name == "stage":
            _place_stage(outline, item, definition, scope, depth)
    outline.scopes[scope] = ScopeDefinition(scope, parent, tuple(inside))


def _place_stage(outline: CaseOutline, item: XmlElement, stage: XmlElement, parent: str, depth: int) -> None:
    if depth >= MAX_STAGES_DEEP:
        outline.file.problems.abort(item.id, item.line, f"Stages are nested more than {MAX_STAGES_DEEP} deep.")
    outline.planned.add(stage.id)
    _place_items(outline, stage, item.id, parent=parent, depth=depth + 1)


def _find_item_definition(outline: CaseOutline, item: XmlElement, stage: XmlElement) -> XmlElement | None:
    """Return the definition of a plan item; None, and a problem, when it cannot be run."""
    reference = item.get("definitionRef")
    element = outline.definitions.get(reference)
    subject = Subject(item, outline.file)
    if not reference:
        subject.refuse("A plan item has no definitionRef.")
    elif element is None:
        subject.refuse(
            f"definitionRef {quote(reference)} is not a task, stage, milestone or event listener of the case."
        )
    elif not _is_reachable(outline, stage.id, outline.holders[reference]):
        label = quote(element.get("name") or reference)
        subject.refuse(f"{label} stands in another stage: a plan item is defined in its own or an outer one.")
    elif element.name in _NEVER_RUN:
        Subject(element, outline.file).refuse(f"Elements of the type {quote(element.name)} are not supported.")
    elif reference in outline.planned:
        label = quote(element.get("name") or reference)
        subject.refuse(f"The stage {label} already has a plan item: each needs a stage of its own.")
    else:
        return element
    return None


def _is_reachable(outline: CaseOutline, stage: str, holder: str) -> bool:
    """Return whether an element stands in this stage or an outer one."""
    at: str | None = stage
    while at is not None and at != holder:
        at = outline.holders.get(at)
    return at is not None


MAX_FILE_ITEMS = 2_000


def read_case_file(case: XmlElement, outline: CaseOutline) -> dict[str, tuple[str, ...]]:
    """Return the path of each case file item by id: the variable, then the keys that lead to the item."""
    found: dict[str, tuple[str, ...]] = {}
    model = case.find("caseFileModel")
    if model is not None:
        _read_file_items(outline, found, model, ())
    return found


def _read_file_items(
    outline: CaseOutline, found: dict[str, tuple[str, ...]], holder: XmlElement, above: tuple[str, ...]
) -> None:
    for item in holder.all("caseFileItem"):
        subject = Subject(item, outline.file)
        if not register_id(outline, item):
            continue
        if len(found) >= MAX_FILE_ITEMS:
            outline.file.problems.abort(item.id, item.line, f"A case file has at most {MAX_FILE_ITEMS} items.")
        name = item.get("name") or item.id
        if not is_variable(name):
            subject.refuse(f"{quote(name)} cannot be the name of a variable.")
        found[item.id] = (*above, name)
        for children in item.all("children"):
            _read_file_items(outline, found, children, found[item.id])
