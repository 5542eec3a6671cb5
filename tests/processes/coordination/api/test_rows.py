"""`/coordination/writer/`, `/coordination/reader/` and `/coordination/events/`, call by call."""

import threading
import uuid
from typing import Any

import pytest

from processes.coordination.api import rows
from processes.coordination.gateway import requests, wait
from processes.coordination.gateway.requests import MOST_CHANGES
from processes.coordination.models import AppEvent
from processes.coordination.models.writer import DummyItem, DummyNode
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader.models import AppEvent as ReaderEvent
from sensors import selectors
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
WAIT = "processes.coordination.gateway.wait"
WRITER, READER = "/coordination/writer", "/coordination/reader"


@pytest.fixture
def call() -> Caller:
    return service("coordination")


@pytest.fixture
def registrar() -> Caller:
    return service("coordination", "registry:write", "registry:read")


def node(call: Caller, name: str, parent: int | None = None) -> int:
    return int(call("POST", f"{WRITER}/dummy-nodes/", {"name": name, "parent": parent}).json()["id"])


class TestCreate:
    def test_answers_with_the_row_and_its_event(self, call: Caller) -> None:
        answer = call("POST", f"{WRITER}/dummy-items/", {"name": "door"})
        assert answer.status_code == 202
        assert set(answer.json()) == {"id", "event"}
        shown = call("GET", f"{WRITER}/dummy-items/{answer.json()['id']}/").json()
        assert shown["name"] == "door"
        assert uuid.UUID(shown["correlation_id"])

    def test_the_reader_has_it_after_the_commit_and_not_before(self, call: Caller) -> None:
        pk = call("POST", f"{WRITER}/dummy-items/", {"name": "door"}).json()["id"]
        assert call("GET", f"{READER}/dummy-items/{pk}/").status_code == 404
        InMemoryRoles().settle()
        read = call("GET", f"{READER}/dummy-items/{pk}/").json()
        assert read == call("GET", f"{WRITER}/dummy-items/{pk}/").json()

    def test_a_list_is_one_event(self, call: Caller) -> None:
        answer = call("POST", f"{WRITER}/dummy-items/", [{"name": f"n{n}"} for n in range(25)]).json()
        assert len(answer["id"]) == 25
        assert AppEvent.objects.get(pk=answer["event"]).payload_count == 25

    def test_a_list_has_so_many_rows_and_not_one_more(self, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(requests, "MOST_CHANGES", 2)
        rows = [{"name": name} for name in "abc"]
        assert call("POST", f"{WRITER}/dummy-items/", rows[:2]).status_code == 202
        answer = call("POST", f"{WRITER}/dummy-items/", rows)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["body"])

    def test_takes_a_correlation_id(self, call: Caller) -> None:
        own = str(uuid.uuid4())
        pk = call("POST", f"{WRITER}/dummy-items/", {"name": "x", "correlation_id": own}).json()["id"]
        assert call("GET", f"{WRITER}/dummy-items/{pk}/").json()["correlation_id"] == own

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "name"),
            ({"name": ""}, "name"),
            ({"name": "x" * 51}, "name"),
            ({"name": "x", "colour": "red"}, "colour"),
            ({"name": "x", "id": 1}, "id"),
            ({"name": "x", "correlation_id": "no"}, "correlation_id"),
            ([{"name": "x"}, {"name": ""}], "1.name"),
            ([], "body"),
        ],
    )
    def test_names_the_field_that_breaks_a_rule(self, call: Caller, body: Any, field: str) -> None:
        answer = call("POST", f"{WRITER}/dummy-items/", body)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, [field])
        assert not DummyItem.objects.exists()

    def test_one_row_more_than_an_event_takes_is_refused(self, call: Caller) -> None:
        rows = [{"name": "x"}] * (MOST_CHANGES + 1)
        answer = call("POST", f"{WRITER}/dummy-items/", rows)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["body"])
        changes = [{"entity": "dummy-items", "op": "insert", "fields": row} for row in rows]
        answer = call("POST", f"{WRITER}/changes/", {"changes": changes})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["changes"])
        assert not DummyItem.objects.exists()

    def test_repeats_under_one_key_have_one_effect(self, call: Caller) -> None:
        answers = [call("POST", f"{WRITER}/dummy-items/", {"name": "x"}, **{"Idempotency-Key": "k1"}) for _ in "12"]
        assert answers[0].json() == answers[1].json()
        assert DummyItem.objects.count() == AppEvent.objects.count() == 1


