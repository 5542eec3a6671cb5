"""What a service or send task, or a thrown event, hands on."""

from processes.workflows.engine.definition import Node
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import MAX_VARIABLES
from processes.workflows.engine.execution.records import Variables
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate, visible

IMMEDIATE = frozenset({"event", "webhook", "alert", "message"})
"""Handlers that are given their effect and not waited for."""
EXTERNAL = "external"


def inputs_of(work: UnitOfWork, token: str, node: Node) -> Variables:
    """Give what the handler is given; nothing said: every variable that can be seen."""
    scope = work.tokens[token]["scope"]
    if not node.inputs:
        return dict(visible(work, scope))
    inputs = {given.name: evaluate(work, given.expression, scope, node.id) for given in node.inputs}
    if work.allowance.weigh(inputs, node.id) > MAX_VARIABLES:
        raise CommandFailed(node.id, f"The inputs would take more than {MAX_VARIABLES} bytes.")
    return inputs
