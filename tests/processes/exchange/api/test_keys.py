"""Who may call what, of the messages and of the exchange; and nobody sees another enterprise."""

from typing import Any

import pytest
from django.test import Client

from config.access.keys import create_key
from config.records.models import AccessKey
from messaging.models import Device, Enterprise, ExchangeDatabase
from tests.processes.exchange.scene import Scene
from tests.processes.exchange.states import bring_to
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

STEPS = {
    "accept": {"messages": ["m1"]},
    "prepare": {"results": [{"message": "m1", "status": "PROCESSED"}]},
    "commit": {},
    "rollback": {"error_text": ""},
    "interrupt": {"text": ""},
    "resolve": {"committed": True},
}
DEVICE_CALLS: list[tuple[str, str, Any]] = [
    ("POST", "/messages/", {"id": "m9", "to": "acme-erp", "payload": 1}),
    ("GET", "/messages/", None),
    ("POST", "/messages/m1/confirm/", {}),
]
DATABASE_CALLS: list[tuple[str, str, Any]] = [
    ("POST", "/exchange/processes/", {}),
    *(("POST", f"/exchange/processes/PROCESS/{name}/", fields) for name, fields in STEPS.items()),
]
READS: list[tuple[str, str, Any]] = [
    ("GET", "/exchange/processes/", None),
    ("GET", "/exchange/processes/PROCESS/", None),
]
RECEIPT = ("GET", "/messages/m1/receipt/", None)
DECISIONS: list[tuple[str, str, Any]] = [
    ("POST", "/messages/m1/set-aside/", {"enterprise": "acme", "reason": "r"}),
    ("POST", "/messages/m1/bring-back/", {"enterprise": "acme", "reason": "r"}),
    ("POST", "/exchange/processes/PROCESS/end/", {"reason": "r"}),
]
ALL = [*DECISIONS, *DEVICE_CALLS, *DATABASE_CALLS, *READS, RECEIPT]


def call(scene: Scene, case: tuple[str, str, Any], key: str, process: str = "") -> int:
    method, path, fields = case
    body = None if fields is None else {"version": 1, **fields}
    return scene.call(method, path.replace("PROCESS", process), body, key=key)[0]


def service_key(*scopes: str) -> str:
    return create_key(name="desk", actor="test", scopes=scopes)[1]


class TestKinds:
    @pytest.mark.parametrize("case", ALL)
    def test_wrong_key_is_401(self, scene: Scene, case: tuple[str, str, Any]) -> None:
        process = bring_to(scene, "STARTED")
        ours = scene.keys[scene.device.pk]
        assert {call(scene, case, key, process) for key in ("nonsense", ours[:-1] + "x")} == {401}

    @pytest.mark.parametrize("case", ALL)
    def test_no_key_is_401(self, scene: Scene, case: tuple[str, str, Any]) -> None:
        process = bring_to(scene, "STARTED")
        path = f"/api/v1{case[1]}".replace("PROCESS", process)
        answer = Client().generic(case[0], path, b'{"version":1}', content_type="application/json")
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")

    @pytest.mark.parametrize("case", [*DATABASE_CALLS, *READS])
    def test_devices_are_not_for_the_exchange(self, scene: Scene, case: tuple[str, str, Any]) -> None:
        process = bring_to(scene, "STARTED")
        assert call(scene, case, scene.keys[scene.device.pk], process) == 403
        assert scene.process(process)["status"] == "STARTED"

    @pytest.mark.parametrize("case", DEVICE_CALLS)
    def test_databases_are_not_devices(self, scene: Scene, case: tuple[str, str, Any]) -> None:
        assert call(scene, case, scene.keys[scene.database.pk]) == 403

    @pytest.mark.parametrize("case", [*DEVICE_CALLS, *DATABASE_CALLS, RECEIPT])
    def test_service_keys_are_nobody(self, scene: Scene, case: tuple[str, str, Any]) -> None:
        process = bring_to(scene, "STARTED")
        assert call(scene, case, service_key("operations", "parties:read", "parties:write"), process) == 403

    @pytest.mark.parametrize("case", READS)
    @pytest.mark.parametrize(("scope", "status"), [("operations", 200), ("parties:read", 403), ("history:read", 403)])
    def test_operations_read_processes(self, scene: Scene, case: tuple[str, str, Any], scope: str, status: int) -> None:
        assert call(scene, case, service_key(scope), bring_to(scene, "STARTED")) == status

    @pytest.mark.parametrize("case", DECISIONS)
    def test_operations_alone_decide(self, scene: Scene, case: tuple[str, str, Any]) -> None:
        process = bring_to(scene, "STARTED")
        others = [service_key("parties:write", "parties:read", "history:read", "coordination"), *scene.keys.values()]
        assert {call(scene, case, key, process) for key in others} == {403}
        assert scene.process(process)["status"] == "STARTED"
        assert call(scene, case, service_key("operations"), process) in (200, 409)

    @pytest.mark.parametrize(("group", "status"), [("operator", 200), ("viewer", 403)])
    def test_staff_end_processes_by_their_permission(self, scene: Scene, group: str, status: int) -> None:
        path = f"/api/v1/exchange/processes/{bring_to(scene, 'STARTED')}/end/"
        body = {"version": 1, "reason": "gone"}
        assert signed_in(group).post(path, body, content_type="application/json").status_code == status

    @pytest.mark.parametrize(("group", "status"), [("operator", 200), ("viewer", 403)])
    def test_staff_read_processes_by_their_permission(self, scene: Scene, group: str, status: int) -> None:
        process = bring_to(scene, "STARTED")
        browser = signed_in(group)
        paths = ["/api/v1/exchange/processes/", f"/api/v1/exchange/processes/{process}/"]
        assert [browser.get(path).status_code for path in paths] == [status] * 2

    def test_staff_are_no_erp(self, scene: Scene) -> None:
        process = bring_to(scene, "READY_TO_COMMIT")
        path = f"/api/v1/exchange/processes/{process}/commit/"
        answer = signed_in("operator").post(path, {"version": 1}, content_type="application/json")
        assert answer.status_code == 403

    def test_ended_key_is_401(self, scene: Scene) -> None:
        AccessKey.objects.update(ended_at="2026-01-01T00:00:00Z")
        assert scene.call("GET", "/messages/", of=scene.device.pk)[0] == 401


