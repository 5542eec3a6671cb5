"""Who waits for an event: by the record, by the value of a correlation, or by asking each; then by the filter."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from config.common.database.sql import in_array
from processes.workflows.engine import state_queries
from processes.workflows.engine.definition import BpmnEvent
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.expressions import Expression, ExpressionFailed
from processes.workflows.heads import find_head
from processes.workflows.models import EventElement, WorkflowSubscription
from processes.workflows.services.events.arrivals import LONGEST_RECORD, Arrival
from processes.workflows.services.library import UnknownDefinition, get_compiled
from processes.workflows.services.open_work import section

Kind = WorkflowSubscription.Kind


@dataclass(frozen=True)
class Subscriber:
    """A place in an instance that the event may be for."""

    instance_id: UUID
    local: str
    element: str
    definition: str
    revision: int
    kind: str
    asks_each: bool = False
    """The correlation says yes or no for each instance."""

    def taken_key(self, arrival: Arrival) -> str:
        """A message is taken once by an element, a signal by everything that waits for it."""
        what = self.local if self.kind == Kind.SIGNAL else f"{self.definition}:{self.element}"
        return f"{arrival.id}:{what}"[:300]


def find_subscribers(arrival: Arrival, elements: Sequence[EventElement]) -> list[Subscriber]:
    """Find the places, the oldest first."""
    rows = WorkflowSubscription.objects.filter(name__in=arrival.called, after_position__lt=arrival.position)
    found = [*_by_record(arrival, rows, elements), *_by_correlation(arrival, rows, elements)]
    once: dict[tuple[UUID, str], Subscriber] = {}
    for waiting in found:
        if waiting.kind == Kind.SIGNAL and arrival.is_signal and str(waiting.instance_id) == arrival.instance:
            continue  # within the instance that threw it, it has been heard
        once.setdefault((waiting.instance_id, waiting.taken_key(arrival)), waiting)
    return list(once.values())


def accepts_event(arrival: Arrival, waiting: Subscriber) -> bool:
    """Ask the expressions that need the variables of the instance; raise `Failed` when one cannot say."""
    event = get_bpmn_event(waiting.definition, waiting.revision, waiting.element)
    if not waiting.asks_each and event.filter is None:
        return True
    head = find_head(waiting.instance_id)
    subscription = section((head and head.state) or {}, "subscriptions").get(waiting.local)
    if head is None or head.state is None or subscription is None:
        return False
    names = {**state_queries.get_visible_variables(head.state, subscription["scope"]), **arrival.names}
    if waiting.asks_each and event.correlation is not None:
        value = evaluate(event.correlation, names, waiting.element)
        if not (value if isinstance(value, bool) else format_record(value) == head.record):
            return False
    return event.filter is None or bool(evaluate(event.filter, names, waiting.element))


def get_bpmn_event(definition: str, revision: int, element: str) -> BpmnEvent:
    try:
        event = get_compiled(definition, revision).nodes[element].event
    except UnknownDefinition as error:
        raise CommandFailed(element, f"There is no definition {error}.") from error
    assert event is not None, "only elements with an event wait for one"
    return event


def evaluate(expression: Expression, names: Mapping[str, Any], element: str) -> Any:
    try:
        return expression.evaluate(names)
    except ExpressionFailed as failure:
        raise CommandFailed(element, failure.reason) from failure


def format_record(value: Any) -> str:
    """Write a value as a record is written."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)[:LONGEST_RECORD]


def _by_record(
    arrival: Arrival, rows: QuerySet[WorkflowSubscription], elements: Sequence[EventElement]
) -> Iterator[Subscriber]:
    """Find those with the record of the event; a signal about nothing is for all who wait for it."""
    plain = {_place(each) for each in elements if not each.has_correlation}
    mine = Q(record=arrival.record) if arrival.record else Q(record="") | Q(kind=Kind.SIGNAL)
    for row in rows.filter(mine).order_by("pk").iterator() if plain else ():
        if (row.definition, row.revision, row.element) in plain:
            yield _waiting(row)


def _by_correlation(
    arrival: Arrival, rows: QuerySet[WorkflowSubscription], elements: Sequence[EventElement]
) -> Iterator[Subscriber]:
    """Ask each element once what it makes of the event: a value is looked up as a record, yes or no is for each."""
    for element in elements:
        if not element.has_correlation or element.is_start:
            continue
        definition, revision, name = _place(element)
        there = rows.filter(definition=definition, revision=revision, element=name).order_by("pk")
        value = _value(definition, revision, name, arrival)
        if value is None or isinstance(value, bool):
            yield from (_waiting(row, asks_each=True) for row in there.iterator())
        else:
            yield from (_waiting(row) for row in there.filter(record__in=in_array([format_record(value)])))


def _value(definition: str, revision: int, element: str, arrival: Arrival) -> Any:
    """Evaluate a correlation; None where that needs more than the event: then each instance is asked."""
    try:
        correlation = get_bpmn_event(definition, revision, element).correlation
        return None if correlation is None else correlation.evaluate(arrival.names)
    except (CommandFailed, ExpressionFailed):
        return None


def _place(element: EventElement) -> tuple[str, int, str]:
    return element.revision.definition_id, element.revision.number, element.element


def _waiting(row: WorkflowSubscription, *, asks_each: bool = False) -> Subscriber:
    return Subscriber(row.instance_id, row.local, row.element, row.definition, row.revision, row.kind, asks_each)
