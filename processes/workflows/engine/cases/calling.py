"""Process and case tasks: what they run is part of the same state."""

from collections.abc import Mapping
from typing import Any

from processes.workflows.engine.definition import Kind, Node
from processes.workflows.engine.execution.calls import open_called
from processes.workflows.engine.execution.failures import Failed
from processes.workflows.engine.execution.variables import evaluate
from processes.workflows.engine.execution.working import Work
from processes.workflows.engine.plan import Item

_KINDS: Mapping[Kind, str] = {Kind.PROCESS_TASK: "bpmn", Kind.CASE_TASK: "cmmn"}


def call(work: Work, key: str, node: Node, item: Item) -> None:
    called: Any = node.called
    scope = work.items[key]["scope"]
    if item.called_by is not None:
        called = evaluate(work, item.called_by, scope, node.id)
    if not isinstance(called, str) or not called:
        raise Failed(node.id, "The expression does not give the key of a definition.")
    open_called(work, scope, key, node.id, called, kinds=(_KINDS[node.kind],))
