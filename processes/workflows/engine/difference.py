"""The difference between two states."""

import json
from collections import Counter
from typing import Any, TypedDict

from processes.workflows.engine.execution.records import InstanceState, ScopeRecord, sequence_number
from processes.workflows.engine.state_queries import get_owner, is_active_item


class VariablesDifference(TypedDict):
    added: dict[str, Any]
    removed: dict[str, Any]
    changed: dict[str, dict[str, Any]]
    """`before` and `after` by the name of the variable."""


class ActiveDifference(TypedDict):
    added: list[str]
    removed: list[str]


class StateDifference(TypedDict):
    variables: VariablesDifference
    active: ActiveDifference


def compare_states(before: InstanceState, after: InstanceState) -> StateDifference:
    """Compare the variables and the active elements of two states.

    Variables of the root scope are keyed by name; those of inner scopes by their path, as in `Review[2].verdict` for
    the second round of Review.
    """
    old, new = _count_active(before), _count_active(after)
    return {
        "variables": _compare_variables(before, after),
        "active": {"added": sorted((new - old).elements()), "removed": sorted((old - new).elements())},
    }


def _compare_variables(before: InstanceState, after: InstanceState) -> VariablesDifference:
    old, new = _collect_variables(before), _collect_variables(after)
    return {
        "added": {name: new[name] for name in sorted(new.keys() - old.keys())},
        "removed": {name: old[name] for name in sorted(old.keys() - new.keys())},
        "changed": {
            name: {"before": old[name], "after": new[name]}
            for name in sorted(old.keys() & new.keys())
            # As JSON does: true is not 1, and maps have no order.
            if json.dumps(old[name], sort_keys=True) != json.dumps(new[name], sort_keys=True)
        },
    }


def _count_active(state: InstanceState) -> Counter[str]:
    tokens = Counter(token["element"] for token in state.get("tokens", {}).values() if "loop" not in token)
    return tokens + Counter(item["element"] for item in state.get("items", {}).values() if is_active_item(item))


def _collect_variables(state: InstanceState) -> dict[str, Any]:
    found: dict[str, Any] = {}
    paths: Counter[str] = Counter()
    scopes = state.get("scopes", {})
    for key in sorted(scopes, key=sequence_number):
        path = _find_scope_path(state, scopes[key])
        paths[path] += 1  # several tokens may be in the same sub-process
        if path and paths[path] > 1:
            path = f"{path}({paths[path]})"
        for name, value in scopes[key]["variables"].items():
            found[f"{path}.{name}" if path else name] = value
    return found


def _find_scope_path(state: InstanceState, scope: ScopeRecord) -> str:
    """Return the path of a scope: the activities around it, with the round where there are several."""
    if scope["token"] is None or scope["parent"] is None:
        return ""
    around = state["scopes"][scope["parent"]]
    outer = _find_scope_path(state, around)
    if "round" in around and "loop" in around:
        return outer  # the round is named already, and the activity in it is the same
    element = scope["element"]
    if "definition" in scope and "undo" not in scope:
        element = get_owner(state, scope["token"])["element"]
    own = f"{element}[{scope['round']}]" if "round" in scope else element
    return f"{outer}/{own}" if outer else own
