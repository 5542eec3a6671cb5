"""BPMN files as other tools write them: every process that can be run, as a file that `bpmn` reads."""

from dataclasses import dataclass

from processes.workflows.engine.bpmn.file import BPMN, MAX_NAME, is_true
from processes.workflows.engine.bpmn.outline import MAX_FLOWS, MAX_NESTED, MAX_NODES
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.dialects.bindings import translate_version_tag
from processes.workflows.engine.dialects.context import (
    ACTIVITIES,
    EVENTS,
    NODES,
    SCOPES,
    Context,
    list_nodes,
    list_scopes,
    open_file,
)
from processes.workflows.engine.dialects.drafts import Draft, make_draft
from processes.workflows.engine.dialects.event_gateways import complete_event_gateways
from processes.workflows.engine.dialects.flows import translate_flows
from processes.workflows.engine.dialects.forms import list_forms, note_forms
from processes.workflows.engine.dialects.identity import complete_ids, complete_process_ids
from processes.workflows.engine.dialects.leftovers import note_beside, note_leftovers, note_undrawn
from processes.workflows.engine.dialects.loops import translate_loop
from processes.workflows.engine.dialects.mappings import translate_mappings
from processes.workflows.engine.dialects.places import settle_places
from processes.workflows.engine.dialects.references import complete_references
from processes.workflows.engine.dialects.report import Report
from processes.workflows.engine.dialects.retries import translate_retries
from processes.workflows.engine.dialects.starts import complete_compensation, complete_starts
from processes.workflows.engine.dialects.structure import ask_workers, connect_links, split_multiple
from processes.workflows.engine.dialects.tasks import translate_people, translate_task
from processes.workflows.engine.dialects.triggers import translate_triggers

OLDER = "http://schema.omg.org/spec/BPMN/2.0"
"""The namespace of BPMN 2.0 before it was adopted."""
MAX_PROCESSES = 50
"""In one file."""


@dataclass(frozen=True, slots=True)
class TranslatedFile:
    """The root elements of a file, one for each process or case that can be run, in the order of the file."""

    roots: tuple[XmlElement, ...]
    report: Report


def translate_process_file(root: XmlElement) -> TranslatedFile:
    """Translate a BPMN file; without a process that could be run, the file is returned as it is."""
    draft = make_draft(root)
    for element in draft.walk() if draft.space == OLDER else ():
        element.space = BPMN if element.space == OLDER else element.space
    processes = list(draft.all("process"))
    context = open_file(draft)
    chosen = _choose_processes(processes)
    if not chosen or any(_is_too_large(process) for process in chosen) or len(chosen) > MAX_PROCESSES:
        return TranslatedFile((root,), context.report)  # refused where it is parsed, with the reason
    complete_process_ids(context, processes)
    for process in chosen:
        translate_version_tag(context.report, process)
    for process in processes:
        if process not in chosen:
            note_undrawn(context, process)
    for process in chosen:
        complete_ids(context, process)
        _cut_names(context, process)
        settle_places(context, process)
    for process in chosen:
        for scope in list_scopes(process):
            connect_links(context, scope)
            complete_starts(context, scope)
    complete_references(context, chosen)
    for process in chosen:
        _translate_process(context, process)
        forms = list_forms(process)
        for node in [each for scope in list_scopes(process) for each in list_nodes(scope)]:
            note_forms(context, node, forms)
        note_leftovers(context, process)
    note_beside(context, {process.id for process in chosen})
    others = [child for child in draft.children if child.name != "process" or child.space != BPMN]
    roots = [Draft(draft.space, draft.name, draft.attributes, "", [*others, each], draft.line) for each in chosen]
    return TranslatedFile(tuple(each.freeze() for each in roots), context.report)


def _is_too_large(process: Draft) -> bool:
    if _nests_too_deep(process):
        return True
    elements = [element.name for scope in list_scopes(process) for element in scope.own()]
    flows = elements.count("sequenceFlow")
    return flows > MAX_FLOWS or sum(name in NODES for name in elements) > MAX_NODES


def _nests_too_deep(scope: Draft, depth: int = 0) -> bool:
    return depth > MAX_NESTED or any(_nests_too_deep(child, depth + 1) for child in scope.own() if child.name in SCOPES)


def _choose_processes(processes: list[Draft]) -> list[Draft]:
    """Return the processes to run: those marked as executable; where none is, all that have something in them."""
    executable = [process for process in processes if is_true(process.get("isExecutable"))]
    filled = [process for process in processes if any(child.name in NODES for child in process.own())]
    return executable or filled or processes[:1]


def _cut_names(context: Context, process: Draft) -> None:
    for element in process.walk():
        name = " ".join(element.get("name").split())
        if element.space == BPMN and len(name) > MAX_NAME:
            element.attributes["name"] = name[:MAX_NAME]
            context.report.translate(element, "name", name, f"{name[:40]}…")


def _translate_process(context: Context, process: Draft) -> None:
    for scope in list(list_scopes(process)):
        for node in list(list_nodes(scope)):
            if node.name in EVENTS:
                translate_triggers(context, node)
            elif node.name in ACTIVITIES:
                translate_task(context, node)
                translate_retries(context, node)
                translate_people(context, node)
                translate_mappings(context, node)
                translate_loop(context, node)
        complete_compensation(context, scope)
        translate_flows(context, scope)
        split_multiple(context, scope)
        ask_workers(context, scope)
        complete_event_gateways(context, scope)
