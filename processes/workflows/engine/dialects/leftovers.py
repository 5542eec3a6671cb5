"""What is left in a file that nothing here reads: each is listed as drawn, with the reason."""

from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.bpmn.people import PEOPLE
from processes.workflows.engine.dialects.context import NODES, Context, local_name
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.retries import NO_WORK
from processes.workflows.engine.dialects.vendors import (
    DELEGATES,
    QUIET,
    ZEEBE,
    get_prefix,
    list_foreign_attributes,
    take_attribute,
    take_elements,
)

UNKNOWN = "It belongs to another engine and has no effect here."
LISTENER = "Listeners are code of another engine: they are not called."
ONLY_DRAWN = "It is shown, and has no effect."
NOT_EXECUTABLE = "The process is not executable."
LANE = "the candidate group of its tasks that name nobody"
PERFORMER = "whose the task is: literal names"
STORED = "every step is stored before the next one begins"
KEPT = PEOPLE | {
    "formData",
    "formProperty",
    "formDefinition",
    "formKey",
    "formRef",
    "formRefBinding",
    "formRefVersion",
    "userTaskForm",
    "assignmentDefinition",
    "taskSchedule",
    "priorityDefinition",
    "userTask",
    "decisionRef",
    "decisionTableReferenceKey",
    "resultVariable",
    "mapDecisionResult",
    "calledDecision",
}
"""Attributes and elements of other engines that are read where the element is, by their local names."""
_STORED = ("asyncBefore", "asyncAfter", "async", "exclusive", "asyncLeave", "asyncComplete")
_DATA = frozenset(
    {
        "dataObject",
        "dataObjectReference",
        "dataStoreReference",
        "textAnnotation",
        "group",
        "ioSpecification",
        "property",
        "dataInputAssociation",
        "dataOutputAssociation",
        "performer",
        "resourceRole",
        "correlationSubscription",
        "auditing",
        "monitoring",
        "category",
        "artifact",
        "caseRoles",
        "input",
        "output",
    }
)
_CASE = frozenset(
    {"stage", "humanTask", "processTask", "caseTask", "milestone", "timerEventListener", "userEventListener"}
)
_SHOWN = NODES | {"sequenceFlow", "planItem", "discretionaryItem", "sentry", "casePlanModel", *_CASE}


def note_leftovers(context: Context, process: Draft) -> None:
    """List everything in a process that no part of the translation has taken."""
    _note(context, process, process)


def note_case_leftovers(context: Context, case: Draft) -> None:
    """List everything in a case that no part of the translation has taken."""
    _note(context, case, case)


def note_beside(context: Context, running: set[str]) -> None:
    """List what stands beside the processes: pools of others, and what other engines say of messages and signals."""
    for element in context.root.own():
        if element.name in _REFERRED:
            for foreign in element.extensions():
                if foreign.space == ZEEBE and foreign.name == "subscription":
                    context.report.draw(foreign, "zeebe:subscription", BY_RECORD, of=element)
                elif foreign.space != POSTERN:
                    _note_foreign(context, foreign, element)
        for pool in element.all("participant") if element.name == "collaboration" else ():
            if local_name(pool.get("processRef")) not in running:
                context.report.draw(pool, "participant", ONLY_DRAWN, is_picture=True)


_REFERRED = frozenset({"message", "signal", "error", "escalation"})
ONE_TOKEN = "An activity begins with each token, and sends one on."
BY_RECORD = "A message reaches the instance that has its record."


def note_undrawn(context: Context, process: Draft) -> None:
    """List a process that is not run, as a whole."""
    context.report.draw(process, process.name, NOT_EXECUTABLE, is_picture=True)


def _note(context: Context, element: Draft, holder: Draft) -> None:
    _note_stored(context, element, holder)
    for name in ("startQuantity", "completionQuantity"):
        if element.get(name) not in ("", "1"):
            context.report.draw(element, f"{name} {element.get(name)}", ONE_TOKEN, of=holder)
    for name, _ in list_foreign_attributes(element):
        if name.partition(":")[2] not in KEPT:
            context.report.draw(element, name, UNKNOWN, of=holder)
    for child in list(element.children):
        if child.space == element.space:
            _note_own(context, child, child if child.name in _SHOWN and child.id else holder)
        elif child.space != POSTERN:
            _note_foreign(context, child, holder)


def _note_own(context: Context, child: Draft, holder: Draft) -> None:
    if child.name == "extensionElements":
        for foreign in child.children:
            if foreign.space != POSTERN:
                _note_foreign(context, foreign, holder)
    elif child.name in _DATA:
        context.report.draw(child, child.name, ONLY_DRAWN, of=child if child.id else holder, is_picture=True)
    elif child.name in ("laneSet", "childLaneSet"):
        _note_lanes(context, child)
    elif child.name in ("potentialOwner", "humanPerformer"):
        context.report.translate(child, child.name, child.get("name"), PERFORMER, of=holder)
    elif child.name not in ("documentation", "incoming", "outgoing"):
        _note(context, child, holder)


def _note_lanes(context: Context, lanes: Draft) -> None:
    for lane in lanes.all("lane"):
        context.report.translate(lane, "lane", lane.get("name"), LANE)
        for inner in lane.all("childLaneSet"):
            _note_lanes(context, inner)


def _note_foreign(context: Context, element: Draft, holder: Draft) -> None:
    prefix = get_prefix(element.space)
    is_kept = element.name in KEPT or (element.name == "field" and element.get("name") in KEPT)
    if prefix in QUIET or (is_kept and (element.space in DELEGATES or element.space == ZEEBE)):
        return
    why = LISTENER if element.name.lower().endswith("listener") else UNKNOWN
    context.report.draw(element, f"{prefix}:{element.name}", why, of=holder)


def _note_stored(context: Context, element: Draft, holder: Draft) -> None:
    for name in _STORED:
        what, value = take_attribute(element, name)
        if what:
            context.report.translate(element, what, value, STORED, of=holder)
    for cycle in take_elements(element, "failedJobRetryTimeCycle"):
        context.report.draw(cycle, "failedJobRetryTimeCycle", NO_WORK, of=holder)
