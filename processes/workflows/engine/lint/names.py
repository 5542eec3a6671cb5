"""Messages and signals whose names no event can have."""

from collections.abc import Iterator

from processes.workflows.engine.definition import Definition, NodeKind, Trigger
from processes.workflows.engine.event_names import LONGEST_NAME, can_be_event
from processes.workflows.engine.lint.findings import Finding

_THROWING = (NodeKind.THROW, NodeKind.END, NodeKind.SEND_TASK)


def find_long_names(definition: Definition) -> Iterator[Finding]:
    for node in definition.nodes.values():
        event = node.event
        if event is None or event.trigger not in (Trigger.MESSAGE, Trigger.SIGNAL) or can_be_event(event.name):
            continue
        message = f"No event reaches it: what it waits for has a name of more than {LONGEST_NAME} characters."
        if node.kind in _THROWING:
            message = (
                f"It fails whenever it is reached: what it throws has a name of more than {LONGEST_NAME} characters."
            )
        yield Finding(node.id, node.line, node.name, message)
