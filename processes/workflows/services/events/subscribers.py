"""The subscribers of an event: found by record or by correlation, then asked for their filter."""

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
from processes.workflows.services.definitions.library import UnknownDefinition, get_compiled
from processes.workflows.services.events.arrivals import LONGEST_RECORD, Arrival
from processes.workflows.state_storage import section

Kind = WorkflowSubscription.Kind


@dataclass(frozen=True)
class Subscriber:
    """An element of an instance that waits for events of this name."""

    instance_id: UUID
    local: str
    element: str
    definition: str
    revision: int
    kind: str
    asks_each: bool = False
    """Its correlation refers to variables: it must be evaluated for each instance."""

    def taken_key(self, arrival: Arrival) -> str:
        """Return the key of the taking: once by an element for a message, by each subscription for a signal."""
        what = self.local if self.kind == Kind.SIGNAL else f"{self.definition}:{self.element}"
        return f"{arrival.id}:{what}"[:300]


def find_subscribers(arrival: Arrival, elements: Sequence[EventElement]) -> list[Subscriber]:
    """Return whoever may take the event, the oldest first."""
    rows = WorkflowSubscription.objects.filter(name__in=arrival.called, after_position__lt=arrival.position)
    found = [*_by_record(arrival, rows, elements), *_by_correlation(arrival, rows, elements)]
    once: dict[tuple[UUID, str], Subscriber] = {}
    for subscriber in found:
        if subscriber.kind == Kind.SIGNAL and arrival.is_signal and str(subscriber.instance_id) == arrival.instance:
            continue  # the engine has handled the signal within the instance that threw it
        once.setdefault((subscriber.instance_id, subscriber.taken_key(arrival)), subscriber)
    return list(once.values())


def accepts_event(arrival: Arrival, subscriber: Subscriber) -> bool:
    """Evaluate correlation and filter with the variables of the instance; raise `CommandFailed` where that fails."""
    event = get_bpmn_event(subscriber.definition, subscriber.revision, subscriber.element)
    if not subscriber.asks_each and event.filter is None:
        return True
    head = find_head(subscriber.instance_id)
    subscription = section((head and head.state) or {}, "subscriptions").get(subscriber.local)
    if head is None or head.state is None or subscription is None:
        return False
    names = {**state_queries.get_visible_variables(head.state, subscription["scope"]), **arrival.names}
    if subscriber.asks_each and event.correlation is not None:
        value = evaluate_or_fail(event.correlation, names, subscriber.element)
        if not (value if isinstance(value, bool) else format_record(value) == head.record):
            return False
    return event.filter is None or bool(evaluate_or_fail(event.filter, names, subscriber.element))


def get_bpmn_event(definition: str, revision: int, element: str) -> BpmnEvent:
    try:
        event = get_compiled(definition, revision).nodes[element].event
    except UnknownDefinition as error:
        raise CommandFailed(element, f"There is no definition {error}.") from error
    assert event is not None, "only elements with an event wait for one"
    return event


def evaluate_or_fail(expression: Expression, names: Mapping[str, Any], element: str) -> Any:
    try:
        return expression.evaluate(names)
    except ExpressionFailed as failure:
        raise CommandFailed(element, failure.reason) from failure


def format_record(value: Any) -> str:
    """Return the record that a correlation's value stands for: 5.0 is the record "5"."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)[:LONGEST_RECORD]


def _by_record(
    arrival: Arrival, rows: QuerySet[WorkflowSubscription], elements: Sequence[EventElement]
) -> Iterator[Subscriber]:
    """Yield the subscribers with the event's record; a signal without a record is for all who wait for it."""
    plain = {_key(each) for each in elements if not each.has_correlation}
    matching = Q(record=arrival.record) if arrival.record else Q(record="") | Q(kind=Kind.SIGNAL)
    for row in rows.filter(matching).order_by("pk").iterator() if plain else ():
        if (row.definition, row.revision, row.element) in plain:
            yield _subscriber(row)


def _by_correlation(
    arrival: Arrival, rows: QuerySet[WorkflowSubscription], elements: Sequence[EventElement]
) -> Iterator[Subscriber]:
    """Evaluate the correlation of each element once: a value is looked up as a record.

    Where it is a yes or no, or needs variables, every instance that waits at the element is a candidate.
    """
    for element in elements:
        if not element.has_correlation or element.is_start:
            continue
        definition, revision, name = _key(element)
        waiting = rows.filter(definition=definition, revision=revision, element=name).order_by("pk")
        value = _evaluate_correlation(definition, revision, name, arrival)
        if value is None or isinstance(value, bool):
            yield from (_subscriber(row, asks_each=True) for row in waiting.iterator())
        else:
            yield from (_subscriber(row) for row in waiting.filter(record__in=in_array([format_record(value)])))


def _evaluate_correlation(definition: str, revision: int, element: str, arrival: Arrival) -> Any:
    """Evaluate a correlation with the event alone; None where it also needs variables of an instance."""
    try:
        correlation = get_bpmn_event(definition, revision, element).correlation
        return None if correlation is None else correlation.evaluate(arrival.names)
    except (CommandFailed, ExpressionFailed):
        return None


def _key(element: EventElement) -> tuple[str, int, str]:
    return element.revision.definition_id, element.revision.number, element.element


def _subscriber(row: WorkflowSubscription, *, asks_each: bool = False) -> Subscriber:
    return Subscriber(row.instance_id, row.local, row.element, row.definition, row.revision, row.kind, asks_each)
