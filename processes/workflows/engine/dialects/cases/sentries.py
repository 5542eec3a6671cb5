"""Sentries and plan items of other tools that point to nothing, or wait for what can never happen."""

from collections.abc import Callable, Iterator

from processes.workflows.engine.cmmn.file import CMMN
from processes.workflows.engine.cmmn.outline import KINDS
from processes.workflows.engine.cmmn.sentries import FILE_ITEM_EVENTS, get_standard_events
from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft

NO_DEFINITION = "It refers to no task, stage, milestone or listener of the case."
NEVER = "This can never happen: the criterion is never met."
NO_ENTRY = "A case begins when it is started: its plan has no entry criterion."
SHARED_STAGE = "Each plan item needs a stage of its own: the first one has this."
NO_TYPE = "There is no plan item of this type."
IN_THE_PLAN = "it stands in the case plan, where every stage finds it"
_HAPPENED = {"complete": "occur", "occur": "complete"}
"""Milestones and listeners occur, tasks and stages are completed: tools write the one for the other."""
_BESIDE = frozenset(
    {
        "documentation",
        "extensionElements",
        "defaultControl",
        "itemControl",
        "textAnnotation",
        "association",
        "artifact",
        "group",
        "planItem",
        "sentry",
        "entryCriterion",
        "exitCriterion",
        "planningTable",
    }
)


def drop_unknown(context: Context, stage: Draft) -> None:
    """Leave out of a stage what is of no type of the standard; its plan items are left out after it."""
    unknown = [child for child in stage.own() if child.name not in _BESIDE and child.name not in KINDS]
    for child in unknown:
        context.report.draw(child, child.name, NO_TYPE)
    _drop(stage, unknown)


def settle_items(context: Context, model: Draft, stages: list[Draft]) -> None:
    """Leave out plan items that refer to nothing, and put what they share where each of them may refer to it."""
    found = {each.id: (stage, each) for stage in stages for each in stage.own() if each.name in KINDS and each.id}
    planned: set[str] = set()
    moved: dict[str, Draft] = {}
    for stage, around in _list_around(model, frozenset()):
        dropped = []
        for item in stage.all("planItem"):
            key = item.get("definitionRef")
            holder, definition = found.get(key, (None, None))
            if definition is None or key in planned:
                context.report.draw(item, "planItem", NO_DEFINITION if definition is None else SHARED_STAGE)
                dropped.append(item)
            elif definition.name == "stage":
                planned.add(key)
            elif id(holder) not in around:
                moved[key] = definition
        _drop(stage, dropped)
    for key, definition in moved.items():
        context.report.translate(definition, definition.name, found[key][0].id, IN_THE_PLAN)
    for holder in {id(found[key][0]): found[key][0] for key in moved}.values():
        _drop(holder, [child for child in holder.own() if child.id in moved])
    model.children += moved.values()


def _list_around(stage: Draft, around: frozenset[int]) -> Iterator[tuple[Draft, frozenset[int]]]:
    """Yield each stage with those around it and itself: what stands in any of them can be referred to in it."""
    inside = around | {id(stage)}
    yield stage, inside
    for child in stage.all("stage"):
        yield from _list_around(child, inside)


def _drop(holder: Draft, children: list[Draft]) -> None:
    gone = {id(child) for child in children}
    if gone:
        holder.drop(lambda child: id(child) in gone)


def settle_parts(context: Context, case: Draft, model: Draft) -> None:
    """Let every on-part wait for something that can happen; a criterion whose part cannot is never met."""
    definitions = {each.id: each.name for each in model.walk() if each.space == CMMN and each.name in KINDS}
    items = {
        each.id: definitions.get(each.get("definitionRef"), "")
        for each in model.walk()
        if each.space == CMMN and each.name == "planItem"
    }
    files = {each.id for each in case.walk() if each.space == CMMN and each.name == "caseFileItem"}
    exits = {
        (item.id, each.id)
        for item in model.walk()
        if item.space == CMMN and item.name == "planItem"
        for each in item.all("exitCriterion")
    }

    def settle(part: Draft, of: Draft) -> bool:
        return _settle_part(context, part, of, items, files, exits)

    for holder in [each for each in model.walk() if each.space == CMMN]:
        if holder.name == "sentry":
            _settle_sentry(context, holder, settle)
        elif holder.name == "timerEventListener":
            for trigger in [each for each in holder.own() if each.name.endswith("StartTrigger")]:
                if not settle(trigger, holder):
                    # Without what starts it, nothing says when it fires.
                    holder.name, holder.children = "userEventListener", []
    if model.find("entryCriterion") is not None or model.get("entryCriteriaRefs"):
        model.attributes.pop("entryCriteriaRefs", None)
        model.drop(lambda child: child.name == "entryCriterion" and child.space == CMMN)
        context.report.draw(model, "entryCriterion", NO_ENTRY)


def _settle_sentry(context: Context, sentry: Draft, settle: Callable[[Draft, Draft], bool]) -> None:
    parts = [each for each in sentry.own() if each.name.endswith("OnPart")]
    if all([settle(part, sentry) for part in parts]):  # every one of them is told
        return
    sentry.drop(lambda child: child.name.endswith("Part") and child.space == CMMN)
    sentry.add("ifPart").add("condition", "false")


def _settle_part(
    context: Context,
    part: Draft,
    of: Draft,
    items: dict[str, str],
    files: set[str],
    exits: set[tuple[str, str]],
) -> bool:
    """Return whether what an on-part waits for can happen, after it was written as the standard has it."""
    is_file = part.name.startswith("caseFileItem")
    source, written = part.get("sourceRef"), part.find("standardEvent")
    kind = items.get(source, "")
    if (source not in files) if is_file else not kind:
        context.report.draw(part, f"{part.name} {source}".strip(), NEVER, of=of)
        return False
    possible = FILE_ITEM_EVENTS if is_file else get_standard_events(KINDS[kind])
    event = (written.text if written is not None else part.get("standardEvent")) or ("update" if is_file else "")
    found = event if event in possible else _HAPPENED.get(event or "complete", "")
    if not event and not is_file:
        found = "complete" if "complete" in possible else "occur"
    criterion = part.get("exitCriterionRef")
    if criterion and (found != "exit" or (source, criterion) not in exits):
        del part.attributes["exitCriterionRef"]
        context.report.draw(part, f"exitCriterionRef {criterion}", NO_EXIT, of=of)
    if found not in possible:
        context.report.draw(part, f"{part.name} {event}", NEVER, of=of)
        return False
    if found != (written.text if written is not None else part.get("standardEvent")):
        part.drop(lambda child: child.name == "standardEvent")
        part.attributes.pop("standardEvent", None)
        part.add("standardEvent", found)
        context.report.translate(part, "standardEvent", event, found, of=of)
    return True


NO_EXIT = "It is no exit criterion of what is waited for: its event alone counts."
