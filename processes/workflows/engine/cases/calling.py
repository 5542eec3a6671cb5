"""Process and case tasks: what they run is part of the same state."""

from collections.abc import Mapping
from typing import Any

from processes.workflows.engine.case_plan import PlanItem
from processes.workflows.engine.definition import Node, NodeKind
from processes.workflows.engine.execution.calls import open_called
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate

_KINDS: Mapping[NodeKind, str] = {NodeKind.PROCESS_TASK: "bpmn", NodeKind.CASE_TASK: "cmmn"}


def call(work: UnitOfWork, key: str, node: Node, item: PlanItem) -> None:
    called: Any = node.called
    scope = work.items[key]["scope"]
    if item.called_by is not None:
        called = evaluate(work, item.called_by, scope, node.id)
    if not isinstance(called, str) or not called:
        raise CommandFailed(node.id, "The expression does not give the key of a definition.")
    open_called(work, scope, key, node.id, called, kinds=(_KINDS[node.kind],))
