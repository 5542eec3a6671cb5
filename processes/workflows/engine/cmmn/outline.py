"""The outline of a case: which plan items lie in which stage, and what defines them. Nothing is read closer yet."""

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
    described_by: XmlElement
    kind: NodeKind
    scope: str


@dataclass(slots=True)
class CaseOutline:
    file: SourceFile
    ids: dict[str, XmlElement] = field(default_factory=dict)
    described: dict[str, XmlElement] = field(default_factory=dict)
    """The elements that define plan items."""
    holders: dict[str, str] = field(default_factory=dict)
    """The stage element in which each of them stands."""
    sentries: dict[str, XmlElement] = field(default_factory=dict)
    items: dict[str, OutlinedItem] = field(default_factory=dict)
    scopes: dict[str, ScopeDefinition] = field(default_factory=dict)
    planned: set[str] = field(default_factory=set)
    """The stage elements that have their plan item."""
    refused: set[str] = field(default_factory=set)
    """Not supported, and told so: what refers to them is not told again."""


def outline_case(case: XmlElement, plan: XmlElement, file: SourceFile) -> CaseOutline:
    """Walk through a case plan model and its stages: first to find what stands where, then by its plan items."""
    found = CaseOutline(file)
    if register_id(found, case) and register_id(found, plan):
        _register(found, plan)
        found.scopes[case.id] = ScopeDefinition(case.id, None, (plan.id,))
        found.items[plan.id] = OutlinedItem(plan, plan, NodeKind.CASE_PLAN, case.id)
        found.planned.add(plan.id)
        _place_items(found, plan, plan.id, parent=case.id, depth=0)
    return found


def register_id(found: CaseOutline, element: XmlElement) -> bool:
    is_own = Subject(element, found.file).has_own_id(found.ids)
    if is_own:
        found.ids[element.id] = element
    return is_own


KINDS = {
    "stage": NodeKind.STAGE,
    "humanTask": NodeKind.HUMAN_TASK,
    "processTask": NodeKind.PROCESS_TASK,
    "caseTask": NodeKind.CASE_TASK,
    "milestone": NodeKind.MILESTONE,
    "timerEventListener": NodeKind.TIMER_LISTENER,
    "userEventListener": NodeKind.USER_LISTENER,
}
_NEVER_RUN = frozenset({"task", "decisionTask", "eventListener", "planFragment"})
_CRITERIA = frozenset({"entryCriterion", "exitCriterion"})
# What describes, documents or draws, and what belongs to the stage itself.
_SILENT = frozenset(
    {"documentation", "extensionElements", "defaultControl", "textAnnotation", "association", "artifact", "group"}
)


def _register(found: CaseOutline, stage: XmlElement) -> None:
    """Take down what stands in a stage element and in the stages within it."""
    for child in stage.children:
        if child.space != CMMN or child.name in _SILENT:
            continue
        if child.name in KINDS or child.name in _NEVER_RUN:
            _register_item_definition(found, stage, child)
        elif child.name == "planItem":
            register_id(found, child)
            _register_criteria(found, child)
        elif child.name == "sentry":
            if register_id(found, child):
                found.sentries[child.id] = child
        elif child.name == "planningTable":
            _refuse_discretionary_items(found, child)
        elif child.name not in _CRITERIA:
            Subject(child, found.file).refuse(f"Elements of the type {quote(child.name)} are not supported.")
    _register_criteria(found, stage)


def _register_item_definition(found: CaseOutline, stage: XmlElement, element: XmlElement) -> None:
    if not register_id(found, element):
        return
    found.described[element.id] = element
    found.holders[element.id] = stage.id
    if element.name == "stage":
        _register(found, element)
    for table in element.all("planningTable"):
        _refuse_discretionary_items(found, table)


def _register_criteria(found: CaseOutline, holder: XmlElement) -> None:
    """Take down the ids of criteria; one may do without."""
    for child in holder.children:
        if child.space == CMMN and child.name in _CRITERIA and child.id:
            register_id(found, child)


def _refuse_discretionary_items(found: CaseOutline, table: XmlElement) -> None:
    for child in table.children:
        if child.space == CMMN and child.name == "discretionaryItem":
            Subject(child, found.file).refuse("Discretionary items are not supported.")
        elif child.space == CMMN and child.name == "planningTable":
            _refuse_discretionary_items(found, child)


def _place_items(found: CaseOutline, stage: XmlElement, scope: str, *, parent: str, depth: int) -> None:
    """Place the plan items of a stage; `scope` is the id of its own plan item."""
    inside: list[str] = []
    found.scopes[scope] = ScopeDefinition(scope, parent, ())
    for item in stage.all("planItem"):
        if found.ids.get(item.id) is not item:  # has no id of its own, and is told so
            continue
        described_by = _find_item_definition(found, item, stage)
        if described_by is None:
            found.refused.add(item.id)
            continue
        if len(found.items) > MAX_ITEMS:
            found.file.problems.stop(item.id, item.line, f"A case has at most {MAX_ITEMS} plan items.")
        inside.append(item.id)
        found.items[item.id] = OutlinedItem(item, described_by, KINDS[described_by.name], scope)
        if described_by.name == "stage":
            _place_stage(found, item, described_by, scope, depth)
    found.scopes[scope] = ScopeDefinition(scope, parent, tuple(inside))


def _place_stage(found: CaseOutline, item: XmlElement, stage: XmlElement, parent: str, depth: int) -> None:
    if depth >= MAX_STAGES_DEEP:
        found.file.problems.stop(item.id, item.line, f"Stages are nested more than {MAX_STAGES_DEEP} deep.")
    found.planned.add(stage.id)
    _place_items(found, stage, item.id, parent=parent, depth=depth + 1)


def _find_item_definition(found: CaseOutline, item: XmlElement, stage: XmlElement) -> XmlElement | None:
    """Find what defines a plan item; None, and a problem, when it is nothing that can be run."""
    reference = item.get("definitionRef")
    element = found.described.get(reference)
    subject = Subject(item, found.file)
    if element is None:
        subject.refuse(f"definitionRef {quote(reference)} is no task, stage, milestone or event listener of the case.")
    elif not _is_reachable(found, stage.id, found.holders[reference]):
        subject.refuse(
            f"{quote(reference)} stands in another stage: a plan item is defined in its own or an outer one."
        )
    elif element.name in _NEVER_RUN:
        Subject(element, found.file).refuse(f"Elements of the type {quote(element.name)} are not supported.")
    elif reference in found.planned:
        subject.refuse(f"The stage {quote(reference)} has a plan item already: each needs a stage of its own.")
    else:
        return element
    return None


def _is_reachable(found: CaseOutline, stage: str, holder: str) -> bool:
    """Tell whether an element stands in this stage or an outer one."""
    at: str | None = stage
    while at is not None and at != holder:
        at = found.holders.get(at)
    return at is not None


MAX_FILE_ITEMS = 2_000


def read_case_file(case: XmlElement, outline: CaseOutline) -> dict[str, tuple[str, ...]]:
    """Give the way to each item by its id: the variable, then the parts that lead to it."""
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
            outline.file.problems.stop(item.id, item.line, f"A case file has at most {MAX_FILE_ITEMS} items.")
        name = item.get("name") or item.id
        if not is_variable(name):
            subject.refuse(f"{quote(name)} cannot be the name of a variable.")
        found[item.id] = (*above, name)
        for children in item.all("children"):
            _read_file_items(outline, found, children, found[item.id])