class TestInactive:
    @pytest.mark.parametrize("model", [Device, Enterprise])
    @pytest.mark.parametrize("case", [*DEVICE_CALLS, RECEIPT])
    def test_device_is_403(self, scene: Scene, model: Any, case: tuple[str, str, Any]) -> None:
        model.objects.update(active=False)
        assert call(scene, case, scene.keys[scene.device.pk]) == 403

    @pytest.mark.parametrize("model", [ExchangeDatabase, Enterprise])
    @pytest.mark.parametrize("case", [*DATABASE_CALLS, *READS])
    def test_database_is_403(self, scene: Scene, model: Any, case: tuple[str, str, Any]) -> None:
        process = bring_to(scene, "STARTED")
        model.objects.update(active=False)
        assert call(scene, case, scene.keys[scene.database.pk], process) == 403


class TestOtherPeoplesProcesses:
    CALLS = [case for case in [*DATABASE_CALLS, *READS] if "PROCESS" in case[1]]

    @pytest.mark.parametrize("case", CALLS)
    def test_another_enterprises_are_not_there(self, scene: Scene, case: tuple[str, str, Any]) -> None:
        process = bring_to(scene, "STARTED")
        other = Scene("other")
        assert call(other, case, other.keys[other.database.pk], process) == 404
        assert scene.process(process)["status"] == "STARTED"

    @pytest.mark.parametrize("case", CALLS)
    def test_another_databases_are_not_there(self, scene: Scene, case: tuple[str, str, Any]) -> None:
        process = bring_to(scene, "STARTED")
        other = ExchangeDatabase.objects.create(id="acme-two", enterprise=scene.enterprise, name="Two")
        key = create_key(name="two", actor="test", kind="database", subject=other.pk)[1]
        assert call(scene, case, key, process) == 404
        assert scene.process(process)["status"] == "STARTED"

    @pytest.mark.parametrize("process", ["00000000-0000-0000-0000-000000000001", "nonsense", "1"])
    def test_unknown_ones_are_not_there(self, scene: Scene, process: str) -> None:
        key = scene.keys[scene.database.pk]
        assert {call(scene, case, key, process) for case in self.CALLS} == {404}

    def test_a_list_holds_the_callers_own_alone(self, scene: Scene) -> None:
        other = Scene("other")
        mine, theirs = bring_to(scene, "STARTED"), bring_to(other, "STARTED")
        assert [process["id"] for process in scene.call("GET", "/exchange/processes/")[1]["results"]] == [mine]
        _, answer = scene.call("GET", "/exchange/processes/", key=service_key("operations"))
        assert {process["id"] for process in answer["results"]} == {mine, theirs}
