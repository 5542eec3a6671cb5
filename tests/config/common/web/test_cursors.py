"""Every list of the API is followed by its `next` to the end, with an hour between two pages."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.utils.urls import replace_query_param

from config.access.scopes import Scope
from config.audit.log import write_log_entry
from config.common.times import format_time
from notifications.services.alerts import raise_alert
from notifications.sessions.handlers import register_function
from sensors.ingest.rejections import record_rejections
from sensors.ingest.signals import Code, Rejection
from sensors.models import Client
from tests.api_document import document
from tests.config.dashboard.live.records import make_process
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles
from tests.sensors.api.callers import Caller, service
from tests.sensors.registry import link, make_client, make_delivery, make_sensor

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]

ROWS = 3
BASE = "/api/v1"
PROCESS = """<?xml version="1.0"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="test">
  <process id="{key}" isExecutable="true">
    <startEvent id="begin"/><sequenceFlow id="a" sourceRef="begin" targetRef="ask"/>
    <userTask id="ask" name="{name}"/><sequenceFlow id="b" sourceRef="ask" targetRef="end"/><endEvent id="end"/>
  </process>
</definitions>"""

Fill = Callable[[Caller], str]


def _post(call: Caller, path: str, body: Any) -> Any:
    answer = call("POST", path, body)
    assert answer.status_code < 300, answer.content
    return answer.json()


def _owner() -> Client:
    make_sensor()
    client = make_client()
    link("0xA", client)
    return client


def _signals(call: Caller, of: str) -> str:
    """The newest of them is a little ahead of our clock."""
    client, now = _owner(), timezone.now()
    for n in range(ROWS):
        at = format_time(now + timedelta(minutes=4, seconds=n - ROWS))
        _post(call, "/signals/", {"sensor_id": "0xA", "data": n % 2, "at": at, "id": str(n)})
    return of.format(sensor_id="0xA", client_id=client.pk)


def _deliveries(call: Caller, of: str) -> str:
    client = _owner()
    for _ in range(ROWS):
        make_delivery("0xA", client, status="delivered", due_at=None)
    return of.format(sensor_id="0xA", client_id=client.pk)


def _sensor_changes(call: Caller) -> str:
    _post(call, "/sensors/", {"id": "0xA", "address": "0"})
    for n in range(1, ROWS):
        call("PATCH", "/sensors/0xA/", {"address": str(n)})
    return "/sensors/0xA/changes/"


def _client_changes(call: Caller) -> str:
    made = _post(call, "/clients/", {"name": "0", "url": "https://a.example/"})
    for n in range(1, ROWS):
        call("PATCH", f"/clients/{made['id']}/", {"name": str(n)})
    return f"/clients/{made['id']}/changes/"


def _sensors(call: Caller) -> str:
    for n in range(ROWS):
        make_sensor(f"s{n}")
    return "/sensors/"


def _clients(call: Caller) -> str:
    for n in range(ROWS):
        make_client(f"c{n}")
    return "/clients/"


def _alerts(call: Caller) -> str:
    for n in range(ROWS):
        raise_alert("test.kind", f"thing/{n}", "It is %(what)s", {"what": n})
    return "/alerts/"


def _log(call: Caller) -> str:
    for n in range(ROWS):
        write_log_entry(level="error", kind="test", template="It is %(what)s", data={"what": n})
    return "/log/"


def _statistics(call: Caller) -> str:
    make_sensor()
    for n in range(ROWS):
        make_delivery("0xA", make_client(f"c{n}"))
    return "/statistics/?by=client"


def _rejected(call: Caller) -> str:
    record_rejections([Rejection(0, Code.BAD_DATA, "no", f"s{n}") for n in range(ROWS)], now=timezone.now())
    return "/signals/rejected/"


def _coordination(call: Caller, of: str) -> str:
    for n in range(ROWS):
        _post(call, "/coordination/writer/dummy-items/", {"name": str(n)})
    InMemoryRoles().settle()
    return of


def _parties(call: Caller, kind: str) -> str:
    for n in range(ROWS):
        enterprise = _post(call, "/enterprises/", {"name": f"e{n}"})["id"]
        subsystem = _post(call, "/subsystems/", {"enterprise": enterprise, "name": "s"})["id"]
        owned = {"enterprise": enterprise, "name": "n"}
        _post(call, "/devices/", {**owned, "subsystem": subsystem})
        _post(call, "/databases/", owned)
    return f"/{kind}/"


def _exchange(call: Caller) -> str:
    for n in range(ROWS):
        make_process("DONE", minute=n)
    return "/exchange/processes/"


def _sessions(call: Caller, of: str) -> str:
    register_function("test", lambda session: None)
    settings = {"timeout": 5, "repeat_limit": 3, "length_limit": 100, "delay": 10, "jitter": 0, "handler": "test"}
    for n in range(ROWS):
        _post(call, "/sessions/themes/", {"theme": 7 + n, **settings})
        _post(call, "/sessions/", {"theme": 7 + n, "records": []})
    return of


def _definitions(call: Caller, of: str = "/workflows/definitions/") -> str:
    for n in range(ROWS):
        key = "same" if "{key}" in of else f"key{n}"
        _post(call, "/workflows/definitions/", {"source": PROCESS.format(key=key, name=n)})
    return of.format(key="same")


def _instances(call: Caller, of: str) -> str:
    _post(call, "/workflows/definitions/", {"source": PROCESS.format(key="asking", name="ask")})
    made = [_post(call, "/workflows/instances/", {"definition": "asking"}) for _ in range(ROWS)]
    for n in range(ROWS):
        body = {"command": "set_variables", "variables": {"n": n}}
        _post(call, f"/workflows/instances/{made[0]['id']}/commands/", body)
    return of.format(instance_id=made[0]["id"])


def _batches(call: Caller, of: str) -> str:
    _instances(call, "")
    body = {"operation": "suspend", "filter": {"definition": "asking"}, "dry_run": True}
    made = [_post(call, "/workflows/batches/", body) for _ in range(ROWS)]
    return of.format(batch_id=made[0]["id"])


def _of(fill: Callable[[Caller, str], str], path: str) -> tuple[str, Fill]:
    return path, lambda call: fill(call, path)


LISTS: dict[str, Fill] = dict(
    [
        _of(_signals, "/sensors/{sensor_id}/history/"),
        _of(_signals, "/clients/{client_id}/history/"),
        _of(_signals, "/sensors/{sensor_id}/events/"),
        _of(_signals, "/clients/{client_id}/events/"),
        _of(_deliveries, "/sensors/{sensor_id}/deliveries/"),
        _of(_deliveries, "/clients/{client_id}/deliveries/"),
        ("/sensors/{sensor_id}/changes/", _sensor_changes),
        ("/clients/{client_id}/changes/", _client_changes),
        ("/sensors/", _sensors),
        ("/clients/", _clients),
        ("/alerts/", _alerts),
        ("/log/", _log),
        ("/statistics/", _statistics),
        ("/signals/rejected/", _rejected),
        _of(_coordination, "/coordination/events/"),
        ("/coordination/writer/{path}/", lambda call: _coordination(call, "/coordination/writer/dummy-items/")),
        ("/coordination/reader/{path}/", lambda call: _coordination(call, "/coordination/reader/dummy-items/")),
        *((f"/{kind}/", lambda call, kind=kind: _parties(call, kind)) for kind in ("enterprises", "subsystems")),
        *((f"/{kind}/", lambda call, kind=kind: _parties(call, kind)) for kind in ("devices", "databases")),
        ("/exchange/processes/", _exchange),
        _of(_sessions, "/sessions/"),
        _of(_sessions, "/sessions/themes/"),
        _of(_definitions, "/workflows/definitions/"),
        _of(_definitions, "/workflows/definitions/{key}/revisions/"),
        _of(_instances, "/workflows/instances/"),
        _of(_instances, "/workflows/instances/{instance_id}/versions/"),
        _of(_instances, "/workflows/tasks/"),
        _of(_batches, "/workflows/batches/"),
        _of(_batches, "/workflows/batches/{batch_id}/instances/"),
    ]
)


WITHOUT_LIMIT = {"/trace/{correlation_id}/": "so many rows of each kind and so many bytes: it says what it left out"}
"""Calls whose `results` are bounded in another way, with that way."""


class Clock:
    """Ours, as fast as the test wants it."""

    def __init__(self) -> None:
        self._ahead, self._now = timedelta(), timezone.now

    def __call__(self) -> datetime:
        return self._now() + self._ahead

    def pause(self) -> None:
        self._ahead += timedelta(hours=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timezone, "now", clock)
    return clock


@pytest.fixture
def everyone() -> Caller:
    return service(*(scope.value for scope in Scope))


@pytest.fixture(scope="module")
def schema() -> Any:
    return document()


def test_every_list_is_followed(schema: Any) -> None:
    assert _paths_taking(schema, "cursor") == LISTS.keys()


def test_every_answer_with_results_takes_a_limit(schema: Any) -> None:
    with_results = {
        path.removeprefix(BASE) for path, calls in schema["paths"].items() if _has_results(schema, calls.get("get", {}))
    }
    assert with_results - _paths_taking(schema, "limit") == WITHOUT_LIMIT.keys()


def _paths_taking(schema: Any, name: str) -> set[str]:
    return {
        path.removeprefix(BASE)
        for path, calls in schema["paths"].items()
        if any(each["name"] == name for each in calls.get("get", {}).get("parameters", []))
    }


def _has_results(schema: Any, call: Any) -> bool:
    shape = call.get("responses", {}).get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
    while "$ref" in shape:
        shape = schema["components"]["schemas"][shape["$ref"].rpartition("/")[2]]
    return "results" in shape.get("properties", {})


@pytest.mark.parametrize("path", LISTS)
def test_next_leads_to_the_end_however_late_it_is_followed(path: str, clock: Clock, everyone: Caller) -> None:
    address: str | None = LISTS[path](everyone)
    whole = everyone("GET", address).json()["results"]
    assert len(whole) >= ROWS
    address, walked = replace_query_param(address, "limit", 1), []
    while address is not None:
        answer = everyone("GET", address)
        assert answer.status_code == 200, answer.content
        walked += answer.json()["results"]
        address = answer.json()["next"]
        clock.pause()
    assert walked == whole


def test_a_beginning_that_was_asked_for_stands_too(clock: Clock, everyone: Caller) -> None:
    """Without an end the period would be longer than a call may ask for by the time of the second page."""
    address = _signals(everyone, "/clients/{client_id}/history/")
    begin = format_time(clock() - timedelta(days=31) + timedelta(minutes=1))
    first = everyone("GET", f"{address}?limit=1&from={begin}").json()
    clock.pause()
    assert everyone("GET", first["next"]).status_code == 200
