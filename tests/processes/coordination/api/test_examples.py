"""The calls about change sets, as the OpenAPI document shows them."""

import pytest

from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as reader
from tests.api_examples import Tour
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles, status_of

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
WRITER, READER, EVENTS = "/coordination/writer", "/coordination/reader", "/coordination/events"


def test_the_examples_are_what_the_calls_answer() -> None:
    tour, roles = Tour("processes.coordination.api"), InMemoryRoles()
    made = tour.show("One row", "POST", f"{WRITER}/dummy-items/", {"name": "front door"})
    tour.show("Two rows as one change set", "POST", f"{WRITER}/dummy-items/", [{"name": "gate"}, {"name": "back door"}])
    roles.settle()
    row, event = made["id"], made["event"]
    tour.show("The Writer's rows", "GET", f"{WRITER}/dummy-items/")
    tour.show("One row", "GET", f"{WRITER}/dummy-items/{row}/")
    tour.show("A reader's rows, once it has an event", "GET", f"{READER}/dummy-items/?wait={event}")
    tour.show("One row of a reader", "GET", f"{READER}/dummy-items/{row}/")
    tour.show("The newest change set", "GET", f"{EVENTS}/?limit=1")
    tour.show("One change set", "GET", f"{EVENTS}/{event}/")
    show_changes(tour, row)
    roles.settle()
    show_resolution(tour, roles)
    tour.check()


def show_changes(tour: Tour, row: int) -> None:
    tour.show("Another name", "PATCH", f"{WRITER}/dummy-items/{row}/", {"name": "main door"})
    changes = [
        {"entity": "dummy-items", "op": "update", "id": row, "fields": {"name": "main entrance"}},
        {"entity": "dummy-nodes", "op": "insert", "fields": {"name": "ground floor", "parent": None}},
    ]
    tour.show("Two entities as one change set", "POST", f"{WRITER}/changes/", {"changes": changes})
    tour.show("Delete the row", "DELETE", f"{WRITER}/dummy-items/{row}/")


def show_resolution(tour: Tour, roles: InMemoryRoles) -> None:
    """Let a reader refuse a row that was changed again before its compensation."""
    made = tour.call("POST", f"{WRITER}/dummy-items/", {"name": "cellar"})
    reader.TABLES["DummyItem"].objects.using("reader_main").create(
        id=made["id"], name="in the way", correlation_id="00000000-0000-0000-0000-000000000001"
    )
    later = tour.call("PATCH", f"{WRITER}/dummy-items/{made['id']}/", {"name": "basement"})
    roles.settle(lambda: status_of(later["event"]) == EventStatus.COMMITTED)
    body = {"action": "accept", "reason": "the Writer is right"}
    tour.show("The Writer is right", "POST", f"{EVENTS}/{made['event']}/resolve/", body)
