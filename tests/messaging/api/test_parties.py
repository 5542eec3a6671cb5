"""The parties over REST, call by call."""

import re
from typing import Any

import pytest

from config.common.key_text import find_prefix
from config.records.models import AccessKey, ChangeRecord, IdempotencyRecord
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from notifications.models import Event
from tests.messaging.parties import caller_of, make_database, make_device, make_enterprise, make_subsystem
from tests.sensors.api.callers import Caller, service
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

ENTERPRISE = {"id": "globex", "name": "Globex"}
SUBSYSTEM = {"id": "sales", "enterprise": "acme", "name": "Sales"}
DEVICE = {"id": "phone-2", "enterprise": "acme", "subsystem": "stock", "name": "Second", "active": True}
DATABASE = {"id": "erp-2", "enterprise": "acme", "name": "Second", "active": True}
KINDS: dict[str, dict[str, Any]] = {
    "enterprises": ENTERPRISE,
    "subsystems": SUBSYSTEM,
    "devices": DEVICE,
    "databases": DATABASE,
}
KNOWN = {"enterprises": "acme", "subsystems": "stock", "devices": "phone", "databases": "erp"}
MODELS: dict[str, Any] = {
    "enterprises": Enterprise,
    "subsystems": Subsystem,
    "devices": Device,
    "databases": ExchangeDatabase,
}
ONE = {"enterprises": "enterprise", "subsystems": "subsystem", "devices": "device", "databases": "database"}
# Method, path, body, scope, status for a service key with that scope.
CALLS: list[tuple[str, str, Any, str, int]] = [
    *[("GET", f"/{kind}/", None, "parties:read", 200) for kind in KINDS],
    *[("POST", f"/{kind}/", body, "parties:write", 201) for kind, body in KINDS.items()],
    *[("GET", f"/{kind}/{known}/", None, "parties:read", 200) for kind, known in KNOWN.items()],
    *[("PATCH", f"/{kind}/{known}/", {"name": "New"}, "parties:write", 200) for kind, known in KNOWN.items()],
    *[("DELETE", f"/{kind}/{KNOWN[kind]}/", None, "parties:write", 204) for kind in KINDS if kind != "subsystems"],
    ("DELETE", "/subsystems/empty/", None, "parties:write", 204),
    ("POST", "/devices/phone/rotate-key/", None, "parties:write", 200),
    ("POST", "/databases/erp/rotate-key/", None, "parties:write", 200),
]
NAMED = [call for call in CALLS if call[1].count("/") > 2]


@pytest.fixture(autouse=True)
def _parties() -> None:
    make_device()
    make_database()
    make_subsystem("empty")


@pytest.fixture
def desk() -> Caller:
    return service("parties:read", "parties:write")


class TestEveryCall:
    @pytest.mark.parametrize(("method", "path", "body", "scope", "status"), CALLS)
    def test_serves_keys_with_its_scope(self, method: str, path: str, body: Any, scope: str, status: int) -> None:
        answer = service(scope)(method, path, body)
        assert (answer.status_code, answer.content == b"") == (status, status == 204)

    @pytest.mark.parametrize(("method", "path", "body", "scope"), [call[:4] for call in CALLS])
    def test_refuses_others(self, method: str, path: str, body: Any, scope: str) -> None:
        other = "parties:write" if scope == "parties:read" else "parties:read"
        refused = {
            None: 401,
            f"pd_nonsense_{'x' * 43}": 401,
        }
        assert {key: Caller(key)(method, path, body).status_code for key in refused} == refused
        for caller in (service(other, "registry:read", "registry:write", "operations"), *own_keys()):
            assert caller(method, path, body).status_code == 403

    @pytest.mark.parametrize(("method", "path", "body", "scope"), [call[:4] for call in NAMED])
    @pytest.mark.parametrize("nobody", ["nobody", "x" * 37, "a_b", "%D0%B0"])
    def test_of_nobody_is_404(self, method: str, path: str, body: Any, scope: str, nobody: str) -> None:
        _, kind, _known, *rest = path.split("/")
        answer = service(scope)(method, "/".join(["", kind, nobody, *rest]), body)
        assert (answer.status_code, answer.json()["code"]) == (404, f"{ONE[kind]}_not_found")

    def test_staff_have_the_rights_of_their_group(self) -> None:
        viewer, registrar = signed_in("viewer"), signed_in("registrar", "rita")
        assert viewer.get("/api/v1/devices/phone/").status_code == 200
        assert viewer.post("/api/v1/devices/phone/rotate-key/").status_code == 403
        assert registrar.post("/api/v1/devices/phone/rotate-key/").status_code == 200


