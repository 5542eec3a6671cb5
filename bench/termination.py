"""Many instances terminated by a batch, as by the action of the list: a rate against a rate that is asked for.

Each instance is a process of ten tasks that waits at one of them, and gets a version of its own. The time is that from
the choice of the instances to the end of the batch. The yardstick is a number, so the ratio depends on the machine; the
rate of commands one by one is printed beside it.
"""

import statistics
import time
from uuid import UUID

from django.utils import timezone

from bench.figure import ROUNDS, Figure, report
from bench.workflows import KEY, SOURCE
from processes.workflows.models import WorkflowInstance, WorkflowVersion
from processes.workflows.services.batches.create import BatchRequest, create_batch
from processes.workflows.services.batches.run import run_due_batches
from processes.workflows.services.commands import execute_command
from processes.workflows.services.definitions.publish import publish_definition
from processes.workflows.services.start import StartRequest, start_instance
from processes.workflows.services.steps import CommandRequest

INSTANCES, ALONE = 10_000, 200
ASKED = 500.0
"""Instances a second."""


def figures() -> list[Figure]:
    publish_definition(source=SOURCE, enterprise=None, actor="bench", at=timezone.now())
    share = INSTANCES // ROUNDS
    alone = statistics.median(_terminate_one_by_one(_start(ALONE // ROUNDS)) for _ in range(ROUNDS))
    together = statistics.median(_terminate(_start(share)) for _ in range(ROUNDS))
    print(f"terminated one by one: {alone:,.1f} instances/s", flush=True)
    return [report("terminate many", "instances/s", together, ASKED, must=1, aims=3, at_most=False)]


def _start(count: int) -> list[UUID]:
    start, at = StartRequest(KEY, variables={"amount": 5}), timezone.now()
    return [start_instance(start, actor="bench", at=at).id for _ in range(count)]


def _terminate(keys: list[UUID]) -> float:
    began = time.perf_counter()
    create_batch(BatchRequest("terminate"), WorkflowInstance.objects.filter(pk__in=keys), actor="bench")
    while run_due_batches():
        pass
    took = time.perf_counter() - began
    assert WorkflowVersion.objects.filter(instance__in=keys, status="terminated").count() == len(keys)
    return len(keys) / took


def _terminate_one_by_one(keys: list[UUID]) -> float:
    began = time.perf_counter()
    for key in keys:
        execute_command(key, CommandRequest({"command": "terminate"}, actor="bench", at=timezone.now()))
    return len(keys) / (time.perf_counter() - began)
