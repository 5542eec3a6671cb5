"""Ids for elements that have none, the same in every revision: by what they connect, their name or their place."""

import re
from collections import Counter

from processes.workflows.engine.bpmn.file import MAX_NAME, is_key
from processes.workflows.engine.dialects.context import NODES, SCOPES, Context, list_nodes, list_scopes
from processes.workflows.engine.dialects.drafts import Draft

_MOST = MAX_NAME - 40
_NOT_A_WORD = re.compile(r"[^\w.-]+")


def complete_process_ids(context: Context, processes: list[Draft]) -> None:
    """Give each process an id of its own that can be the key of a definition."""
    seen: set[str] = set()
    for place, process in enumerate(processes, start=1):
        if not is_key(process.id) or process.id in seen:
            before, name = process.id, make_key(process.id or process.get("name"))
            name += f"-{place}" if process.id in seen else ""
            process.attributes["id"] = context.new_id(name if is_key(name) else f"process-{place}")
            context.report.translate(process, "id", before, process.id)
        seen.add(process.id)


def complete_ids(context: Context, process: Draft) -> None:
    """Give every element and flow of a process an id of its own."""
    for scope in list_scopes(process):
        _name_elements(context, scope)
    for scope in list_scopes(process):  # after the elements, which flows connect
        _name_flows(context, scope)


def _name_elements(context: Context, scope: Draft) -> None:
    places: Counter[str] = Counter()
    for child in scope.own():
        if child.name not in NODES and child.name not in SCOPES:
            continue
        places[child.name] += 1
        if not child.id:
            own = make_key(child.get("name")) or str(places[child.name])
            child.attributes["id"] = context.new_id(f"{child.name}~{scope.id[:80]}~{own}"[:_MOST])
            context.report.translate(child, "id", "", child.id)


def _name_flows(context: Context, scope: Draft) -> None:
    seen = {node.id for node in list_nodes(scope)}
    for flow in scope.all("sequenceFlow"):
        if flow.id and flow.id not in seen:
            seen.add(flow.id)
            continue
        source, target = flow.get("sourceRef"), flow.get("targetRef")
        before = flow.id
        flow.attributes["id"] = context.new_id(f"flow~{source[:75]}~{target[:75]}"[:_MOST])
        seen.add(flow.id)
        # A flow without an id is plain BPMN; one that shares its id is another one from now on.
        if before:
            context.report.translate(flow, "id", before, flow.id)


def make_key(name: str) -> str:
    """Write a name as the key of a definition: the same for what is called so and for what calls it."""
    return _NOT_A_WORD.sub("-", name.strip()).strip("-.")[:60]
