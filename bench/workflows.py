"""Workflows: steps of a process of ten tasks against SpiffWorkflow, in memory and in PostgreSQL; and what a step costs
late in a long history, beside a revision on trial, and among many finished instances.

In memory both sides read a state from JSON, complete its one open task and write the state as JSON again, each by its
own serializer: ours is the one by which the store keeps states.

In PostgreSQL both do it one command after the other, each in a transaction of its own:
SpiffWorkflow's state is one column of one row, ours is a new version with everything that follows from it.

A case of ten tasks, each entered when the one before is complete, is held to the same: SpiffWorkflow knows no cases, so
it runs the process there too.
"""

import io
import statistics
import time
import uuid
from itertools import pairwise
from typing import Any

import psycopg
from django.db import connection
from django.utils import timezone
from SpiffWorkflow.bpmn import BpmnWorkflow
from SpiffWorkflow.bpmn.parser import BpmnParser
from SpiffWorkflow.bpmn.serializer import BpmnWorkflowSerializer
from SpiffWorkflow.util.task import TaskState

from bench.database_copies import copies, use
from bench.figure import ROUNDS, Figure, compare, report, seconds
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.runner import Library, run_command
from processes.workflows.heads import Head
from processes.workflows.models import ShadowInput, WorkflowInstance, WorkflowShadow
from processes.workflows.services.commands import execute_command
from processes.workflows.services.definitions.publish import publish_definition
from processes.workflows.services.shadow.follow import follow_shadows
from processes.workflows.services.start import StartRequest, start_instance
from processes.workflows.services.steps import CommandRequest
from processes.workflows.state_storage import join_state, split_state

KEY, CASE, TASKS = "ten", "ten_in_a_case", 10
CYCLES, DURABLE = 100, 20
EARLY, LATE, STEPS = 10, 1_000, 40
FINISHED = 100_000


def figures() -> list[Figure]:
    for source in (SOURCE, CASE_SOURCE):
        publish_definition(source=source, enterprise=None, actor="bench", at=timezone.now())
    spiff = _Spiff()
    return [
        compare("workflow engine", "steps/s", ours=_Engine(SOURCE).speed, yardstick=spiff.speed, must=10, aims=50),
        compare("case engine", "steps/s", ours=_Engine(CASE_SOURCE).speed, yardstick=spiff.speed, must=10, aims=50),
        _durable("workflows", spiff, KEY),
        _durable("cases", spiff, CASE),
        _growth_by_versions("workflow growth, late", KEY),
        _growth_by_versions("case growth, late", CASE),
        _cost_of_a_shadow(),
        _growth_by_instances(),
    ]


def _durable(name: str, spiff: "_Spiff", key: str) -> Figure:
    return compare(name, "commands/s", ours=lambda: _durable_speed(key), yardstick=spiff.durable_speed, must=2, aims=4)


def _ten_tasks() -> bytes:
    names = ["begin", *(f"task_{number}" for number in range(TASKS)), "end"]
    flows = "".join(
        f'<sequenceFlow id="f_{source}" sourceRef="{source}" targetRef="{target}"/>'
        for source, target in pairwise(names)
    )
    tasks = "".join(f'<userTask id="{name}" name="{name}"/>' for name in names[1:-1])
    return (
        '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="http://example.org/">'
        f'<process id="{KEY}" isExecutable="true"><startEvent id="begin"/>{tasks}<endEvent id="end"/>{flows}'
        "</process></definitions>"
    ).encode()


def _ten_items() -> bytes:
    names = [f"task_{number}" for number in range(TASKS)]
    items = "".join(_item(name, before) for before, name in zip(["", *names], names, strict=False))
    return (
        '<definitions xmlns="http://www.omg.org/spec/CMMN/20151109/MODEL" targetNamespace="http://example.org/">'
        f'<case id="{CASE}"><casePlanModel id="plan">{items}</casePlanModel></case></definitions>'
    ).encode()


def _item(name: str, before: str) -> str:
    task = f'<humanTask id="{name}_task" name="{name}"/>'
    if not before:
        return f'<planItem id="{name}" definitionRef="{name}_task"/>{task}'
    entry = f'<entryCriterion id="{name}_entry" sentryRef="{name}_sentry"/>'
    event = "<standardEvent>complete</standardEvent>"
    part = f'<planItemOnPart id="{name}_part" sourceRef="{before}">{event}</planItemOnPart>'
    item = f'<planItem id="{name}" definitionRef="{name}_task">{entry}</planItem>'
    return f'{item}<sentry id="{name}_sentry">{part}</sentry>{task}'