class TestUpdate:
    @pytest.fixture
    def row(self, call: Caller) -> str:
        return f"{WRITER}/dummy-items/{call('POST', f'{WRITER}/dummy-items/', {'name': 'door'}).json()['id']}/"

    def test_takes_an_answer_back(self, call: Caller, row: str) -> None:
        whole = call("GET", row).json()
        assert call("PATCH", row, whole | {"name": "gate"}).status_code == 202
        assert call("GET", row).json() == whole | {"name": "gate"}

    def test_names_an_id_that_is_not_the_row_s(self, call: Caller, row: str) -> None:
        answer = call("PATCH", row, {"id": call("GET", row).json()["id"] + 1, "name": "gate"})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["id"])


class TestWait:
    """`?wait=` on the reader: whoever wrote can read."""

    def test_answers_when_the_event_is_here(self, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        made = call("POST", f"{WRITER}/dummy-items/", {"name": "door"}).json()
        monkeypatch.setattr(f"{WAIT}.time.sleep", lambda seconds: InMemoryRoles().settle())
        answer = call("GET", f"{READER}/dummy-items/{made['id']}/?wait={made['event']}")
        assert (answer.status_code, answer.json()["name"]) == (200, "door")

    def test_one_that_is_here_is_answered_without_a_pause(self, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        made = call("POST", f"{WRITER}/dummy-items/", {"name": "door"}).json()
        InMemoryRoles().settle()
        monkeypatch.setattr(f"{WAIT}.time.sleep", lambda seconds: pytest.fail("nothing is to be waited for"))
        assert call("GET", f"{READER}/dummy-items/?wait={made['event']}").status_code == 200

    def test_a_rebuilt_reader_has_it_without_the_event(self, call: Caller) -> None:
        made = call("POST", f"{WRITER}/dummy-items/", {"name": "door"}).json()
        InMemoryRoles().settle()
        ReaderEvent.objects.using("reader_main").all().delete()
        assert call("GET", f"{READER}/dummy-items/?wait={made['event']}").status_code == 200

    def test_after_ten_seconds_the_caller_is_told_to_come_back(
        self, call: Caller, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = call("POST", f"{WRITER}/dummy-items/", {"name": "door"}).json()
        passed: list[float] = []
        monkeypatch.setattr(f"{WAIT}.time.sleep", passed.append)
        monkeypatch.setattr(f"{WAIT}.time.monotonic", lambda: sum(passed))
        answer = call("GET", f"{READER}/dummy-items/?wait={made['event']}")
        assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "not_yet_here", "1")
        assert 10 <= sum(passed) < 10.5

    def test_one_that_was_cancelled_never_comes(self, call: Caller) -> None:
        made = call("POST", f"{WRITER}/dummy-items/", {"name": "door"}).json()
        AppEvent.objects.update(app_event_status_id=EventStatus.CANCELED.value)
        answer = call("GET", f"{READER}/dummy-items/?wait={made['event']}")
        assert (answer.status_code, answer.json()["code"]) == (409, "event_canceled")

    @pytest.mark.parametrize(("asked", "status"), [("99", 404), ("x", 400), ("0", 400), ("9" * 30, 400)])
    def test_asks_for_an_event(self, call: Caller, asked: str, status: int) -> None:
        assert call("GET", f"{READER}/dummy-items/?wait={asked}").status_code == status

    def test_those_who_wait_leave_slots_to_others(self, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        made = call("POST", f"{WRITER}/dummy-items/", {"name": "door"}).json()
        monkeypatch.setattr(wait, "_waiting", threading.BoundedSemaphore(1))
        with wait._waiting:
            answer = call("GET", f"{READER}/dummy-items/?wait={made['event']}")
        assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "busy", "1")


class TestTree:
    def test_a_missing_parent(self, call: Caller) -> None:
        answer = call("POST", f"{WRITER}/dummy-nodes/", {"name": "x", "parent": 999})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["parent"])

    def test_a_circle(self, call: Caller) -> None:
        top = node(call, "top")
        below = node(call, "below", top)
        answer = call("PATCH", f"{WRITER}/dummy-nodes/{top}/", {"parent": below})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["parent"])

    def test_a_parent_with_children_stays(self, call: Caller) -> None:
        top = node(call, "top")
        node(call, "below", top)
        answer = call("DELETE", f"{WRITER}/dummy-nodes/{top}/")
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["id"])
        assert DummyNode.objects.filter(pk=top).exists()


