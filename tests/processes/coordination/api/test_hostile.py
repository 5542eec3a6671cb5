"""Whatever is sent, the answer is one of ours: no input makes a 5xx."""

import json
from typing import Any

import pytest

from tests.processes.coordination.in_memory_roles import DATABASES, make_change_set, request_change
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
PATH = "/coordination"
VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 2**63, 10**40, "", "x" * 51, "\ud83d\ude00", "<b>", "1", "ё" * 50,
    [], [[]], {}, {"a": {}}, [None], [1],
]  # fmt: skip
FIELDS = ("id", "name", "parent", "correlation_id", "address", "clients", "url", "muted_until", "heartbeat_timeout")


@pytest.fixture
def call() -> Caller:
    return service("coordination", "registry:write")


def bodies() -> list[Any]:
    named = [
        {"name": "x", "address": "x", "url": "https://example.com/", field: value}
        for field in FIELDS
        for value in VALUES
    ]
    return [*VALUES, *named, [*named[:3], *VALUES]]


class TestHostile:
    @pytest.mark.parametrize("entity", ["clients", "dummy-items", "dummy-nodes", "sensors", "changes"])
    def test_bodies_of_creating_calls(self, call: Caller, entity: str) -> None:
        for body in bodies():
            answer = call("POST", f"{PATH}/writer/{entity}/", json.dumps(body))
            assert answer.status_code in (202, 400, 409), (body, answer.content)

    @pytest.mark.slow
    def test_change_sets(self, call: Caller) -> None:
        row = make_change_set(request_change("DummyNode", "insert", name="x")).ids[0]
        for entity in ("dummy-nodes", "sensors", "clients"):
            for op in ("insert", "update", "delete"):
                for value in [*VALUES, row]:
                    for change in ({"id": value}, {"id": row, "fields": value}, {"fields": {"parent": value}}):
                        body = {"changes": [{"entity": entity, "op": op, **change}]}
                        answer = call("POST", f"{PATH}/writer/changes/", json.dumps(body))
                        assert answer.status_code in (202, 400, 409), (body, answer.content)

    def test_bodies_of_changing_calls(self, call: Caller) -> None:
        row = make_change_set(request_change("DummyNode", "insert", name="x")).ids[0]
        for body in bodies():
            answer = call("PATCH", f"{PATH}/writer/dummy-nodes/{row}/", json.dumps(body))
            assert answer.status_code in (202, 400), (body, answer.content)

    @pytest.mark.parametrize("text", ["0", "-1", "1e3", "٣", "x" * 300, "%00", "99999999999999999999", "..", "a b"])
    def test_ids_in_addresses(self, call: Caller, text: str) -> None:
        for entity in ("dummy-items", "sensors", "clients"):
            for method, side in (("GET", "writer"), ("GET", "reader"), ("PATCH", "writer"), ("DELETE", "writer")):
                answer = call(method, f"{PATH}/{side}/{entity}/{text}/", "{}" if method == "PATCH" else None)
                assert answer.status_code in (404, 400), answer.content

    def test_queries(self, call: Caller) -> None:
        for query in ("limit=0", "limit=x", "cursor=x", "reader=%00", "reader=" + "x" * 60, "status=%00"):
            for path in ("reader/dummy-items", "writer/dummy-items", "events"):
                assert call("GET", f"{PATH}/{path}/?{query}").status_code in (200, 400, 404)

    def test_resolving(self, call: Caller) -> None:
        for body in [*VALUES, *({"action": value, "reason": value} for value in VALUES)]:
            answer = call("POST", f"{PATH}/events/1/resolve/", json.dumps(body))
            assert answer.status_code in (400, 404), (body, answer.content)
