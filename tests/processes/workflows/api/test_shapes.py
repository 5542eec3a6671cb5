"""The bounds that callers meet: as much as is allowed is taken, one more is refused."""

from typing import Any

import pytest

from processes.workflows.api.shapes import LONGEST_LOCK, MOST_TASKS
from processes.workflows.engine.event_names import LONGEST_TYPE
from processes.workflows.engine.execution import limits
from processes.workflows.engine.execution.limits import MAX_DEPTH, MAX_NAME, MAX_VARIABLES
from processes.workflows.services.events.receive import LONGEST_ID, LONGEST_RECORD
from tests.processes.workflows.process_files import chain, user
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

FETCH, EVENTS, START = "/workflows/external-tasks/fetch/", "/workflows/events/", "/workflows/instances/"
WORK: dict[str, Any] = {"topic": "t", "worker": "w"}
EVENT: dict[str, Any] = {"type": "custom.x", "payload": {}}


@pytest.fixture
def caller() -> Caller:
    caller = service("workflows:read", "workflows:write")
    caller("POST", "/workflows/definitions/", {"source": chain("p", user("a")).decode()})
    return caller


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


INVALID: dict[str, tuple[str, dict[str, Any], str, Any, Any]] = {
    "tasks": (FETCH, WORK, "max", MOST_TASKS, MOST_TASKS + 1),
    "lock": (FETCH, WORK, "lock_seconds", LONGEST_LOCK, LONGEST_LOCK + 1),
    "worker": (FETCH, WORK, "worker", "w" * 100, "w" * 101),
    "topic": (FETCH, WORK, "topic", "t" * 200, "t" * 201),
    "type": (
        EVENTS,
        {"payload": {}},
        "type",
        "custom.".ljust(LONGEST_TYPE, "x"),
        "custom.".ljust(LONGEST_TYPE + 1, "x"),
    ),
    "id": (EVENTS, EVENT, "id", "i" * LONGEST_ID, "i" * (LONGEST_ID + 1)),
    "record": (EVENTS, EVENT, "record", "r" * LONGEST_RECORD, "r" * (LONGEST_RECORD + 1)),
    "record of an instance": (START, {"definition": "p"}, "record", "r" * 200, "r" * 201),
}


@pytest.mark.parametrize("bound", INVALID)
def test_one_past_a_field_s_bound_is_400(caller: Caller, bound: str) -> None:
    address, body, field, most, past = INVALID[bound]
    assert caller("POST", address, {**body, field: most}).status_code < 300
    answer = caller("POST", address, {**body, field: past})
    assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, [field])


VARIABLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # A text weighs two quotes, its name four characters more.
    "bytes": ({"a": "x" * (MAX_VARIABLES - 7)}, {"a": "x" * (MAX_VARIABLES - 6)}),
    "name": ({"a" * MAX_NAME: 1}, {"a" * (MAX_NAME + 1): 1}),
    "depth": ({"a": nested(MAX_DEPTH - 1)}, {"a": nested(MAX_DEPTH + 1)}),
    "number": ({"a": limits.MAX_INTEGER - 1}, {"a": limits.MAX_INTEGER}),
}


@pytest.mark.parametrize("bound", VARIABLES)
def test_one_past_a_bound_of_variables_is_409(caller: Caller, bound: str) -> None:
    most, past = VARIABLES[bound]
    assert caller("POST", START, {"definition": "p", "variables": most}).status_code == 201
    answer = caller("POST", START, {"definition": "p", "variables": past})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_possible")
