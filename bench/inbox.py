"""The inbox of tasks: milliseconds of its page with 100,000 open tasks against the same page with 100, tab by tab.

A third of the tasks is the reader's, a third is offered to one of their groups, a third is others'.
"""

import statistics

from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection
from django.test import Client as Browser
from django.utils import timezone

from bench.figure import Figure, report, seconds
from processes.workflows.models import TaskCandidate, WorkflowInstance, WorkItem
from processes.workflows.services.definitions.publish import publish_definition
from processes.workflows.services.start import StartRequest, start_instance

FEW, MANY = 100, 100_000
CALLS = 30
TABS = ("mine", "groups", "all")
SOURCE = b"""
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:postern="https://postern.dev/bpmn/1.0">
<process id="inbox" isExecutable="true"><startEvent id="begin"/>
<userTask id="check" name="Check" postern:candidateGroups="sales, support" postern:dueDate="P1D"/>
<sequenceFlow id="f" sourceRef="begin" targetRef="check"/></process></definitions>
"""


def figures() -> list[Figure]:
    call_command("collectstatic", interactive=False, verbosity=0)
    reader = User.objects.create_user("bench", is_staff=True)
    reader.groups.add(
        Group.objects.get(name="operator"), *(Group.objects.create(name=name) for name in ("sales", "support"))
    )
    browser = Browser(SERVER_NAME="127.0.0.1")
    browser.force_login(reader)
    publish_definition(source=SOURCE, enterprise=None, actor="bench", at=timezone.now())
    start_instance(StartRequest("inbox", record="first"), actor="bench", at=timezone.now())
    _fill(FEW)
    few = {tab: _measure(browser, tab) for tab in TABS}
    _fill(MANY)
    many = {tab: _measure(browser, tab) for tab in TABS}
    return [report(f"inbox, {tab}", "ms", many[tab], few[tab], must=1.5, aims=1.1) for tab in TABS]


def _measure(browser: Browser, tab: str) -> float:
    address = f"/admin/workflows/workitem/?whose={tab}"
    assert browser.get(address).content.count(b"/change/") > 20
    return 1000 * statistics.median(seconds(lambda: browser.get(address).content) for _ in range(CALLS))


def _fill(total: int) -> None:
    """Copy the first instance with its task until there are so many."""
    missing = total - WorkflowInstance.objects.count()
    _copy("workflows_instance", WorkflowInstance, {"id": "gen_random_uuid()", "start_key": "NULL"}, missing)
    item = {
        "instance_id": "fresh.id",
        "assignee": "CASE fresh.number % 3 WHEN 0 THEN 'bench' WHEN 1 THEN '' ELSE 'somebody' END",
        "deadline_at": "source.deadline_at + fresh.number * interval '1 second'",
    }
    source = """
        (SELECT id, row_number() OVER () AS number FROM workflows_instance AS instance
         WHERE NOT EXISTS (SELECT FROM workflows_work_item WHERE instance_id = instance.id)) AS fresh,
        (SELECT * FROM workflows_work_item ORDER BY id LIMIT 1) AS source
    """
    _insert("workflows_work_item", WorkItem, item, source)
    candidate = {"item_id": "item.id", "is_waiting": "item.assignee = ''", "deadline_at": "item.deadline_at"}
    source = """
        (SELECT * FROM workflows_work_item AS item
         WHERE NOT EXISTS (SELECT FROM workflows_candidate WHERE item_id = item.id)) AS item,
        (SELECT * FROM workflows_candidate WHERE item_id = (SELECT min(id) FROM workflows_work_item)) AS source
    """
    _insert("workflows_candidate", TaskCandidate, candidate, source)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE workflows_instance, workflows_work_item, workflows_candidate")


def _copy(table: str, model: type[WorkflowInstance], changed: dict[str, str], number: int) -> None:
    source = f"generate_series(1, {number}), (SELECT * FROM {table} LIMIT 1) AS source"  # noqa: S608 (names of our own)
    _insert(table, model, changed, source)


def _insert(table: str, model: type, changed: dict[str, str], source: str) -> None:
    fields = model._meta.concrete_fields  # type: ignore[attr-defined]
    columns = [field.column for field in fields if field.column in changed or not field.primary_key]
    values = [changed.get(column, f"source.{column}") for column in columns]
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {source}")  # noqa: S608
