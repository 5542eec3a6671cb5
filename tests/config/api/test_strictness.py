"""A slip of the pen is named, whatever the call: a query parameter or a field that the document does not have."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver
from rest_framework.exceptions import ValidationError
from rest_framework.serializers import BaseSerializer, ListSerializer

from config.access.keys import create_key
from config.access.scopes import Scope
from config.api import openapi
from config.api.base_view import ApiView
from config.common.web.failures import MOST_RULES, find_failure
from config.common.web.serializers import FAULTS_NAMED, StrictSerializer
from config.urls import api_patterns
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from sensors.models import SensorState
from sensors.services.rules import MOST_CLIENTS
from tests.api_document import operations
from tests.sensors.api.callers import Caller, service
from tests.sensors.registry import make_sensor

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

FILLED = {
    "change_id": "1",
    "correlation_id": "12345678",
    "number": "1",
    "path": "dummy-items",
    "process_id": "0d6f6c1e-6f5b-4a52-9b55-6a3f3d0f7c11",
    "instance_id": "0d6f6c1e-6f5b-4a52-9b55-6a3f3d0f7c11",
    "batch_id": "0d6f6c1e-6f5b-4a52-9b55-6a3f3d0f7c11",
}
READ_BY_SHAPE = {"signals", "messages", "exchange"}
"""Bodies that `msgspec` reads: those of messages and exchange forbid what they do not know; a signal may carry more."""


def calls() -> Iterator[tuple[str, str]]:
    for method, path, _ in operations():
        yield method, path.removeprefix("/api/v1")


CALLS = list(calls())


class Callers:
    """One caller of each kind: some call is for each of them."""

    def __init__(self) -> None:
        enterprise = Enterprise.objects.create(id="e", name="e")
        subsystem = Subsystem.objects.create(id="s", enterprise=enterprise, name="s")
        Device.objects.create(id="d", subsystem=subsystem, name="d")
        ExchangeDatabase.objects.create(id="b", enterprise=enterprise, name="b")
        keys = [
            create_key(name=kind, actor="test", kind=kind, subject=pk)[1]
            for kind, pk in (("device", "d"), ("database", "b"))
        ]
        self.keys = [create_key(name="all", actor="test", scopes=[scope.value for scope in Scope])[1], *keys]
        self._callers = list(map(Caller, self.keys))

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        answers = [call(method, path, body) for call in self._callers]
        return next((answer for answer in answers if answer.status_code != 403), answers[0])


def fill(path: str) -> str:
    for part in path.split("/"):
        if part.startswith("{"):
            path = path.replace(part, FILLED.get(part[1:-1], "1"))
    return path


@pytest.mark.parametrize(("method", "path"), CALLS, ids=[f"{method} {path}" for method, path in CALLS])
def test_a_query_parameter_that_a_call_does_not_have_is_named(method: str, path: str) -> None:
    if path == "/schema/":
        pytest.skip("the document is for everybody, and public tools add parameters of their own")
    body: Any = None if method in ("GET", "DELETE") else {}
    answer = Callers()(method, f"{fill(path)}?conection=lost", body)
    assert answer.status_code == 400, answer.content
    assert answer.json()["code"] == "invalid"
    assert "conection" in answer.json()["data"]["fields"]


def test_a_method_that_a_call_does_not_have_is_said_first() -> None:
    assert service("registry:read")("DELETE", "/sensors/?conection=lost").status_code == 405


def test_the_document_is_read_once_for_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    call = service("registry:read")
    assert call("GET", "/sensors/?connection=lost").status_code == 200
    monkeypatch.setattr(openapi, "_declared", None)
    assert call("GET", "/sensors/?connection=lost").status_code == 200


def bodiless() -> Iterator[tuple[str, str]]:
    for method, path, operation in operations():
        if method in ("POST", "PUT", "PATCH") and "requestBody" not in operation:
            yield method, path.removeprefix("/api/v1")


BODILESS = list(bodiless())


@pytest.mark.parametrize(("method", "path"), BODILESS, ids=[f"{method} {path}" for method, path in BODILESS])
def test_a_field_for_a_call_without_a_body_is_named(method: str, path: str) -> None:
    call = Callers()
    for body, field in (({"reason": "why"}, "reason"), (["why"], "body")):
        answer = call(method, fill(path), body)
        assert (answer.status_code, list(answer.json()["data"].get("fields", {}))) == (400, [field]), answer.content
    assert call(method, fill(path), {}).status_code != 400
    assert call(method, fill(path)).status_code != 400


def test_there_are_calls_without_a_body() -> None:
    assert len(BODILESS) > 10


def views(patterns: list[URLPattern | URLResolver]) -> Iterator[type[ApiView]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns)
        elif issubclass(getattr(pattern.callback, "view_class", object), ApiView):
            yield getattr(pattern.callback, "view_class")  # noqa: B009 (as_view puts it there)


def bodies() -> Iterator[tuple[str, Any]]:
    for view in dict.fromkeys(views(api_patterns)):
        for method in ("post", "put", "patch"):
            described = getattr(getattr(view, method, None), "kwargs", {}).get("schema")
            if described is None or view.__module__.split(".api.")[-1] in READ_BY_SHAPE | {"processes"}:
                continue
            shown = described()
            shown.view, shown.method = view(), method.upper()
            shown.view.request, shown.view.kwargs = None, {}
            yield f"{method} {view.__name__}", shown.get_request_serializer()


def unstrict(shape: Any) -> Iterator[str]:
    """Name the serializers of a body that pass over what they do not know, nested ones too."""
    if isinstance(shape, dict):
        for below in shape.values():
            yield from unstrict(below)
        return
    if isinstance(shape, type) and issubclass(shape, BaseSerializer):
        shape = shape()
    if isinstance(shape, ListSerializer):
        shape = shape.child
    if isinstance(shape, BaseSerializer):
        if not isinstance(shape, StrictSerializer):
            yield type(shape).__name__
        for field in getattr(shape, "fields", {}).values():
            yield from unstrict(field)


def test_every_body_is_read_by_a_serializer_that_names_what_it_does_not_know() -> None:
    found = dict(bodies())
    assert len(found) > 20
    assert {call: names for call, shape in found.items() if (names := sorted(unstrict(shape)))} == {}


def make_seen_sensor() -> None:
    make_sensor()
    SensorState.objects.update(seen_at=datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC))


class TestFields:
    def test_one_that_can_only_be_read_is_named(self) -> None:
        make_sensor()
        answer = service("registry:write")("PATCH", "/sensors/0xA/", {"state": 1})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["state"])

    def test_one_that_can_only_be_read_is_named_when_there_is_nothing_yet(self) -> None:
        new = {"name": "bell", "url": "https://a.example/", "id": 1}
        answer = service("registry:write")("POST", "/clients/", new)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["id"])

    @pytest.mark.parametrize("seen", ["2026-01-31T23:59:59.000Z", "2026-02-01T02:59:59+03:00"])
    def test_one_that_can_only_be_read_may_be_repeated_as_it_is(self, seen: str) -> None:
        make_seen_sensor()
        body = {"state": None, "last_seen_at": seen, "notes": "new"}
        answer = service("registry:write")("PATCH", "/sensors/0xA/", body)
        assert (answer.status_code, answer.json()["notes"]) == (200, "new"), answer.content

    @pytest.mark.parametrize("seen", ["2026-01-31T23:59:59.001Z", None, "yesterday", [], 7])
    def test_but_not_otherwise(self, seen: Any) -> None:
        make_seen_sensor()
        answer = service("registry:write")("PATCH", "/sensors/0xA/", {"last_seen_at": seen, "notes": "new"})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["last_seen_at"])

    def test_an_answer_about_a_client_can_be_sent_back(self) -> None:
        call = service("registry:read", "registry:write")
        made = call("POST", "/clients/", {"name": "bell", "url": "https://a.example/"}).json()
        whole = call("GET", f"/clients/{made['id']}/").json()
        assert call("PATCH", f"/clients/{made['id']}/", whole).json() == whole
        answer = call("PATCH", f"/clients/{made['id']}/", whole | {"id": made["id"] + 1})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["id"])

    def test_one_of_a_command_that_is_unknown_is_named(self) -> None:
        call = service("workflows:write")
        path = f"/workflows/instances/{FILLED['instance_id']}/commands/"
        answer = call("POST", path, {"command": "set_variables", "variabels": {}})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["variabels"])


class TestScope:
    def test_a_403_names_the_scope_that_lacks(self) -> None:
        make_sensor()
        answer = service("registry:read")("PATCH", "/sensors/0xA/", {})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert answer.json()["data"] == {"scope": "registry:write"}
        assert "registry:write" in answer.json()["message"]

    def test_or_the_kinds_of_key_that_may_call(self) -> None:
        answer = service("registry:read")("GET", "/messages/")
        assert (answer.status_code, answer.json()["data"]) == (403, {"kinds": ["device"]})


class TestMany:
    """A body full of faults names some of them, for a little work."""

    def test_a_hundred_thousand_unknown_fields(self) -> None:
        body = {f"field{number:06}": 1 for number in range(50_000)}
        answer = service("registry:write")("POST", "/sensors/", body)
        assert answer.status_code == 400
        assert list(answer.json()["data"]["fields"]) == [f"field{number:06}" for number in range(FAULTS_NAMED)]

    def test_a_list_past_its_length_is_not_looked_into(self) -> None:
        send = service("registry:write")
        for clients, rule in (
            ([1] * MOST_CLIENTS, "Client not found: 1"),
            (["x"] * (MOST_CLIENTS + 1), "no more than 10000"),
        ):
            answer = send("POST", "/sensors/", {"id": "a", "address": "x", "clients": clients})
            assert rule in answer.json()["data"]["fields"]["clients"][0]

    def test_a_list_of_faults_names_some(self) -> None:
        answer = service("registry:write")("POST", "/sensors/", {"id": "a", "address": "x", "clients": ["x"] * 1000})
        assert list(answer.json()["data"]["fields"]) == [f"clients.{place}" for place in range(FAULTS_NAMED)]

    def test_many_missing_clients_are_named_in_part(self) -> None:
        clients = list(range(1, FAULTS_NAMED + 2))
        answer = service("registry:write")("POST", "/sensors/", {"id": "a", "address": "x", "clients": clients})
        assert answer.json()["data"]["fields"]["clients"][0].endswith(", 19, 20, ….")

    def test_an_answer_names_no_more_rules_than_anybody_reads(self) -> None:
        detail = {f"field{number}": ["rule"] for number in range(MOST_RULES + 1)}
        failure = find_failure(ValidationError(detail))
        assert failure is not None
        assert len(failure.data["fields"]) == MOST_RULES