SOURCE, CASE_SOURCE = _ten_tasks(), _ten_items()
TRIED_KEY = "tried"
TRIED = SOURCE.replace(f'id="{KEY}"'.encode(), f'id="{TRIED_KEY}"'.encode())


class _Engine:
    """The engine alone, with its state as JSON."""

    def __init__(self, source: bytes) -> None:
        definition = parse_definition(source)
        self._library: Library = lambda key, revision: (definition, 1)
        begin = {"command": "start", "definition": [definition.key, 1], "record": "", "variables": {"amount": 5}}
        self._first = split_state(run_command(self._library, None, begin, timezone.now()).state)

    def speed(self) -> float:
        began = time.perf_counter()
        for _ in range(CYCLES):
            self._run_through()
        return CYCLES * TASKS / (time.perf_counter() - began)

    def _run_through(self) -> None:
        stored, at = self._first, timezone.now()
        for number in range(TASKS):
            state = join_state(stored.skeleton, stored.bodies)
            (task,) = state["tasks"]
            command = {"command": "complete_task", "task": task, "variables": {"step": number}}
            stored = split_state(run_command(self._library, state, command, at).state)
        assert join_state(stored.skeleton, stored.bodies)["status"] == "completed"


class _Spiff:
    """SpiffWorkflow, as its documentation uses it."""

    def __init__(self) -> None:
        parser = BpmnParser()
        parser.add_bpmn_io(io.BytesIO(SOURCE))
        self._serializer = BpmnWorkflowSerializer(BpmnWorkflowSerializer.configure())
        workflow = BpmnWorkflow(parser.get_spec(KEY))
        workflow.do_engine_steps()
        workflow.data["amount"] = 5
        self._first = self._serializer.serialize_json(workflow)

    def speed(self) -> float:
        began, cycles = time.perf_counter(), CYCLES // 10
        for _ in range(cycles):
            text = self._first
            for number in range(TASKS):
                text = self._step(text, number)
        return cycles * TASKS / (time.perf_counter() - began)

    def durable_speed(self) -> float:
        with psycopg.connect(**_own_parameters(), autocommit=True) as own:
            own.execute("CREATE TABLE IF NOT EXISTS bench_spiff (id uuid PRIMARY KEY, state text NOT NULL)")
            began = time.perf_counter()
            for _ in range(DURABLE):
                self._run_through(own)
            return DURABLE * TASKS / (time.perf_counter() - began)

    def _run_through(self, own: psycopg.Connection[Any]) -> None:
        instance = uuid.uuid4()
        own.execute("INSERT INTO bench_spiff VALUES (%s, %s)", [instance, self._first])
        for number in range(TASKS):
            with own.transaction():
                row = own.execute("SELECT state FROM bench_spiff WHERE id = %s FOR UPDATE", [instance]).fetchone()
                assert row is not None
                text = self._step(row[0], number)
                own.execute("UPDATE bench_spiff SET state = %s WHERE id = %s", [text, instance])

    def _step(self, text: str, number: int) -> str:
        workflow = self._serializer.deserialize_json(text)
        (task,) = workflow.get_tasks(state=TaskState.READY, manual=True)
        task.data["step"] = number
        task.run()
        workflow.do_engine_steps()
        written: str = self._serializer.serialize_json(workflow)
        return written


def _own_parameters() -> dict[str, Any]:
    settings = connection.settings_dict
    return {
        "host": settings["HOST"],
        "port": settings["PORT"],
        "user": settings["USER"],
        "password": settings["PASSWORD"] or None,
        "dbname": settings["NAME"],
    }


def _durable_speed(key: str) -> float:
    """Run through whole instances, the start of each included, as on the other side."""
    began = time.perf_counter()
    for _ in range(DURABLE):
        _run_to_the_end(_start(key))
    return DURABLE * TASKS / (time.perf_counter() - began)


def _start(key: str = KEY) -> Head:
    return start_instance(StartRequest(key, variables={"amount": 5}), actor="bench", at=timezone.now())


