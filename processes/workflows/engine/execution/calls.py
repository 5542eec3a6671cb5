"""Called definitions: a process or a case inside the caller's state, with a copy of the visible variables."""

from collections.abc import Sequence

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import MAX_CALLS
from processes.workflows.engine.execution.scopes import begin_scope, open_scope
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import get_visible, write_variables

_NAMES = {"bpmn": "process", "cmmn": "case"}


def call_definition(work: UnitOfWork, caller: str, owner: str, element: str, key: str, *, kinds: Sequence[str]) -> None:
    """Begin the newest revision of a definition, owned by a token or an item of the scope `caller`."""
    if _count_calls_around(work, caller) >= MAX_CALLS:
        raise CommandFailed(element, f"More than {MAX_CALLS} processes and cases would call one another.")
    definition, revision = _find_definition(work, element, key, kinds)
    scope = open_scope(
        work,
        {
            "element": definition.key,
            "parent": caller,
            "token": owner,
            # With its revision: a newer one that is published does not change a call under way.
            "definition": [definition.key, revision],
            "variables": dict(get_visible(work, caller)),
            "written": [],
        },
    )
    if definition.plan is not None:
        work.enqueue("begin_case", scope)
    else:
        begin_scope(work, scope)


def close_scope(work: UnitOfWork, scope: str, owner: str) -> None:
    """Remove an ended scope; a called one first writes its changed variables to the caller."""
    record = work.remove_scope(scope)
    if "written" in record:
        given_back = {name: record["variables"][name] for name in record["written"]}
        caller = work.owner(owner)
        write_variables(work, caller["scope"], given_back, caller["element"])


def _find_definition(work: UnitOfWork, element: str, key: str, kinds: Sequence[str]) -> tuple[Definition, int]:
    try:
        definition, revision = work.newest_definition(key)
    except LookupError as error:
        raise CommandFailed(element, f"There is no definition {key}.") from error
    if definition.kind not in kinds:
        raise CommandFailed(element, f"{key} is not a {' or a '.join(_NAMES[kind] for kind in kinds)}.")
    return definition, revision


def _count_calls_around(work: UnitOfWork, scope: str | None) -> int:
    count = 0
    while scope is not None:
        record = work.scopes[scope]
        count += "definition" in record and record["token"] is not None
        scope = record["parent"]
    return count
