"""The document's steps one after the other, one role's half-turn at a time, as a table of what all tables then hold.

There are 23 payloads, so they travel in pages of 10, 10 and 3. Each message is taken in by itself, except where a line
says otherwise.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.utils import timezone

from processes.coordination.models import AppEvent, WriterEventReader
from processes.coordination.protocol import role
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.transitions import STEPS
from processes.coordination.reader.models import TABLES
from processes.coordination.writer.change_sets import AppliedChangeSet
from tests.processes.coordination.event_tables import (
    Tables,
    by_role,
    changes_at_writer,
    items_of_reader,
    items_of_writer,
    look,
    noted_steps,
)
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    request_change,
)
from tests.processes.documented_functions import find_missing_functions, read_page

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]


@dataclass(frozen=True)
class Line:
    steps: str
    does: Callable[[InMemoryRoles], object]
    holds: Tables


def line(
    steps: str,
    does: Callable[[InMemoryRoles], object],
    *,
    w: str,
    c: str = "-",
    r: str = "-",
    rows: str = "0 0 2",
    q: str = "",
) -> Line:
    return Line(steps, does, Tables(writer=w, coordinator=c, reader=r, rows=rows, waiting=q))


def writer_acts(roles: InMemoryRoles) -> None:
    roles.writer.act(timezone.now())


def writer_tells(roles: InMemoryRoles) -> None:
    roles.writer.publish(timezone.now())


def writer_hears(roles: InMemoryRoles) -> None:
    roles.writer.receive()


def coordinator_acts(roles: InMemoryRoles) -> None:
    roles.coordinator.act(timezone.now())


def coordinator_tells(roles: InMemoryRoles) -> None:
    roles.coordinator.publish(timezone.now())


def coordinator_hears(roles: InMemoryRoles) -> None:
    roles.coordinator.receive()


def reader_acts(roles: InMemoryRoles) -> None:
    roles.reader.act(timezone.now())


def reader_tells(roles: InMemoryRoles) -> None:
    roles.reader.publish(timezone.now())


def reader_hears(roles: InMemoryRoles) -> None:
    roles.reader.receive()


# fmt: off
SAVING = (
    line("1", writer_acts, w="Created, 23 Created"),
    line("2", writer_tells, w="Created+, 23 Created", q="event.created"),
    line("3", coordinator_hears, w="Created+, 23 Created", c="Created"),
    line("4 6", coordinator_tells, w="Created+, 23 Created", c="Created+", q="saving.begins, payloads.wanted"),
    line("5", writer_hears, w="Saving+, 23 Created", c="Created+", q="payloads.wanted"),
    line("7", writer_hears, w="Saving+, 23 Created", c="Created+", q="payloads x4"),
    line("8", coordinator_hears, w="Saving+, 23 Created", c="Created+, 10 Created", q="payloads x3"),
    line("8", coordinator_hears, w="Saving+, 23 Created", c="Created+, 20 Created", q="payloads x2"),
    line("8 11", coordinator_hears, w="Saving+, 23 Created", c="Saved, 23 Created", q="payloads"),
    line("", coordinator_hears, w="Saving+, 23 Created", c="Saved, 23 Created"),
    line("9 12", coordinator_tells, w="Saving+, 23 Created", c="Saved+, 23 Created+",
         q="payloads.saved x3, saving.ended"),
    line("10", writer_hears, w="Saving+, 13 Created, 10 Saved", c="Saved+, 23 Created+",
         q="payloads.saved x2, saving.ended"),
    line("10", writer_hears, w="Saving+, 3 Created, 20 Saved", c="Saved+, 23 Created+",
         q="payloads.saved, saving.ended"),
    line("10", writer_hears, w="Saving+, 23 Saved", c="Saved+, 23 Created+", q="saving.ended"),
    line("13", writer_hears, w="Saved, 23 Saved", c="Saved+, 23 Created+"),
)
PREPARING = (
    line("14", coordinator_acts, w="Saved, 23 Saved", c="Activated, 23 Created+"),
    line("15", coordinator_tells, w="Saved, 23 Saved", c="Activated+, 23 Created+", q="prepare"),
    line("16", reader_hears, w="Saved, 23 Saved", c="Activated+, 23 Created+", r="Created"),
    line("17", reader_tells, w="Saved, 23 Saved", c="Activated+, 23 Created+", r="Created+", q="preparing.begins"),
    line("18", coordinator_hears, w="Saved, 23 Saved", c="Preparing, 23 Created+", r="Created+"),
    line("19", coordinator_tells, w="Saved, 23 Saved", c="Preparing+, 23 Created+", r="Created+",
         q="prepare.payloads x3"),
    line("20", reader_hears, w="Saved, 23 Saved", c="Preparing+, 23 Created+", r="Created+, 10 Created",
         q="prepare.payloads x2"),
    line("20", reader_hears, w="Saved, 23 Saved", c="Preparing+, 23 Created+", r="Created+, 20 Created",
         q="prepare.payloads"),
    line("20", reader_hears, w="Saved, 23 Saved", c="Preparing+, 23 Created+", r="Created+, 23 Created"),
    line("21", reader_tells, w="Saved, 23 Saved", c="Preparing+, 23 Created+", r="Created+, 23 Created+",
         q="payloads.prepared x3"),
    line("22", coordinator_hears, w="Saved, 23 Saved", c="Preparing+, 13 Created+, 10 Prepared",
         r="Created+, 23 Created+", q="payloads.prepared x2"),
    line("22", coordinator_hears, w="Saved, 23 Saved", c="Preparing+, 3 Created+, 20 Prepared",
         r="Created+, 23 Created+", q="payloads.prepared"),
    line("22 23", coordinator_hears, w="Saved, 23 Saved", c="Prepared, 23 Prepared", r="Created+, 23 Created+"),
)
PROCESSING = (
    line("24", coordinator_tells, w="Saved, 23 Saved", c="Prepared+, 23 Prepared", r="Created+, 23 Created+",
         q="process"),
    line("25", reader_hears, w="Saved, 23 Saved", c="Prepared+, 23 Prepared", r="Processing, 23 Created+"),
    line("26", reader_tells, w="Saved, 23 Saved", c="Prepared+, 23 Prepared", r="Processing+, 23 Created+",
         q="processing.begins"),
    line("27", coordinator_hears, w="Saved, 23 Saved", c="Processing, 23 Prepared", r="Processing+, 23 Created+"),
    line("28 31", reader_acts, w="Saved, 23 Saved", c="Processing, 23 Prepared", r="Processed, 23 Processed",
         rows="23 23 2"),
    line("29 32", reader_tells, w="Saved, 23 Saved", c="Processing, 23 Prepared", r="Processed+, 23 Processed+",
         rows="23 23 2", q="payloads.processed x3, processed"),
    line("30", coordinator_hears, w="Saved, 23 Saved", c="Processing, 13 Prepared, 10 Processed",
         r="Processed+, 23 Processed+", rows="23 23 2", q="payloads.processed x2, processed"),
    line("30", coordinator_hears, w="Saved, 23 Saved", c="Processing, 3 Prepared, 20 Processed",
         r="Processed+, 23 Processed+", rows="23 23 2", q="payloads.processed, processed"),
    line("30", coordinator_hears, w="Saved, 23 Saved", c="Processing, 23 Processed",
         r="Processed+, 23 Processed+", rows="23 23 2", q="processed"),
    line("33", coordinator_hears, w="Saved, 23 Saved", c="Processed, 23 Processed",
         r="Processed+, 23 Processed+", rows="23 23 2"),
)
COMMIT = (
    line("34.1", coordinator_acts, w="Saved, 23 Saved", c="Committing, 23 Processed", r="Processed+, 23 Processed+",
         rows="23 23 2"),
    line("34.2", coordinator_tells, w="Saved, 23 Saved", c="Committing+, 23 Processed", r="Processed+, 23 Processed+",
         rows="23 23 2", q="commit"),
    line("34.3", reader_hears, w="Saved, 23 Saved", c="Committing+, 23 Processed", r="Committed, 23 Processed+",
         rows="23 23 22"),
    line("34.4", reader_tells, w="Saved, 23 Saved", c="Committing+, 23 Processed", r="Committed+, 23 Processed+",
         rows="23 23 22", q="committed"),
    line("34.5", coordinator_hears, w="Saved, 23 Saved", c="Committed, 23 Processed", r="Committed+, 23 Processed+",
         rows="23 23 22"),
    line("34.6", coordinator_tells, w="Saved, 23 Saved", c="Committed+, 23 Processed", r="Committed+, 23 Processed+",
         rows="23 23 22", q="event.committed"),
    line("34.7", writer_hears, w="Committed, 23 Saved", c="Committed+, 23 Processed", r="Committed+, 23 Processed+",
         rows="23 23 22"),
)
ROLLBACK = (
    line("35.1", coordinator_acts, w="Saved, 23 Saved", c="Canceling, 23 Processed", r="Processed+, 23 Processed+",
         rows="23 23 2"),
    line("35.2", coordinator_tells, w="Saved, 23 Saved", c="Canceling+, 23 Processed", r="Processed+, 23 Processed+",
         rows="23 23 2", q="cancel"),
    line("35.3", reader_hears, w="Saved, 23 Saved", c="Canceling+, 23 Processed", r="Canceled, 23 Processed+"),
    line("35.4", reader_tells, w="Saved, 23 Saved", c="Canceling+, 23 Processed", r="Canceled+, 23 Processed+",
         q="canceled"),
    line("35.5", coordinator_hears, w="Saved, 23 Saved", c="Canceled, 23 Processed", r="Canceled+, 23 Processed+"),
    line("35.6", coordinator_tells, w="Saved, 23 Saved", c="Canceled+, 23 Processed", r="Canceled+, 23 Processed+",
         q="event.canceled"),
    line("35.7", writer_hears, w="Canceled, 23 Saved", c="Canceled+, 23 Processed", r="Canceled+, 23 Processed+"),
)
# fmt: on
FORWARD = (*SAVING, *PREPARING, *PROCESSING)


@pytest.fixture
def roles(monkeypatch: pytest.MonkeyPatch) -> InMemoryRoles:
    """Roles that take one message at a time, over two items that all of them have."""
    roles = InMemoryRoles()
    make_change_set(
        request_change("DummyItem", "insert", name="kept"), request_change("DummyItem", "insert", name="old")
    )
    roles.settle()
    monkeypatch.setattr(role, "BATCH", 1)
    return roles


def make_set() -> AppliedChangeSet:
    """Change 23 rows: insert 21, rename the one that is there, delete the other."""
    kept, old = sorted(items_of_writer())
    inserts = (request_change("DummyItem", "insert", name=f"new {n}") for n in range(21))
    return make_change_set(
        *inserts,
        request_change("DummyItem", "update", kept, name="renamed"),
        request_change("DummyItem", "delete", old),
    )


def spoil_reader(made: AppliedChangeSet) -> None:
    """Let the reader have an item already that is to be inserted, so that it refuses."""
    TABLES["DummyItem"].objects.using("reader_main").filter(name="old").update(id=made.ids[0])


def walk(roles: InMemoryRoles, event: int, *lines: Line) -> None:
    """Do what each line says, and look whether the tables hold what it says; the reader's rows change in 34.3 alone."""
    before = items_of_reader()
    taken: list[str] = []
    for number, each in enumerate(lines):
        each.does(roles)
        taken += each.steps.split()
        where = f"line {number}, step {each.steps}"
        assert look(roles, event) == each.holds, where
        assert noted_steps(event) == by_role(taken), where
        assert changes_at_writer(event) == (23, 23), where
        assert (items_of_reader() != before) is ("34.3" in taken), where