class TestChanges:
    def test_is_one_event_of_several_entities(self, call: Caller) -> None:
        item = call("POST", f"{WRITER}/dummy-items/", {"name": "x"}).json()["id"]
        changes = [
            {"entity": "dummy-items", "op": "update", "id": item, "fields": {"name": "y"}},
            {"entity": "dummy-nodes", "op": "insert", "fields": {"name": "n"}},
            {"entity": "dummy-items", "op": "delete", "id": item},
        ]
        answer = call("POST", f"{WRITER}/changes/", {"changes": changes})
        assert answer.status_code == 202
        assert AppEvent.objects.get(pk=answer.json()["event"]).payload_count == 3
        InMemoryRoles().settle()
        assert call("GET", f"{READER}/dummy-items/").json()["results"] == []
        assert len(call("GET", f"{READER}/dummy-nodes/").json()["results"]) == 1

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"entity": "doors", "op": "insert"}, "changes.0.entity"),
            ({"entity": "dummy-items", "op": "upsert"}, "changes.0.op"),
            ({"entity": "dummy-items", "op": "update", "fields": {"name": "x"}}, "changes.0.id"),
            ({"entity": "dummy-items", "op": "update", "id": 7, "fields": {"name": "x"}}, "changes.0.id"),
            ({"entity": "dummy-items", "op": "insert", "id": 7, "fields": {"name": "x"}}, "changes.0.id"),
            ({"entity": "dummy-items", "op": "insert", "fields": {"name": ""}}, "changes.0.name"),
            ({"entity": "dummy-items", "op": "delete", "id": 7}, "changes.0.id"),
        ],
    )
    def test_names_what_is_wrong(self, call: Caller, change: Any, field: str) -> None:
        answer = call("POST", f"{WRITER}/changes/", {"changes": [change]})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, [field])
        assert not AppEvent.objects.exists()

    def test_the_registry_and_others_are_not_one_event(self, registrar: Caller) -> None:
        changes = [
            {"entity": "dummy-items", "op": "insert", "fields": {"name": "x"}},
            {"entity": "sensors", "op": "insert", "id": "S1", "fields": {"address": "here"}},
        ]
        answer = registrar("POST", f"{WRITER}/changes/", {"changes": changes})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["changes"])


