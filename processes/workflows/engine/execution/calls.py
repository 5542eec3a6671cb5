"""Called definitions: a process or a case inside the caller's state, with a copy of the visible variables."""

from collections.abc import Sequence
from typing import Any

from processes.workflows.engine.definition import Definition, RevisionChoice
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import MAX_CALLS
from processes.workflows.engine.execution.records import Variables
from processes.workflows.engine.execution.scopes import begin_scope, open_scope
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate, evaluate_outputs, get_visible, write_variables

_NAMES = {"bpmn": "process", "cmmn": "case"}


def call_definition(
    work: UnitOfWork,
    caller: str,
    owner: str,
    element: str,
    key: Any,
    *,
    kinds: Sequence[str],
    variables: Variables | None = None,
    revision: RevisionChoice | None = None,
) -> None:
    """Begin a definition, owned by a token or an item of the scope `caller`: its newest revision, or the one chosen.

    It is given these variables; without any, a copy of all that are visible.
    """
    if not isinstance(key, str) or not key:
        raise CommandFailed(element, "The expression does not return the key of a definition.")
    if _count_calls_around(work, caller) >= MAX_CALLS:
        raise CommandFailed(element, f"More than {MAX_CALLS} processes and cases would call one another.")
    definition, number = find_called(work, caller, element, key, revision)
    if definition.kind not in kinds:
        raise CommandFailed(element, f"{key} is not a {' or a '.join(_NAMES[kind] for kind in kinds)}.")
    scope = open_scope(
        work,
        {
            "element": definition.key,
            "parent": caller,
            "token": owner,
            # With its revision: a newer one that is published does not change a call under way.
            "definition": [definition.key, number],
            "variables": dict(get_visible(work, caller)) if variables is None else variables,
            "written": [],
        },
    )
    if definition.plan is not None:
        work.enqueue("begin_case", scope)
    else:
        begin_scope(work, scope)


def close_scope(work: UnitOfWork, scope: str, owner: str) -> None:
    """Remove an ended scope; its declared outputs, and of a called one what it has changed, go to its caller."""
    caller = work.owner(owner)
    # Of an event sub-process, a case or a compensation the owner has no outputs.
    node = work.definition(caller["scope"]).nodes[caller["element"]]
    is_called = "written" in work.scopes[scope]
    outputs = evaluate_outputs(work, caller["scope"], node, (work.scopes[scope]["variables"],)) if node.outputs else {}
    record = work.remove_scope(scope)
    if is_called and node.returns_all:
        returned = {name: record["variables"][name] for name in record["written"]}
        write_variables(work, caller["scope"], returned, caller["element"])
    write_variables(work, caller["scope"], outputs, caller["element"])


def find_called(
    work: UnitOfWork, scope: str, element: str, key: str, revision: RevisionChoice | None
) -> tuple[Definition, int]:
    """Return the definition that an element calls, with its revision: the newest, or the one that is chosen."""
    if revision is None:
        try:
            return work.newest_definition(key)
        except LookupError as error:
            raise CommandFailed(element, f"There is no definition {key}.") from error
    number = evaluate(work, revision.expression, scope, element)
    if revision.is_tag:
        return _find_tagged(work, element, key, number)
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 10:
        number = int(number)  # a variable may hold it as a text
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**31:
        raise CommandFailed(element, "The expression does not return the number of a revision.")
    try:
        return work.named_definition(key, number)
    except LookupError as error:
        raise CommandFailed(element, f"There is no revision {number} of the definition {key}.") from error


def _find_tagged(work: UnitOfWork, element: str, key: str, tag: Any) -> tuple[Definition, int]:
    if not isinstance(tag, str) or not tag:
        raise CommandFailed(element, "The expression does not return a version tag.")
    try:
        return work.named_definition(key, tag)
    except LookupError as error:
        raise CommandFailed(element, f"There is no revision of the definition {key} with the tag {tag}.") from error


def _count_calls_around(work: UnitOfWork, scope: str | None) -> int:
    count = 0
    while scope is not None:
        record = work.scopes[scope]
        count += "definition" in record and record["token"] is not None
        scope = record["parent"]
    return count