class TestWalk:
    @pytest.mark.slow
    def test_to_the_commit(self, roles: InMemoryRoles) -> None:
        made = make_set()
        walk(roles, made.event, *FORWARD, *COMMIT)
        assert len(items_of_writer()) == 22
        assert items_of_reader() == items_of_writer()

    @pytest.mark.slow
    def test_to_the_rollback(self, roles: InMemoryRoles) -> None:
        before = items_of_writer()
        made = make_set()
        spoil_reader(made)
        walk(roles, made.event, *FORWARD, *ROLLBACK[:-1])
        assert items_of_writer() != before
        ROLLBACK[-1].does(roles)
        assert look(roles, made.event) == ROLLBACK[-1].holds
        assert items_of_writer() == before

    def test_the_table_has_every_step_of_the_document(self) -> None:
        numbers = [*(str(n) for n in range(1, 34)), *(f"{part}.{n}" for part in (34, 35) for n in range(1, 8))]
        assert [step.number for step in STEPS] == numbers
        walked = {number for each in (*FORWARD, *COMMIT, *ROLLBACK) for number in each.steps.split()}
        assert walked == set(numbers)


class TestVerdict:
    def test_of_a_reader_that_agrees(self, roles: InMemoryRoles) -> None:
        made = make_set()
        assert [_verdict(roles, made.event, *part) for part in (FORWARD[:20], FORWARD[20:], COMMIT)] == [
            "waiting",
            "processed",
            "committed",
        ]

    def test_is_kept_with_its_reason(self, roles: InMemoryRoles) -> None:
        made = make_set()
        spoil_reader(made)
        assert _verdict(roles, made.event, *FORWARD) == "refused"
        assert _verdict(roles, made.event, *ROLLBACK) == "canceled"
        assert WriterEventReader.objects.get(writer_event=made.event).ended_at is not None
        assert (
            format_reason(AppEvent.objects.get(pk=made.event).reason) == f"main: DummyItem {made.ids[0]} already exists"
        )


def _verdict(roles: InMemoryRoles, event: int, *lines: Line) -> str:
    for each in lines:
        each.does(roles)
    return WriterEventReader.objects.get(writer_event=event).verdict


class TestDocumentation:
    PAGE = "coordination-steps.md"

    def test_has_every_step_with_its_role(self) -> None:
        rows = re.findall(r"^\| ([\d.]+) \| (\w+) \|", read_page(self.PAGE), re.MULTILINE)
        assert rows == [(step.number, step.role.capitalize()) for step in STEPS]

    def test_names_functions_that_there_are(self) -> None:
        assert not find_missing_functions(self.PAGE, "processes.coordination")