class TestRegistry:
    def test_a_sensor_with_its_client_reaches_the_reader(self, registrar: Caller) -> None:
        client = registrar("POST", f"{WRITER}/clients/", {"name": "c", "url": "https://example.com/"})
        assert client.status_code == 202
        assert client.json()["secret"].startswith("whsec_")
        sensor = {"id": "S1", "address": "here", "clients": [client.json()["id"]]}
        assert registrar("POST", f"{WRITER}/sensors/", sensor).json()["id"] == "S1"
        registrar("PATCH", f"{WRITER}/sensors/S1/", {"notes": "new"})
        InMemoryRoles().settle()
        shown = registrar("GET", f"{READER}/sensors/S1/").json()
        assert shown == registrar("GET", f"{WRITER}/sensors/S1/").json()
        assert (shown["notes"], shown["clients"]) == ("new", [client.json()["id"]])
        assert registrar("GET", f"{READER}/clients/").json() == registrar("GET", f"{WRITER}/clients/").json()

    def test_a_list_of_sensors_is_one_event(self, registrar: Caller) -> None:
        body = [{"id": f"S{n}", "address": "here"} for n in range(3)]
        answer = registrar("POST", f"{WRITER}/sensors/", body).json()
        assert AppEvent.objects.get().pk == answer["event"]
        InMemoryRoles().settle()
        assert len(registrar("GET", f"{READER}/sensors/").json()["results"]) == 3

    def test_what_the_registry_itself_changes_is_an_event_too(self, registrar: Caller) -> None:
        registrar("POST", "/sensors/", {"id": "S1", "address": "here"})
        registrar("DELETE", "/sensors/S1/")
        InMemoryRoles().settle()
        assert registrar("GET", f"{READER}/sensors/S1/").json()["active"] is False

    def test_nothing_changed_makes_no_event(self, registrar: Caller) -> None:
        registrar("POST", f"{WRITER}/sensors/", {"id": "S1", "address": "here"})
        answer = registrar("PATCH", f"{WRITER}/sensors/S1/", {"address": "here"})
        assert (answer.status_code, answer.json()) == (202, {"id": "S1", "event": None})

    def test_needs_the_right_to_change_the_registry(self, call: Caller) -> None:
        assert call("POST", f"{WRITER}/sensors/", {"id": "S1", "address": "here"}).status_code == 403
        assert call("GET", f"{READER}/sensors/").status_code == 403

    def test_faults_of_a_list_name_their_place(self, registrar: Caller) -> None:
        body = [{"id": "S1", "address": "here"}, {"id": "S2", "address": "there", "clients": [99]}]
        answer = registrar("POST", f"{WRITER}/sensors/", body)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["1.clients"])
        assert not AppEvent.objects.exists()

    @pytest.mark.parametrize("of", [WRITER, READER])
    def test_the_clients_of_a_sensor_count_towards_the_weight_of_a_page(
        self, registrar: Caller, of: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = "https://example.com/"
        clients = [registrar("POST", f"{WRITER}/clients/", {"name": f"c{n}", "url": url}).json()["id"] for n in "abc"]
        sensors = [{"id": f"S{n}", "address": "x", "clients": clients} for n in range(3)]
        registrar("POST", f"{WRITER}/sensors/", sensors)
        InMemoryRoles().settle()
        monkeypatch.setattr(rows, "PAGE_BYTES", 1000)
        monkeypatch.setattr(selectors, "LINK_BYTES", 300)
        page = registrar("GET", f"{of}/sensors/").json()
        assert [row["id"] for row in page["results"]] == ["S0"]
        monkeypatch.setattr(selectors, "LINK_BYTES", 3)
        rest = registrar("GET", page["next"]).json()
        assert ([row["id"] for row in rest["results"]], rest["next"]) == (["S1", "S2"], None)


class TestUnknown:
    @pytest.mark.parametrize(
        ("method", "path", "code"),
        [
            ("GET", f"{WRITER}/doors/", "entity_not_found"),
            ("GET", f"{WRITER}/dummy-items/1/", "row_not_found"),
            ("GET", f"{WRITER}/dummy-items/99999999999999999999/", "row_not_found"),
            ("GET", f"{READER}/dummy-items/x/", "row_not_found"),
            ("GET", f"{READER}/dummy-items/?reader=other", "reader_not_found"),
            ("PATCH", f"{WRITER}/dummy-items/1/", "row_not_found"),
            ("DELETE", f"{WRITER}/dummy-items/1/", "row_not_found"),
            ("GET", "/coordination/events/1/", "event_not_found"),
        ],
    )
    def test_is_404(self, call: Caller, method: str, path: str, code: str) -> None:
        answer = call(method, path, {} if method == "PATCH" else None)
        assert (answer.status_code, answer.json()["code"]) == (404, code)

    def test_another_scope_is_refused(self) -> None:
        assert service("workflows:read")("GET", f"{WRITER}/dummy-items/").status_code == 403
