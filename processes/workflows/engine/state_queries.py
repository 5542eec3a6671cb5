"""A state, as people and programs are shown it."""

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
    """Give the elements on which tokens are and the items that are active, in the order in which they came to be."""
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
    """Tell whether an item is active; the plan of a case, which has no stage around it, is the case itself."""
    return item["state"] == "active"


class ItemSummary(TypedDict):
    id: str
    element: str
    state: str


def list_items(state: InstanceState) -> list[ItemSummary]:
    """Give the items of a case and of the cases in it, in the order in which they came to be."""
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
    """Give the variables of the process itself."""
    return next((scope["variables"] for scope in state.get("scopes", {}).values() if scope["token"] is None), {})


def get_visible_variables(state: InstanceState, scope: str | None) -> Variables:
    """Give what can be seen from a scope; of a task without inputs, what its work is given."""
    found: dict[str, Any] = {}
    while scope is not None:
        record = state["scopes"][scope]
        inner, found = found, record["variables"].copy()
        found.update(inner)
        scope = None if "definition" in record else record["parent"]
    return found


def get_node(state: InstanceState, library: Library, scope: str, element: str) -> Node:
    """Find the node that something in the state is about."""
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
    """Give the token or the item that something belongs to."""
    items = state.get("items", {})
    return items[key] if key in items else state["tokens"][key]
