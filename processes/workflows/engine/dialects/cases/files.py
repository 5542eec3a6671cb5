"""CMMN files as other tools write them: every case of a file, as a file that `cmmn` reads."""

from collections import Counter

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.file import MAX_NAME
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.cmmn.file import CMMN
from processes.workflows.engine.cmmn.outline import KINDS
from processes.workflows.engine.dialects.bindings import translate_version_tag
from processes.workflows.engine.dialects.cases.rules import translate_rules
from processes.workflows.engine.dialects.cases.sentries import drop_unknown, settle_items, settle_parts
from processes.workflows.engine.dialects.cases.tasks import translate_case_task
from processes.workflows.engine.dialects.context import Context, open_file
from processes.workflows.engine.dialects.drafts import Draft, make_draft
from processes.workflows.engine.dialects.forms import note_forms
from processes.workflows.engine.dialects.identity import complete_process_ids
from processes.workflows.engine.dialects.leftovers import note_case_leftovers
from processes.workflows.engine.dialects.process_files import MAX_PROCESSES, TranslatedFile
from processes.workflows.engine.dialects.tasks import translate_people
from processes.workflows.engine.dialects.vendors import add_extension, has_extension

OLDER = frozenset({"http://www.omg.org/spec/CMMN/20131201/MODEL", "http://www.omg.org/spec/CMMN/20150516/MODEL"})
"""CMMN 1.0 and 1.1 before it was adopted, whose elements are nearly the same."""
_ITEMS = frozenset({*KINDS, "task", "decisionTask", "eventListener", "planFragment"})
_HOLDERS = frozenset({"casePlanModel", "stage", "planFragment"})


def translate_case_file(root: XmlElement) -> TranslatedFile:
    """Translate a CMMN file; without a case the file is returned as it is."""
    draft = make_draft(root)
    for element in draft.walk() if draft.space in OLDER else ():
        element.space = CMMN if element.space in OLDER else element.space
    context = open_file(draft)
    cases = list(draft.all("case"))
    planned = [case for case in cases if case.find("casePlanModel") is not None]
    for case in cases if planned else ():
        if case not in planned:
            context.report.draw(case, "case", NO_PLAN, is_picture=True)
    cases = planned or cases
    if not cases or len(cases) > MAX_PROCESSES:
        return TranslatedFile((root,), context.report)
    complete_process_ids(context, cases)
    for case in cases:
        translate_version_tag(context.report, case)
        for model in list(case.all("casePlanModel")):
            _translate_model(context, case, model)
        _name_file_items(context, case)
        note_case_leftovers(context, case)
    others = [child for child in draft.children if child.name != "case" or child.space != CMMN]
    roots = [Draft(draft.space, draft.name, draft.attributes, "", [*others, each], draft.line) for each in cases]
    return TranslatedFile(tuple(each.freeze() for each in roots), context.report)


def _translate_model(context: Context, case: Draft, model: Draft) -> None:
    if not model.id:
        model.attributes["id"] = context.new_id(f"casePlanModel~{case.id[:80]}")
        context.report.translate(model, "id", "", model.id)
    _place_discretionary(context, model)
    _complete_ids(context, model)
    _cut_names(context, model)
    stages = [each for each in model.walk() if each.space == CMMN and each.name in _HOLDERS]
    items = [each for each in model.walk() if each.space == CMMN and each.name == "planItem"]
    exits = {exit.id: item.id for item in items for exit in item.all("exitCriterion") if exit.id}
    empty: set[str] = set()
    for stage in stages:
        for definition in list(stage.own()):
            if definition.name in _ITEMS or definition.name.endswith(("Task", "EventListener")):
                translate_case_task(context, definition)
                _name_performer(context, case, definition)
                translate_people(context, definition)
                if definition.name == "humanTask":
                    note_forms(context, definition, {})
        empty |= _translate_sentries(context, stage, exits)
    translate_case_task(context, model)
    for stage in stages:
        drop_unknown(context, stage)
    settle_items(context, model, stages)
    if model.find("planItem") is None:
        _fill_plan(context, model)
    settle_parts(context, case, model)
    kinds = {each.id: each.name for each in model.walk() if each.space == CMMN and each.id}
    sentries = {key for key, name in kinds.items() if name == "sentry"}
    for stage in stages:
        for item in (stage, *(each for each in stage.walk() if each.name in ("planItem", "discretionaryItem"))):
            _translate_item(context, item, kinds, sentries, empty)
    translate_rules(context, model)


def _fill_plan(context: Context, model: Draft) -> None:
    """Give an empty plan a milestone, which is reached at once: the case begins and is complete."""
    milestone = model.add("milestone", id=context.new_id(f"milestone~{model.id[:80]}"))
    model.add("planItem", id=context.new_id(f"planItem~{model.id[:80]}"), definitionRef=milestone.id)
    context.report.translate(model, "casePlanModel", "", "a case that is complete at once: its plan is empty")


def _name_performer(context: Context, case: Draft, task: Draft) -> None:
    """Let the role of a human task be its candidate group."""
    reference = task.attributes.pop("performerRef", "").strip()
    roles = [role for group in (case, *case.all("caseRoles")) for role in group.children if role.name == "role"]
    name = next((role.get("name") for role in roles if role.id == reference), "")
    if reference and name and not has_extension(task, "candidateGroups"):
        add_extension(task, "candidateGroups", name)
        context.report.translate(task, "performerRef", name, "candidateGroups")


