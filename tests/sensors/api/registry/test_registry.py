"""The registry over REST, call by call."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.access.keys import create_key
from config.common.errors import Invalid
from config.records.models import ChangeRecord
from notifications.models import Endpoint
from sensors.models import Client, Sensor, SensorState, WayIn
from tests.sensors.api.callers import Caller, of_client, service
from tests.sensors.registry import hear, link, make_client, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SENSOR = {"id": "new", "address": "2 Gate Street"}
CLIENT = {"name": "bell", "url": "https://bell.example/hook"}
# Method, path, body, scope, status for a service key with that scope, and for the key of the client that owns 0xA.
CALLS: list[tuple[str, str, Any, str, int, int]] = [
    ("GET", "/sensors/", None, "registry:read", 200, 200),
    ("POST", "/sensors/", SENSOR, "registry:write", 201, 403),
    ("GET", "/sensors/0xA/", None, "registry:read", 200, 200),
    ("PATCH", "/sensors/0xA/", {"address": "here"}, "registry:write", 200, 403),
    ("DELETE", "/sensors/0xA/", None, "registry:write", 204, 403),
    ("GET", "/sensors/0xA/changes/", None, "registry:read", 200, 403),
    ("PUT", "/sensors/0xA/clients/{client}/", None, "registry:write", 204, 403),
    ("DELETE", "/sensors/0xA/clients/{client}/", None, "registry:write", 204, 403),
    ("GET", "/clients/", None, "registry:read", 200, 403),
    ("POST", "/clients/", CLIENT, "registry:write", 201, 403),
    ("GET", "/clients/{client}/", None, "registry:read", 200, 403),
    ("PATCH", "/clients/{client}/", {"name": "gong"}, "registry:write", 200, 403),
    ("DELETE", "/clients/{client}/", None, "registry:write", 204, 403),
    ("GET", "/clients/{client}/changes/", None, "registry:read", 200, 403),
    ("POST", "/clients/{client}/rotate-secret/", None, "registry:write", 200, 403),
    ("POST", "/clients/{client}/pause/", None, "registry:write", 200, 403),
    ("POST", "/clients/{client}/resume/", None, "registry:write", 200, 403),
]
NAMED = [call for call in CALLS if "0xA" in call[1] or "{client}" in call[1]]


@pytest.fixture
def owner() -> Client:
    make_sensor("0xA")
    client = make_client()
    link("0xA", client)
    return client


@pytest.fixture
def desk() -> Caller:
    return service("registry:read", "registry:write")


class TestEveryCall:
    @pytest.mark.parametrize(("method", "path", "body", "scope", "status", "unused"), CALLS)
    def test_serves_keys_with_its_scope(
        self, owner: Client, method: str, path: str, body: Any, scope: str, status: int, unused: int
    ) -> None:
        answer = service(scope)(method, path.format(client=owner.pk), body)
        assert answer.status_code == status
        assert (answer.content == b"") == (status == 204)

    @pytest.mark.parametrize(("method", "path", "body", "scope", "unused", "status"), CALLS)
    def test_serves_the_client_itself_only_its_sensors(
        self, owner: Client, method: str, path: str, body: Any, scope: str, unused: int, status: int
    ) -> None:
        assert of_client(owner)(method, path.format(client=owner.pk), body).status_code == status

    @pytest.mark.parametrize(("method", "path", "body", "scope"), [call[:4] for call in CALLS])
    def test_refuses_others(self, owner: Client, method: str, path: str, body: Any, scope: str) -> None:
        path = path.format(client=owner.pk)
        assert Caller(None)(method, path, body).status_code == 401
        assert Caller("pst_service_nonsense")(method, path, body).status_code == 401
        other = "registry:write" if scope == "registry:read" else "registry:read"
        assert service(other)(method, path, body).status_code == 403

    @pytest.mark.parametrize(("method", "path", "body", "scope"), [call[:4] for call in NAMED])
    def test_of_nobody_is_404(self, owner: Client, method: str, path: str, body: Any, scope: str) -> None:
        strange = path.replace("0xA", "nobody") if "0xA" in path else path
        for client_id in (owner.pk + 1, 2**63, 10**30):
            answer = service(scope)(method, strange.format(client=client_id), body)
            assert (answer.status_code, set(answer.json())) == (404, {"code", "message", "data"})

    def test_staff_have_the_rights_of_their_group(self, owner: Client) -> None:
        viewer, registrar = signed_in("viewer"), signed_in("registrar", "rita")
        assert viewer.get("/api/v1/sensors/0xA/").status_code == 200
        body = json.dumps({"address": "here"})
        assert viewer.patch("/api/v1/sensors/0xA/", body, "application/json").status_code == 403
        assert registrar.patch("/api/v1/sensors/0xA/", body, "application/json").status_code == 200


class TestPostSensor:
    def test_answers_the_sensor_as_the_contract_has_it(self, owner: Client, desk: Caller) -> None:
        body = {
            "id": "0123456789aBcDeF",
            "address": "Moscow, Svobody st. 23",
            "notes": "left door",
            "active": True,
            "heartbeat_timeout": 60,
            "open_limit": 600,
            "muted_until": "2030-01-31T23:59:59.123456+03:00",
            "clients": [owner.pk],
        }
        answer = desk("POST", "/sensors/", body)
        assert (answer.status_code, answer.json()) == (
            201,
            body
            | {
                "muted_until": "2030-01-31T20:59:59.123Z",
                "state": None,
                "state_changed_at": None,
                "last_seen_at": None,
                "connection": "never_seen",
            },
        )

    @pytest.mark.parametrize(
        ("field", "body"),
        [
            ("id", {"address": "x"}),
            ("id", {"id": "0x-A", "address": "x"}),
            ("id", {"id": "a\n", "address": "x"}),
            ("id", {"id": "export", "address": "x"}),
            ("address", {"id": "a"}),
            ("address", {"id": "a", "address": " "}),
            ("address", {"id": "a", "address": "x" * 501}),
            ("address", {"id": "a", "address": ["x"]}),
            ("active", {"id": "a", "address": "x", "active": "perhaps"}),
            ("heartbeat_timeout", {"id": "a", "address": "x", "heartbeat_timeout": 0}),
            ("heartbeat_timeout", {"id": "a", "address": "x", "heartbeat_timeout": 2592001}),
            ("heartbeat_timeout", {"id": "a", "address": "x", "heartbeat_timeout": 10**30}),
            ("open_limit", {"id": "a", "address": "x", "open_limit": 0}),
            ("open_limit", {"id": "a", "address": "x", "open_limit": 2592001}),
            ("open_limit", {"id": "a", "address": "x", "open_limit": "long"}),
            ("muted_until", {"id": "a", "address": "x", "muted_until": "tomorrow"}),
            ("muted_until", {"id": "a", "address": "x", "muted_until": "2030-01-01T00:00:00"}),
            ("clients", {"id": "a", "address": "x", "clients": [4711]}),
            ("clients", {"id": "a", "address": "x", "clients": 1}),
            ("clients.0", {"id": "a", "address": "x", "clients": [-1]}),
            ("adress", {"id": "a", "address": "x", "adress": "x"}),
            ("body", []),
        ],
    )
    def test_names_the_field_and_the_rule(self, desk: Caller, field: str, body: Any) -> None:
        answer = desk("POST", "/sensors/", body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert [name.partition(".0")[0] for name in answer.json()["data"]["fields"]] == [field.partition(".0")[0]]
        assert not Sensor.objects.exists()

    def test_the_same_id_again_is_409(self, owner: Client, desk: Caller) -> None:
        answer = desk("POST", "/sensors/", {"id": "0xA", "address": "x"})
        assert (answer.status_code, answer.json()["code"]) == (409, "sensor_exists")

    def test_ids_differ_by_case(self, owner: Client, desk: Caller) -> None:
        assert desk("POST", "/sensors/", {"id": "0xa", "address": "x"}).status_code == 201

    def test_a_repeat_with_the_same_idempotency_key_is_one_call(self, desk: Caller) -> None:
        first = desk("POST", "/sensors/", SENSOR, **{"Idempotency-Key": "one"})
        again = desk("POST", "/sensors/", SENSOR, **{"Idempotency-Key": "one"})
        other = desk("POST", "/sensors/", SENSOR | {"address": "x"}, **{"Idempotency-Key": "one"})
        assert (first.status_code, first.content) == (again.status_code, again.content)
        assert (other.status_code, ChangeRecord.objects.filter(kind="sensor").count()) == (409, 1)


class TestPatchSensor:
    def test_changes_what_is_named(self, owner: Client, desk: Caller) -> None:
        answer = desk("PATCH", "/sensors/0xA/", {"notes": "new lock", "clients": []})
        assert (answer.json()["notes"], answer.json()["clients"], answer.json()["address"]) == (
            "new lock",
            [],
            "1 Gate Street",
        )

    def test_takes_its_own_answer_back_without_a_trace(self, owner: Client, desk: Caller) -> None:
        whole = desk("GET", "/sensors/0xA/").json()
        assert desk("PATCH", "/sensors/0xA/", whole).json() == whole
        assert not ChangeRecord.objects.filter(kind="sensor").exists()

    def test_the_id_cannot_be_changed(self, owner: Client, desk: Caller) -> None:
        assert "id" in desk("PATCH", "/sensors/0xA/", {"id": "0xB"}).json()["data"]["fields"]

    def test_null_is_refused_where_it_means_nothing(self, owner: Client, desk: Caller) -> None:
        assert desk("PATCH", "/sensors/0xA/", {"address": None}).status_code == 400
        assert desk("PATCH", "/sensors/0xA/", {"muted_until": None}).status_code == 200


class TestDeleteSensor:
    def test_deactivates_and_is_the_same_again(self, owner: Client, desk: Caller) -> None:
        assert [desk("DELETE", "/sensors/0xA/").status_code for _ in range(2)] == [204, 204]
        assert desk("GET", "/sensors/0xA/").json()["active"] is False
        assert ChangeRecord.objects.filter(kind="sensor").count() == 1


class TestGetSensors:
    @pytest.fixture(autouse=True)
    def fleet(self) -> dict[str, Client]:
        """Sensors of every connection and state, and two clients."""
        now = timezone.now()
        for sensor_id, address, state in (
            ("open1", "North Gate", {"value": 1, "changed_at": now, "last_at": now, "seen_at": now}),
            ("shut1", "South Gate", {"value": 0, "changed_at": now, "last_at": now, "seen_at": now}),
            ("lost1", "East Gate", {"value": 0, "changed_at": now, "last_at": now, "seen_at": now, "lost_at": now}),
            ("never1", "West Gate", {}),
        ):
            make_sensor(sensor_id, address=address, active=sensor_id != "shut1")
            SensorState.objects.filter(pk=sensor_id).update(**state)
        hear()
        clients = {name: make_client(name) for name in ("alarm", "bell")}
        link("open1", clients["alarm"])
        link("lost1", clients["alarm"])
        link("lost1", clients["bell"])
        return clients

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", ["lost1", "never1", "open1", "shut1"]),
            ("search=OPEN", ["open1"]),
            ("search=gate", ["lost1", "never1", "open1", "shut1"]),
            ("search=alar", ["lost1", "open1"]),
            ("search=%25", []),
            ("client={bell}", ["lost1"]),
            ("connection=online", ["open1"]),
            ("connection=lost", ["lost1"]),
            ("connection=never_seen", ["never1"]),
            ("connection=unknown", ["shut1"]),
            ("state=1", ["open1"]),
            ("state=0", ["lost1", "shut1"]),
            ("active=false", ["shut1"]),
            ("active=true&state=0", ["lost1"]),
            ("search=gate&client={alarm}&connection=lost", ["lost1"]),
        ],
    )
    def test_finds_what_is_asked_for(
        self, fleet: dict[str, Client], desk: Caller, query: str, found: list[str]
    ) -> None:
        answer = desk("GET", f"/sensors/?{query.format(**{name: client.pk for name, client in fleet.items()})}")
        assert [sensor["id"] for sensor in answer.json()["results"]] == found

    @pytest.mark.parametrize(
        "query", ["client=x", "client=0", "connection=gone", "state=2", "active=perhaps", "limit=0", "cursor=x"]
    )
    def test_names_a_wrong_filter(self, desk: Caller, query: str) -> None:
        answer = desk("GET", f"/sensors/?{query}")
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, [query.partition("=")[0]])

    def test_each_row_is_what_the_sensor_itself_answers(self, desk: Caller) -> None:
        rows = desk("GET", "/sensors/").json()["results"]
        assert rows == [desk("GET", f"/sensors/{row['id']}/").json() for row in rows]
        assert {row["id"]: row["connection"] for row in rows} == {
            "lost1": "lost",
            "never1": "never_seen",
            "open1": "online",
            "shut1": "unknown",
        }

    def test_times_are_cut_to_milliseconds(self, desk: Caller) -> None:
        at = datetime(2026, 3, 4, 5, 6, 7, 89_999, tzinfo=UTC)
        SensorState.objects.filter(pk="open1").update(seen_at=at, changed_at=at.replace(microsecond=0))
        told = desk("GET", "/sensors/open1/").json()
        assert (told["last_seen_at"], told["state_changed_at"]) == (
            "2026-03-04T05:06:07.089Z",
            "2026-03-04T05:06:07.000Z",
        )

    def test_during_an_outage_who_was_online_is_unknown(self, desk: Caller) -> None:
        WayIn.objects.update(heard_at=timezone.now() - timedelta(minutes=5))
        answer = desk("GET", "/sensors/?connection=unknown").json()
        assert [(row["id"], row["connection"]) for row in answer["results"]] == [
            ("open1", "unknown"),
            ("shut1", "unknown"),
        ]
        assert desk("GET", "/sensors/?connection=online").json()["results"] == []

    def test_pages_go_on_where_the_last_one_ended(self, desk: Caller) -> None:
        page = desk("GET", "/sensors/?limit=3").json()
        assert len(page["results"]) == 3
        rest = desk("GET", page["next"]).json()
        assert ([row["id"] for row in rest["results"]], rest["next"]) == (["shut1"], None)

    def test_costs_the_same_whatever_the_number(self, desk: Caller, django_assert_num_queries: Any) -> None:
        desk("GET", "/sensors/")
        with django_assert_num_queries(6):
            desk("GET", "/sensors/?limit=1")
        with django_assert_num_queries(6):
            desk("GET", "/sensors/")

    def test_a_client_sees_its_own_and_nothing_of_others(self, fleet: dict[str, Client]) -> None:
        bell = of_client(fleet["bell"])
        (row,) = bell("GET", "/sensors/").json()["results"]
        assert (row["id"], row["clients"]) == ("lost1", [fleet["bell"].pk])
        assert bell("GET", "/sensors/open1/").status_code == 404
        assert bell("GET", f"/sensors/?client={fleet['alarm'].pk}").json()["results"] == [row]
        assert bell("GET", "/sensors/?search=alarm").json()["results"] == []

    def test_a_key_of_an_inactive_client_is_refused(self, fleet: dict[str, Client]) -> None:
        bell = of_client(fleet["bell"])
        Client.objects.filter(pk=fleet["bell"].pk).update(active=False)
        assert bell("GET", "/sensors/").status_code == 403


class TestClients:
    def test_post_answers_the_secret_once(self, desk: Caller) -> None:
        answer = desk("POST", "/clients/", CLIENT)
        made = answer.json()
        assert (answer.status_code, made.pop("secret")[:6]) == (201, "whsec_")
        assert made == CLIENT | {"id": made["id"], "active": True, "paused": False, "muted_until": None}
        assert desk("GET", f"/clients/{made['id']}/").json() == made

    def test_a_repeat_returns_the_same_secret_kept_encrypted(self, desk: Caller) -> None:
        answers = [desk("POST", "/clients/", CLIENT, **{"Idempotency-Key": "one"}).json() for _ in range(2)]
        assert answers[0] == answers[1]
        assert Client.objects.count() == 1

    @pytest.mark.parametrize(
        ("field", "body"),
        [
            ("name", {"url": "https://a.example/"}),
            ("name", {"name": "x" * 201, "url": "https://a.example/"}),
            ("url", {"name": "a", "url": "https://anna@a.example/"}),
            ("url", {"name": "a", "url": "a.example"}),
            ("url", {"name": "a", "url": "https://a.example/" + "x" * 500}),
            ("id", {"name": "a", "url": "https://a.example/", "ID": 1}),
        ],
    )
    def test_names_the_field_and_the_rule(self, desk: Caller, field: str, body: Any) -> None:
        answer = desk("POST", "/clients/", body)
        assert (answer.status_code, [name.lower() for name in answer.json()["data"]["fields"]]) == (400, [field])

    def test_rotation_answers_a_new_secret(self, owner: Client, desk: Caller) -> None:
        answer = desk("POST", f"/clients/{owner.pk}/rotate-secret/")
        assert set(answer.json()) == {"secret"}
        assert Endpoint.objects.get().old_secret_until is not None

    def test_pause_and_resume_answer_the_client(self, owner: Client, desk: Caller) -> None:
        told = [desk("POST", f"/clients/{owner.pk}/{verb}/").json()["paused"] for verb in ("pause", "resume")]
        assert told == [True, False]

    def test_a_client_whose_endpoint_was_switched_off_is_not_active(self, owner: Client, desk: Caller) -> None:
        Endpoint.objects.update(active=False)
        assert desk("GET", f"/clients/{owner.pk}/").json()["active"] is False
        assert desk("PATCH", f"/clients/{owner.pk}/", {"active": True}).json()["active"] is True

    def test_the_list_costs_the_same_whatever_the_number(self, desk: Caller, django_assert_num_queries: Any) -> None:
        for n in range(5):
            make_client(str(n))
        with django_assert_num_queries(2):
            assert len(desk("GET", "/clients/").json()["results"]) == 5


class TestLinks:
    def test_put_and_delete_are_the_same_again(self, owner: Client, desk: Caller) -> None:
        bell = make_client("bell")
        path = f"/sensors/0xA/clients/{bell.pk}/"
        assert [desk("PUT", path).status_code for _ in range(2)] == [204, 204]
        assert desk("GET", "/sensors/0xA/").json()["clients"] == [owner.pk, bell.pk]
        assert [desk("DELETE", path).status_code for _ in range(2)] == [204, 204]
        assert desk("GET", "/sensors/0xA/").json()["clients"] == [owner.pk]
        assert ChangeRecord.objects.filter(kind="sensor").count() == 2


class TestChanges:
    def test_are_listed_newest_first_and_can_be_reverted(self, owner: Client, desk: Caller) -> None:
        for address in ("two", "three"):
            desk("PATCH", "/sensors/0xA/", {"address": address})
        first, second = desk("GET", "/sensors/0xA/changes/").json()["results"]
        assert (first["after"]["address"], second["after"]["address"]) == ("three", "two")
        assert desk("POST", f"/changes/{first['id']}/revert/").status_code == 201
        assert desk("GET", "/sensors/0xA/").json()["address"] == "two"

    def test_of_a_client_are_its_own(self, owner: Client, desk: Caller) -> None:
        desk("POST", f"/clients/{owner.pk}/pause/")
        desk("PATCH", "/sensors/0xA/", {"address": "two"})
        (change,) = desk("GET", f"/clients/{owner.pk}/changes/").json()["results"]
        assert (change["kind"], change["object"], change["after"]["paused"]) == ("client", str(owner.pk), True)


class TestKeysOfClients:
    def test_belong_to_a_client_that_is_there(self, owner: Client) -> None:
        create_key(name="theirs", actor="test", kind="client", subject=str(owner.pk))
        for nobody in (str(owner.pk + 1), "x", "", "²", "9" * 40):
            with pytest.raises(Invalid):
                create_key(name="theirs", actor="test", kind="client", subject=nobody)