def _complete(head: Head, number: int) -> Head:
    assert head.state is not None
    (task,) = head.state["tasks"]
    return _command(head, {"command": "complete_task", "task": task, "variables": {"step": number}})


def _command(head: Head, command: dict[str, Any]) -> Head:
    return execute_command(head.id, CommandRequest(command, actor="bench", at=timezone.now()))


def _set(head: Head, number: int) -> Head:
    return _command(head, {"command": "set_variables", "variables": {"step": number}})


def _growth_by_versions(name: str, key: str) -> Figure:
    """Time a step of a young instance and of an old one in turns."""
    old = _start(key)
    for number in range(LATE):
        old = _set(old, number)
    early, late = [], []
    for _ in range(ROUNDS * 2):
        young = _start(key)
        for number in range(EARLY):
            young = _set(young, number)
        early.append(seconds(lambda head=young: _steps(head)) / STEPS)  # type: ignore[misc]
        late.append(seconds(lambda head=old: _steps(head)) / STEPS)  # type: ignore[misc]
    return _growth(name, early, late)


def _steps(head: Head) -> None:
    for number in range(STEPS):
        head = _set(head, number)


def _cost_of_a_shadow() -> Figure:
    """Time a step of an instance that a shadow hears, and of one that none hears, in turns."""
    for source, is_tried in ((TRIED, False), (TRIED + b"<!-- another -->", True)):
        publish_definition(source=source, enterprise=None, actor="bench", at=timezone.now(), shadow=is_tried)
    follow_shadows()  # from now on it is heard; what is heard is dealt with by somebody else, later
    alone: list[float] = []
    beside: list[float] = []
    for number in range(ROUNDS * 2):
        both = ((KEY, alone), (TRIED_KEY, beside))
        for key, times in both if number % 2 else reversed(both):  # whichever is the first begins with cold caches
            head = _start(key)
            times.append(seconds(lambda head=head: _steps(head)) / STEPS)  # type: ignore[misc]
    assert ShadowInput.objects.count() > STEPS
    WorkflowShadow.objects.all().delete()
    return _growth("workflow beside a shadow", alone, beside)


def _growth_by_instances() -> Figure:
    """Time whole runs in turns in a database without finished instances and in one with many."""
    WorkflowInstance.objects.all().delete()
    with copies("alone", "among") as (alone, among):
        use(among)
        _finish_many()
        pairs = [(_time_runs(alone), _time_runs(among)) for _ in range(ROUNDS)]
    before, after = (list(column) for column in zip(*pairs, strict=True))
    return _growth("workflow growth, many", before, after)


def _time_runs(database: str) -> float:
    """Return the seconds of a step, without the disk's part in commits."""
    use(database)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    times = [_time_run() for _ in range(8)]
    return statistics.median(times[3:])  # a new connection has yet to warm up


def _time_run() -> float:
    head = _start()
    return seconds(lambda: _run_to_the_end(head)) / TASKS


def _run_to_the_end(head: Head) -> None:
    for number in range(TASKS):
        head = _complete(head, number)
    assert head.status == "completed"


def _finish_many() -> None:
    """Copy a finished instance with its versions and its work, as often as there are to be."""
    model = _start()
    for number in range(TASKS):
        model = _complete(model, number)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMP TABLE copies AS SELECT gen_random_uuid() AS copy FROM generate_series(1, %s)", [FINISHED]
        )
        for table, key in (
            ("workflows_instance", "id"),
            ("workflows_version", "instance_id"),
            ("workflows_work_item", "instance_id"),
        ):
            cursor.execute(
                "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = %s::regclass "
                "AND attnum > 0 AND NOT attisdropped AND attidentity = '' AND attname <> %s",
                [table, key],
            )
            columns = cursor.fetchone()[0]
            cursor.execute(
                f"INSERT INTO {table} ({key}, {columns}) SELECT copy, {columns} FROM copies, {table} WHERE {key} = %s",
                [model.id],
            )
        cursor.execute("DROP TABLE copies")
        cursor.execute("VACUUM ANALYZE workflows_instance, workflows_version, workflows_work_item")
        cursor.execute("CHECKPOINT")


def _growth(name: str, before: list[float], after: list[float]) -> Figure:
    ours, yardstick = statistics.median(after) * 1000, statistics.median(before) * 1000
    return report(name, "ms/step", ours, yardstick, must=1.3, aims=1.1)