def own_keys() -> list[Caller]:
    """Devices and databases may call nothing of this, not even about themselves."""
    return [caller_of(Device.objects.get()), caller_of(ExchangeDatabase.objects.get())]


class TestPost:
    @pytest.mark.parametrize("kind", KINDS)
    def test_answers_exactly_the_contracts_fields(self, desk: Caller, kind: str) -> None:
        answer = desk("POST", f"/{kind}/", KINDS[kind])
        told = answer.json()
        key = told.pop("key", None)
        assert (answer.status_code, told) == (201, KINDS[kind])
        assert (key is not None) == (kind in ("devices", "databases"))
        assert desk("GET", f"/{kind}/{told['id']}/").json() == KINDS[kind]

    @pytest.mark.parametrize("kind", KINDS)
    def test_makes_an_id_where_none_is_given(self, desk: Caller, kind: str) -> None:
        body = {name: value for name, value in KINDS[kind].items() if name not in ("id", "active")}
        told = desk("POST", f"/{kind}/", body).json()
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", told["id"])
        assert told.get("active", True) is True
        assert MODELS[kind].objects.filter(pk=told["id"]).exists()

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_id_in_use_is_409(self, desk: Caller, kind: str) -> None:
        answer = desk("POST", f"/{kind}/", KINDS[kind] | {"id": KNOWN[kind]})
        assert (answer.status_code, answer.json()["code"]) == (409, f"{ONE[kind]}_exists")

    @pytest.mark.parametrize(
        ("kind", "other", "code"), [("devices", "erp", "database"), ("databases", "phone", "device")]
    )
    def test_a_device_and_a_database_share_no_id(self, desk: Caller, kind: str, other: str, code: str) -> None:
        answer = desk("POST", f"/{kind}/", KINDS[kind] | {"id": other})
        assert (answer.status_code, answer.json()["code"]) == (409, f"{code}_exists")
        assert (Device.objects.count(), ExchangeDatabase.objects.count(), AccessKey.objects.count()) == (1, 1, 1)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("id", {"id": ""}),
            ("id", {"id": None}),
            ("id", {"id": "a_b"}),
            ("id", {"id": "a\n"}),
            ("id", {"id": "дом"}),
            ("id", {"id": "x" * 37}),
            ("id", {"id": ["x"]}),
            ("name", {"name": ""}),
            ("name", {"name": " "}),
            ("name", {"name": None}),
            ("name", {"name": "x" * 201}),
            ("colour", {"colour": "red"}),
            ("version", {"version": 1}),
            ("key", {"key": "mine"}),
            ("created_at", {"created_at": "2026-01-01T00:00:00Z"}),
        ],
    )
    def test_names_the_field_that_breaks_a_rule(
        self, desk: Caller, kind: str, field: str, values: dict[str, Any]
    ) -> None:
        answer = desk("POST", f"/{kind}/", KINDS[kind] | values)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert list(answer.json()["data"]["fields"]) == [field]

    @pytest.mark.parametrize("kind", KINDS)
    def test_needs_every_field_but_the_id_and_the_flag(self, desk: Caller, kind: str) -> None:
        answer = desk("POST", f"/{kind}/", {})
        assert set(answer.json()["data"]["fields"]) == set(KINDS[kind]) - {"id", "active"}

    @pytest.mark.parametrize(
        ("kind", "values", "field"),
        [
            ("subsystems", {"enterprise": "nobody"}, "enterprise"),
            ("databases", {"enterprise": "nobody"}, "enterprise"),
            ("devices", {"enterprise": "nobody"}, "enterprise"),
            ("devices", {"subsystem": "nobody"}, "subsystem"),
            ("devices", {"subsystem": "theirs"}, "subsystem"),
            ("devices", {"enterprise": "rival"}, "subsystem"),
            ("devices", {"active": "perhaps"}, "active"),
            ("enterprises", {"active": True}, "active"),
        ],
    )
    def test_what_it_belongs_to_must_be_there_and_fit(
        self, desk: Caller, kind: str, values: dict[str, Any], field: str
    ) -> None:
        make_subsystem("theirs", enterprise="rival")
        answer = desk("POST", f"/{kind}/", KINDS[kind] | values)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, [field])

    @pytest.mark.parametrize("values", [{"id": "Z" * 36}, {"id": "-"}, {"name": "ё" * 200}, {"name": "名"}])
    def test_takes_what_lies_within_its_bounds(self, desk: Caller, values: dict[str, Any]) -> None:
        assert values.items() <= desk("POST", "/enterprises/", ENTERPRISE | values).json().items()

    @pytest.mark.parametrize("kind", ["devices", "databases"])
    def test_repeated_under_its_idempotency_key_answers_the_same_key(self, desk: Caller, kind: str) -> None:
        answers = [desk("POST", f"/{kind}/", KINDS[kind], **{"Idempotency-Key": "one"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[0].json()["key"] == answers[1].json()["key"]
        kept = bytes(IdempotencyRecord.objects.get().answer or b"")
        assert answers[0].json()["key"].encode() not in kept
        assert AccessKey.objects.filter(kind=ONE[kind]).count() == 1


class TestKeys:
    @pytest.mark.parametrize("kind", ["devices", "databases"])
    def test_the_new_key_is_of_its_party(self, desk: Caller, kind: str) -> None:
        told = desk("POST", f"/{kind}/", KINDS[kind]).json()
        key = AccessKey.objects.get(prefix=find_prefix(told["key"]))
        assert (key.kind, key.subject, key.scopes) == (ONE[kind], told["id"], [])

    @pytest.mark.parametrize("kind", ["devices", "databases"])
    def test_rotation_ends_all_older_ones_at_once(self, desk: Caller, kind: str) -> None:
        party = MODELS[kind].objects.get()
        old = [caller_of(party), caller_of(party)]
        answer = desk("POST", f"/{kind}/{party.pk}/rotate-key/")
        assert list(answer.json()) == ["key"]
        assert [status_of(caller) for caller in old] == [401, 401]
        assert status_of(Caller(answer.json()["key"])) == 403, "known, and of another kind"

    def test_rotation_leaves_other_parties_alone(self, desk: Caller) -> None:
        make_device("tablet")
        bystander = caller_of(Device.objects.get(pk="tablet"))
        desk("POST", "/devices/phone/rotate-key/")
        assert status_of(bystander) == 403

    def test_a_repeated_rotation_answers_the_same_key(self, desk: Caller) -> None:
        answers = [desk("POST", "/devices/phone/rotate-key/", {}, **{"Idempotency-Key": "one"}) for _ in range(2)]
        assert answers[0].json() == answers[1].json()
        assert AccessKey.objects.filter(kind="device", ended_at=None).count() == 1


def status_of(caller: Caller) -> int:
    """A call that no device and no database may make: 401 for a key that ended, 403 for one that is known."""
    return int(caller("GET", "/devices/").status_code)


class TestGet:
    @pytest.mark.parametrize(
        ("path", "ids"),
        [
            ("/enterprises/", ["acme", "rival"]),
            ("/subsystems/", ["empty", "stock", "theirs"]),
            ("/subsystems/?enterprise=rival", ["theirs"]),
            ("/devices/", ["phone", "tablet", "watch"]),
            ("/devices/?enterprise=acme", ["phone", "watch"]),
            ("/devices/?subsystem=theirs", ["tablet"]),
            ("/devices/?enterprise=acme&subsystem=theirs", []),
            ("/databases/?enterprise=acme", ["erp"]),
            ("/databases/?enterprise=nobody", []),
        ],
    )
    def test_lists_by_id_what_matches(self, desk: Caller, path: str, ids: list[str]) -> None:
        make_device("watch", active=False)
        make_device("tablet", subsystem="theirs", enterprise="rival")
        answer = desk("GET", path).json()
        assert ([row["id"] for row in answer["results"]], answer["next"]) == (ids, None)

    def test_comes_page_by_page(self, desk: Caller) -> None:
        for n in range(4):
            make_device(f"d{n}")
        first = desk("GET", "/devices/?enterprise=acme&limit=3").json()
        second = desk("GET", first["next"]).json()
        assert [row["id"] for row in first["results"] + second["results"]] == ["d0", "d1", "d2", "d3", "phone"]
        assert second["next"] is None

    @pytest.mark.parametrize("query", ["enterprise=a_b", "subsystem=%20", "limit=0", "cursor=x"])
    def test_names_a_bad_filter(self, desk: Caller, query: str) -> None:
        answer = desk("GET", f"/devices/?{query}")
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, [query.partition("=")[0]])

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_list_costs_two_queries_however_long(
        self, desk: Caller, kind: str, django_assert_num_queries: Any
    ) -> None:
        for n in range(20):
            make_device(f"d{n}", subsystem=f"s{n}", enterprise=f"e{n}")
            make_database(f"b{n}", enterprise=f"e{n}")
        with django_assert_num_queries(2):  # the key, the page
            assert len(desk("GET", f"/{kind}/").json()["results"]) > 20


class TestPatch:
    @pytest.mark.parametrize("kind", KINDS)
    def test_changes_what_is_named(self, desk: Caller, kind: str) -> None:
        before = desk("GET", f"/{kind}/{KNOWN[kind]}/").json()
        answer = desk("PATCH", f"/{kind}/{KNOWN[kind]}/", {"name": " New "})
        assert (answer.status_code, answer.json()) == (200, before | {"name": "New"})
        change, event = ChangeRecord.objects.get(kind=ONE[kind]), Event.objects.get()
        assert change.after == change.before | {"name": "New"}
        assert (event.type, event.subject) == ("registry.changed", f"{ONE[kind]}/{KNOWN[kind]}")

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_it_is_already_leaves_no_trace(self, desk: Caller, kind: str) -> None:
        body = desk("GET", f"/{kind}/{KNOWN[kind]}/").json()
        assert desk("PATCH", f"/{kind}/{KNOWN[kind]}/", body).json() == body
        assert (ChangeRecord.objects.exclude(kind="key").count(), Event.objects.count()) == (0, 0)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_id_stays(self, desk: Caller, kind: str) -> None:
        answer = desk("PATCH", f"/{kind}/{KNOWN[kind]}/", {"id": "other", "name": "New"})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["id"])

    @pytest.mark.parametrize("kind", ["subsystems", "devices", "databases"])
    def test_the_enterprise_stays(self, desk: Caller, kind: str) -> None:
        make_enterprise("rival")
        answer = desk("PATCH", f"/{kind}/{KNOWN[kind]}/", {"enterprise": "rival"})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["enterprise"])

    def test_a_device_moves_within_its_enterprise_alone(self, desk: Caller) -> None:
        make_subsystem("theirs", enterprise="rival")
        assert desk("PATCH", "/devices/phone/", {"subsystem": "empty"}).json()["subsystem"] == "empty"
        for subsystem in ("theirs", "nobody"):
            answer = desk("PATCH", "/devices/phone/", {"subsystem": subsystem})
            assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["subsystem"])

    @pytest.mark.parametrize("kind", ["devices", "databases"])
    def test_wakes_up_what_was_deactivated(self, desk: Caller, kind: str) -> None:
        desk("DELETE", f"/{kind}/{KNOWN[kind]}/")
        assert desk("PATCH", f"/{kind}/{KNOWN[kind]}/", {"active": True}).json()["active"] is True

    @pytest.mark.parametrize("body", [{"name": ""}, {"name": None}, {"colour": "red"}, [], "text"])
    def test_refuses_what_post_refuses(self, desk: Caller, body: Any) -> None:
        assert desk("PATCH", "/enterprises/acme/", body).status_code == 400


