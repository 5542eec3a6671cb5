"""Rules between the parts of a case: which criteria and rules an item may have, and exits that on-parts wait for."""

from processes.workflows.engine.bpmn.file import quote
from processes.workflows.engine.case_plan import CasePlan, CriterionRole, OnPart, PlanItem, Sentry
from processes.workflows.engine.definition import LISTENERS, Definition, Node, NodeKind
from processes.workflows.engine.problems import Problems


def validate_case(definition: Definition, plan: CasePlan, problems: Problems) -> None:
    """Add the problems of a case."""
    for key, item in plan.items.items():
        _check_criteria(definition.nodes[key], item, problems)
        _check_rules(definition.nodes[key], item, problems)
    _check_exits(definition, plan, problems)


def _check_criteria(node: Node, item: PlanItem, problems: Problems) -> None:
    has_exit = any(criterion.role is CriterionRole.EXIT for criterion in item.criteria)
    if node.kind in LISTENERS and (item.has_entry or has_exit):
        problems.add(node.id, node.line, "An event listener has no criteria.")
    elif node.kind is NodeKind.MILESTONE and has_exit:
        problems.add(node.id, node.line, "A milestone has no exit criterion.")


def _check_rules(node: Node, item: PlanItem, problems: Problems) -> None:
    has_any = item.manual_activation or item.repetition or item.required
    if node.kind is NodeKind.CASE_PLAN and has_any:
        problems.add(node.id, node.line, "A case plan model has no rules.")
    elif node.kind in LISTENERS and has_any:
        problems.add(node.id, node.line, "An event listener has no rules.")
    elif node.kind is NodeKind.MILESTONE and item.manual_activation:
        problems.add(node.id, node.line, "A milestone is not activated by hand.")
    elif node.kind is NodeKind.MILESTONE and item.repetition and not item.has_entry:
        problems.add(node.id, node.line, "A milestone that repeats needs an entry criterion.")


def _check_exits(definition: Definition, plan: CasePlan, problems: Problems) -> None:
    """Require that an exit criterion named by an on-part is one of its source."""
    criteria = [(key, criterion) for key, item in plan.items.items() for criterion in item.criteria]
    exits = {(key, criterion.id) for key, criterion in criteria if criterion.role is CriterionRole.EXIT}
    for _, criterion in criteria:
        for part in criterion.sentry.on:
            if part.criterion:
                source = definition.nodes[part.source].name or part.source
                _check_exit(exits, criterion.sentry, part, source, problems)


def _check_exit(exits: set[tuple[str, str]], sentry: Sentry, part: OnPart, source: str, problems: Problems) -> None:
    if part.event != "exit":
        problems.add(sentry.id, sentry.line, "exitCriterionRef is allowed only with the standard event exit.")
    elif (part.source, part.criterion) not in exits:
        message = f"{quote(part.criterion)} is not an exit criterion of {quote(source)}."
        problems.add(sentry.id, sentry.line, message)
