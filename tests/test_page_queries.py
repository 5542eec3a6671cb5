"""Every page of the admin and every reading call: few queries, and no more of them with more rows.

The table is made from the URL resolver and the schema; the rows are those of the benchmark of pages, in small.
"""

from dataclasses import dataclass

import pytest
from django.db import connection, connections, transaction
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from bench.page_addresses import Page, admin_pages, reading_calls
from bench.page_calls import Refusal, make_callers, read_first
from bench.volume.fill import fill
from bench.volume.sizes import Sizes
from tests.notifications.alerts import two_rungs
from tests.page_refusals import REFUSALS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.django_db(databases="__all__"),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the rows are made on PostgreSQL"),
]

FEW, MANY = 2, 40
MOST = 30
SPARE = 4
"""What a page may read more: a list of large rows is read in parts, and a small database has nothing for some parts."""


@dataclass(frozen=True)
class Counted:
    queries: dict[str, int]
    refused: dict[str, int]
    """The status of each page that nobody may open."""


def test_no_page_reads_much_nor_more_with_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    # The one connection of the test has all rows in its transaction.
    monkeypatch.setattr("config.common.web.streaming.release_connections", lambda broken: None)
    # A busy machine takes minutes for all pages, and the reader's database is asked by the last ones alone.
    for each in connections.all():
        with each.cursor() as cursor:
            cursor.execute("SET idle_in_transaction_session_timeout = 0")
    with transaction.atomic():
        few = count_all(FEW).queries
        transaction.set_rollback(True)
    counted = count_all(MANY)
    many = counted.queries
    too_many = [f"{name}: {queries}" for name, queries in many.items() if queries > MOST]
    growing = [
        f"{name}: {few[name]} with {FEW} rows, {many[name]} with {MANY}"
        for name in many
        if name in few and many[name] > few[name] + SPARE
    ]
    assert not too_many, f"over {MOST} queries: {'; '.join(too_many)}"
    assert not growing, f"more queries with more rows: {'; '.join(growing)}"
    refused = {name: status for name, status in counted.refused.items() if REFUSALS.get(name) != status}
    assert not refused, f"refused, and no reason is known for it: {refused}"
    assert not REFUSALS.keys() - counted.refused.keys(), "there is a reason, and it is not refused"


def count_all(rows: int) -> Counted:
    two_rungs()  # those of the migration are gone with the rows of an earlier test
    fill(Sizes.all_of(rows))
    callers = make_callers()
    callers.staff.get("/admin/")  # what a process reads once
    counted = Counted({}, {})
    for page in [*admin_pages(), *reading_calls()]:
        with transaction.atomic():
            caller = callers.find(page)
            if isinstance(caller, Refusal):
                counted.refused[page.name] = caller.status
            else:
                counted.queries[page.name] = count_queries(caller, page)
            transaction.set_rollback(True)  # what a page writes, the next one does not find
    return counted


def count_queries(caller: Browser, page: Page) -> int:
    with CaptureQueriesContext(connection) as queries:
        read_first(caller.get(page.address))
    return sum("SAVEPOINT" not in query["sql"] for query in queries)