class TestDelete:
    @pytest.mark.parametrize("kind", ["enterprises", "devices", "databases"])
    def test_deactivates_once_and_leaves_it_readable(self, desk: Caller, kind: str) -> None:
        assert [desk("DELETE", f"/{kind}/{KNOWN[kind]}/").status_code for _ in range(2)] == [204, 204]
        assert desk("GET", f"/{kind}/{KNOWN[kind]}/").json().get("active", False) is False
        assert list(Event.objects.values_list("type", "subject")) == [
            ("registry.deleted", f"{ONE[kind]}/{KNOWN[kind]}")
        ]
        assert not MODELS[kind].objects.get(pk=KNOWN[kind]).active

    @pytest.mark.parametrize(
        ("path", "refused"),
        [
            ("/enterprises/acme/", {"phone", "erp"}),
            ("/devices/phone/", {"phone"}),
            ("/databases/erp/", {"erp"}),
        ],
    )
    def test_refuses_its_keys_from_then_on(self, desk: Caller, path: str, refused: set[str]) -> None:
        keys = {"phone": caller_of(Device.objects.get()), "erp": caller_of(ExchangeDatabase.objects.get())}
        desk("DELETE", path)
        answers = {name: caller("GET", "/devices/").json()["message"] for name, caller in keys.items()}
        assert {name for name, text in answers.items() if text == "The owner of this key is inactive."} == refused

    def test_takes_an_empty_subsystem_away(self, desk: Caller) -> None:
        assert desk("DELETE", "/subsystems/empty/").status_code == 204
        assert [desk(method, "/subsystems/empty/").status_code for method in ("GET", "DELETE")] == [404, 404]
        change = ChangeRecord.objects.get(kind="subsystem")
        assert (change.action, change.after, Event.objects.get().type) == ("deleted", None, "registry.deleted")

    def test_a_subsystem_in_use_stays(self, desk: Caller) -> None:
        answer = desk("DELETE", "/subsystems/stock/")
        assert (answer.status_code, answer.json()["code"]) == (409, "subsystem_in_use")
        assert "Move its devices" in answer.json()["message"]

    def test_so_does_one_with_messages_of_a_device_that_moved_away(self, desk: Caller) -> None:
        device = Device.objects.get()
        Message.objects.create(
            enterprise_id="acme",
            public_id="m1",
            direction="request",
            database_id="erp",
            device=device,
            subsystem_id="stock",
            created_at="2026-01-01T00:00:00Z",
            accepted_at="2026-01-01T00:00:00Z",
            size=1,
            digest=b"",
            folder="Messages",
            status="waiting",
        )
        desk("PATCH", "/devices/phone/", {"subsystem": "empty"})
        assert desk("DELETE", "/subsystems/stock/").status_code == 409


class TestRevert:
    def test_takes_the_scope_of_the_parties_too(self, desk: Caller) -> None:
        desk("DELETE", "/devices/phone/")
        address = f"/changes/{ChangeRecord.objects.get(kind='device').pk}/revert/"
        assert service("registry:write")("POST", address).status_code == 403
        assert not Device.objects.get().active
        assert service("registry:write", "parties:write")("POST", address).status_code == 201
        assert Device.objects.get().active
