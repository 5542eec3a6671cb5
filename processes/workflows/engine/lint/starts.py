"""Starts of a revision that are not tried beside the current one: no instance begins there before it is promoted."""

from collections.abc import Iterator

from processes.workflows.engine.definition import Definition, Node, Trigger
from processes.workflows.engine.lint.findings import Finding

UNTRIED = "On trial nothing begins here: the current revision does not start like this."


def find_untried_starts(tried: Definition, current: Definition) -> Iterator[Finding]:
    """Yield the triggered starts of a revision that the current one does not have."""
    known = {_describe(start) for start in _list_starts(current)}
    for start in _list_starts(tried):
        if start.trigger is not Trigger.NONE and _describe(start) not in known:
            yield Finding(start.id, start.line, start.name, UNTRIED)


def _list_starts(definition: Definition) -> list[Node]:
    return [definition.nodes[key] for key in definition.starts.get(definition.key, ())]


def _describe(start: Node) -> tuple[str, ...]:
    """Return what begins a process at a start, whatever the start itself is called."""
    event = start.event
    if event is None:
        return ()
    timer = event.timer
    texts = (event.condition, event.correlation, event.filter, None if timer is None else timer.expression)
    said = tuple("" if each is None else each.text for each in texts)
    return (event.trigger, event.name, (timer.literal or "") if timer is not None else "", *said)
