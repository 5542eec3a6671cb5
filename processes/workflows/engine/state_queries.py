"""Read-only questions about a state, for the API and the pages."""

from typing import Any, TypedDict

from processes.workflows.engine.definition import Definition, Node
from processes.workflows.engine.execution.records import (
    InstanceState,
    ItemRecord,
    Library,
    TaskRecord,
    TimerRecord,
    TokenRecord,
    Variables,
    sequence_number,
)


class ActiveElement(TypedDict):
    element: str
    kind: str
    since: str


class TaskSummary(TypedDict):
    id: str
    element: str
    name: str
    kind: str
    since: str


class TimerSummary(TypedDict):
    id: str
    element: str
    kind: str
    due: str
    since: str


def list_active_elements(state: InstanceState, library: Library) -> list[ActiveElement]:
    """List the elements that have a token and the active plan items, in the order of their creation."""
    found: dict[str, TokenRecord | ItemRecord] = {
        # Of a token with a loop the rounds have tokens of their own.
        **{key: token for key, token in state.get("tokens", {}).items() if "loop" not in token},
        **{key: item for key, item in state.get("items", {}).items() if is_active_item(item)},
    }
    return [
        {
            "element": found[key]["element"],
            "kind": get_node(state, library, found[key]["scope"], found[key]["element"]).kind.value,
            "since": found[key]["since"],
        }
        for key in sorted(found, key=sequence_number)
    ]


def is_active_item(item: ItemRecord) -> bool:
    """Return whether a plan item is active; the case plan model is an item too and stands for the case itself."""
    return item["state"] == "active"


class ItemSummary(TypedDict):
    id: str
    element: str
    state: str


def list_items(state: InstanceState) -> list[ItemSummary]:
    """List the plan items of a case and of the cases called by it, in the order of their creation."""
    found = state.get("items", {})
    return [
        {"id": key, "element": found[key]["element"], "state": found[key]["state"]}
        for key in sorted(found, key=sequence_number)
    ]


def list_tasks(state: InstanceState) -> list[TaskSummary]:
    found = state.get("tasks", {})
    return [_summarize_task(key, found[key]) for key in sorted(found, key=sequence_number)]


def list_timers(state: InstanceState) -> list[TimerSummary]:
    found = state.get("timers", {})
    return [_summarize_timer(key, found[key]) for key in sorted(found, key=sequence_number)]


def get_variables(state: InstanceState) -> Variables:
    """Return the variables of the instance's root scope."""
    return next((scope["variables"] for scope in state.get("scopes", {}).values() if scope["token"] is None), {})


def get_visible_variables(state: InstanceState, scope: str | None) -> Variables:
    """Return the variables visible from a scope, inner ones first: the inputs of a task that declares none."""
    found: dict[str, Any] = {}
    while scope is not None:
        record = state["scopes"][scope]
        inner, found = found, record["variables"].copy()
        found.update(inner)
        scope = None if "definition" in record else record["parent"]
    return found


def get_node(state: InstanceState, library: Library, scope: str, element: str) -> Node:
    """Return the node of the definition that an element id of a scope refers to."""
    return get_definition(state, library, scope).nodes[element]


def get_definition(state: InstanceState, library: Library, scope: str) -> Definition:
    record = state["scopes"][scope]
    while "definition" not in record and record["parent"] is not None:
        record = state["scopes"][record["parent"]]
    key, revision = record["definition"]
    return library(key, revision)[0]


def _summarize_task(key: str, task: TaskRecord) -> TaskSummary:
    return {
        "id": key,
        "element": task["element"],
        "name": task["name"],
        "kind": task["kind"],
        "since": task["since"],
    }


def _summarize_timer(key: str, timer: TimerRecord) -> TimerSummary:
    return {
        "id": key,
        "element": timer["element"],
        "kind": timer["kind"],
        "due": timer["due"],
        "since": timer["since"],
    }


def get_owner(state: InstanceState, key: str) -> TokenRecord | ItemRecord:
    """Return the record of an owner, which is a token or a plan item."""
    items = state.get("items", {})
    return items[key] if key in items else state["tokens"][key]