def _place_discretionary(context: Context, model: Draft) -> None:
    """Let a discretionary item wait in its stage until somebody plans it, which starts it."""
    for stage in [each for each in model.walk() if each.space == CMMN and each.name in _HOLDERS]:
        holders = [stage, *(child for child in stage.own() if child.name == "humanTask")]
        for table in [table for holder in holders for table in holder.all("planningTable")]:
            for item in [each for each in table.walk() if each.space == CMMN and each.name == "discretionaryItem"]:
                _place_item(context, stage, item)
        for holder in holders:
            holder.drop(lambda child: child.space == CMMN and child.name == "planningTable")


def _place_item(context: Context, stage: Draft, item: Draft) -> None:
    item.name = "planItem"
    item.drop(lambda child: child.name == "applicabilityRuleRefs")
    control = item.find("itemControl") or item.add("itemControl")
    if control.find("manualActivationRule") is None:
        control.add("manualActivationRule")
    add_extension(item, "neutral", "waiting")
    stage.children.append(item)
    context.report.translate(item, "discretionaryItem", "", PLANNED)


PLANNED = "it waits until it is planned, which starts it, and its stage does not wait for it"


def _complete_ids(context: Context, model: Draft) -> None:
    for stage in [each for each in model.walk() if each.space == CMMN and each.name in _HOLDERS]:
        places: Counter[str] = Counter()
        for child in stage.own():
            if child.name not in _ITEMS and child.name not in ("planItem", "sentry", "discretionaryItem"):
                continue
            places[child.name] += 1
            if not child.id:
                own = child.get("definitionRef") or str(places[child.name])
                child.attributes["id"] = context.new_id(f"{child.name}~{stage.id[:80]}~{own}"[: MAX_NAME - 40])
                if child.name != "sentry":
                    context.report.translate(child, "id", "", child.id)


def _cut_names(context: Context, model: Draft) -> None:
    for element in model.walk():
        name = " ".join(element.get("name").split())
        if element.space == CMMN and len(name) > MAX_NAME:
            element.attributes["name"] = name[:MAX_NAME]
            context.report.translate(element, "name", name, f"{name[:40]}…")


def _translate_item(context: Context, item: Draft, kinds: dict[str, str], sentries: set[str], empty: set[str]) -> None:
    """Drop criteria that wait for nothing, and those that an item of its type cannot have."""
    definition = kinds.get(item.get("definitionRef"), "")
    for criterion in list(item.own()):
        if criterion.name not in ("entryCriterion", "exitCriterion"):
            continue
        is_refused = definition in _LISTENERS or (definition == "milestone" and criterion.name == "exitCriterion")
        is_empty = criterion.get("sentryRef") in empty or criterion.get("sentryRef") not in sentries
        if is_refused or is_empty:
            item.drop(lambda child, criterion=criterion: child is criterion)  # type: ignore[misc]
            context.report.draw(criterion, criterion.name, NO_SENTRY if is_empty else NO_CRITERION, of=item)


NO_PLAN = "The case has no plan."
NO_SENTRY = "It waits for nothing."
NO_CRITERION = "An element of this type has no such criterion."
_LISTENERS = frozenset({"timerEventListener", "userEventListener"})


def _translate_sentries(context: Context, stage: Draft, exits: dict[str, str]) -> set[str]:
    """Translate the conditions of sentries; return the ids of those that wait for nothing."""
    empty: set[str] = set()
    for sentry in list(stage.all("sentry")):
        for part in sentry.all("ifPart"):
            condition = part.find("condition")
            holder = condition if condition is not None else part
            body = holder.find("body")
            text = holder.text or (body.text if body is not None else "")
            if not text:
                sentry.drop(lambda child, part=part: child is part)  # type: ignore[misc]
                continue
            language = holder.get("language")
            value = context.translate(part, text, "ifPart", of=sentry, language=language)
            if value is None:
                value = _ask(context, sentry, text)
            part.children = []
            part.text = ""
            part.add("condition", value)
        _name_sources(sentry, exits)
        if not any(child.name.endswith("Part") for child in sentry.own()):
            empty.add(sentry.id)
            sentry.name = ""
    stage.drop(lambda child: not child.name)
    return empty - {sentry.id for sentry in stage.all("sentry")}


def _name_sources(sentry: Draft, exits: dict[str, str]) -> None:
    """Let an on-part that names an exit criterion wait for the exit of the item that has it."""
    for part in sentry.all("planItemOnPart"):
        holder = exits.get(part.get("exitCriterionRef"))
        if holder is not None:
            part.attributes["sourceRef"] = part.get("sourceRef") or holder
            part.drop(lambda child: child.name == "standardEvent")
            part.add("standardEvent", "exit")


def _ask(context: Context, sentry: Draft, text: str) -> str:
    """Return the variable that stands for a condition that is code: it is set from outside, and looked at as any."""
    name = "answer_" + "".join(letter if letter.isalnum() else "_" for letter in sentry.id)[:80]
    context.report.translate(sentry, "ifPart", text, f"{name}, a variable that is set from outside")
    return f"{name} == true"


def _name_file_items(context: Context, case: Draft) -> None:
    """Call a case file item by its id where its name cannot be that of a variable."""
    for element in case.walk():
        if element.space != CMMN or element.name != "caseFileItem":
            continue
        if not element.id:
            element.attributes["id"] = context.new_id(f"caseFileItem~{element.get('name')[:80]}")
        name = element.get("name") or element.id
        if is_variable(name):
            continue
        found = "".join(letter if letter.isalnum() else "_" for letter in name)[:90]
        element.attributes["name"] = found if is_variable(found) else f"_{found}"
        context.report.translate(element, "name", name, element.get("name"))
