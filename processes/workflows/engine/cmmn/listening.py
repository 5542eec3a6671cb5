"""Who hears what: the on-parts of all criteria, found by what they listen to."""

from collections import defaultdict

from processes.workflows.engine.case_plan import OnPartReference, PlanItem
from processes.workflows.engine.definition import ScopeDefinition


def find_listening(
    root: str, items: dict[str, PlanItem], scopes: dict[str, ScopeDefinition]
) -> dict[tuple[str, str], tuple[OnPartReference, ...]]:
    """Group every on-part by its source and event, in the order of the plan items."""
    around = _places(scopes)
    found: dict[tuple[str, str], list[OnPartReference]] = defaultdict(list)
    for key, item in items.items():
        for number, criterion in enumerate(item.criteria):
            for place, part in enumerate(criterion.sentry.on):
                common = root if part.is_file else _common(around[key], around[part.source])
                found[part.source, part.event].append(OnPartReference(key, number, place, common))
    return {heard: tuple(listening) for heard, listening in found.items()}


def _places(scopes: dict[str, ScopeDefinition]) -> dict[str, tuple[str, ...]]:
    """Give the stages around each plan item, the outermost first."""
    around: dict[str, tuple[str, ...]] = {}
    for scope in scopes.values():  # a stage comes after the one it lies in
        around |= dict.fromkeys(scope.nodes, (*around.get(scope.id, ()), scope.id))
    return around


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    return [stage for stage, same in zip(one, other, strict=False) if stage == same][-1]
