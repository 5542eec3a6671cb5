"""The registry over REST: what is taken at its bounds, what stands where nothing was said, what a change leaves."""

from typing import Any

import pytest

from config.common.correlation import correlated
from config.records.models import ChangeRecord
from sensors.models import Client
from tests.sensors.api.callers import Caller, service
from tests.sensors.registry import link, make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

URL = "https://bell.example/hook"


@pytest.fixture
def desk() -> Caller:
    return service("registry:read", "registry:write", "history:read", "signals:write")


@pytest.fixture
def owner() -> Client:
    make_sensor("0xA")
    client = make_client()
    link("0xA", client)
    return client


class TestSensor:
    def test_what_is_left_out_has_its_default(self, desk: Caller) -> None:
        assert desk("POST", "/sensors/", {"id": "new", "address": "x"}).json() == {
            "id": "new",
            "address": "x",
            "notes": "",
            "active": True,
            "heartbeat_timeout": 3600,
            "open_limit": None,
            "muted_until": None,
            "clients": [],
            "state": None,
            "state_changed_at": None,
            "last_seen_at": None,
            "connection": "never_seen",
        }

    @pytest.mark.parametrize(
        "values",
        [
            {"id": "a"},
            {"id": "Z" * 16},
            {"address": "x" * 500},
            {"address": "улица Свободы, 23"},
            {"notes": "x" * 5000},
            {"heartbeat_timeout": 1},
            {"open_limit": 1},
            {"open_limit": 30 * 24 * 3600},
            {"heartbeat_timeout": 30 * 24 * 3600},
            {"muted_until": None},
            {"active": False},
        ],
    )
    def test_takes_what_lies_within_its_bounds(self, desk: Caller, values: dict[str, Any]) -> None:
        answer = desk("POST", "/sensors/", {"id": "new", "address": "x"} | values)
        assert answer.status_code == 201
        assert values.items() <= desk("GET", f"/sensors/{values.get('id', 'new')}/").json().items()

    @pytest.mark.parametrize("sensor_id", ["", "Z" * 17, "дверь", "a b", "a_b", None])
    def test_refuses_an_id_of_another_form(self, desk: Caller, sensor_id: Any) -> None:
        answer = desk("POST", "/sensors/", {"id": sensor_id, "address": "x"})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["id"])

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("address", ""),
            ("address", "x" * 501),
            ("heartbeat_timeout", 0),
            ("heartbeat_timeout", 2_592_001),
            ("muted_until", "2030-01-01"),
            ("clients", [4711]),
        ],
    )
    def test_a_change_that_breaks_a_rule_changes_nothing(
        self, owner: Client, desk: Caller, field: str, value: Any
    ) -> None:
        before = desk("GET", "/sensors/0xA/").json()
        answer = desk("PATCH", "/sensors/0xA/", {field: value, "notes": "new"})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, [field])
        assert desk("GET", "/sensors/0xA/").json() == before

    def test_what_can_only_be_read_is_named_where_it_differs_and_nothing_changes(
        self, owner: Client, desk: Caller
    ) -> None:
        before = desk("GET", "/sensors/0xA/").json()
        answer = desk("PATCH", "/sensors/0xA/", before | {"state": 1, "connection": "online", "notes": "new"})
        assert (answer.status_code, sorted(answer.json()["data"]["fields"])) == (400, ["connection", "state"])
        assert desk("GET", "/sensors/0xA/").json() == before

    def test_what_was_deactivated_can_be_put_back_into_service(self, owner: Client, desk: Caller) -> None:
        desk("DELETE", "/sensors/0xA/")
        signal = {"sensor_id": "0xA", "data": 1}
        assert desk("POST", "/signals/", signal).json()["rejected"][0]["code"] == "inactive_sensor"
        assert desk("PATCH", "/sensors/0xA/", {"active": True}).json()["active"] is True
        assert desk("POST", "/signals/", signal).json()["accepted"] == 1


class TestClient:
    @pytest.mark.parametrize("url", ["http://a.example", "https://[::1]:8443/x?y=z", "https://a.example/" + "x" * 482])
    def test_takes_http_and_https_up_to_500_characters(self, desk: Caller, url: str) -> None:
        assert desk("POST", "/clients/", {"name": "bell", "url": url}).json()["url"] == url

    @pytest.mark.parametrize("url", ["ftp://a.example/", "https://", "https:///path", "//a.example/", "", None, 7])
    def test_takes_no_other_url(self, desk: Caller, url: Any) -> None:
        answer = desk("POST", "/clients/", {"name": "bell", "url": url})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["url"])

    @pytest.mark.parametrize(
        "values",
        [
            {"name": "gong"},
            {"url": "http://gong.example/"},
            {"active": False},
            {"paused": True},
            {"muted_until": "2030-01-31T20:59:59.123Z"},
        ],
    )
    def test_patch_changes_what_is_named_and_no_secret_is_told(
        self, owner: Client, desk: Caller, values: dict[str, Any]
    ) -> None:
        before = desk("GET", f"/clients/{owner.pk}/").json()
        assert desk("PATCH", f"/clients/{owner.pk}/", values).json() == before | values
        assert desk("GET", f"/clients/{owner.pk}/").json() == before | values

    def test_a_change_that_breaks_a_rule_changes_nothing(self, owner: Client, desk: Caller) -> None:
        before = desk("GET", f"/clients/{owner.pk}/").json()
        answer = desk("PATCH", f"/clients/{owner.pk}/", {"name": "gong", "url": "gong.example"})
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["url"])
        assert desk("GET", f"/clients/{owner.pk}/").json() == before

    def test_delete_deactivates_and_its_history_stays_readable(self, owner: Client, desk: Caller) -> None:
        desk("POST", "/signals/", {"sensor_id": "0xA", "data": 1})
        assert [desk("DELETE", f"/clients/{owner.pk}/").status_code for _ in range(2)] == [204, 204]
        assert desk("GET", f"/clients/{owner.pk}/").json()["active"] is False
        for kind in ("history", "events", "deliveries"):
            assert len(desk("GET", f"/clients/{owner.pk}/{kind}/").json()["results"]) == 1
        assert ChangeRecord.objects.filter(kind="client").count() == 1

    def test_the_list_is_cut_into_pages(self, desk: Caller) -> None:
        made = [make_client(str(n)).pk for n in range(3)]
        first = desk("GET", "/clients/?limit=2").json()
        rest = desk("GET", first["next"]).json()
        assert [row["id"] for row in [*first["results"], *rest["results"]]] == made
        assert rest["next"] is None
        assert all("secret" not in row for row in first["results"])

    def test_a_rotated_secret_is_another_one_and_told_nowhere_else(self, owner: Client, desk: Caller) -> None:
        made = desk("POST", "/clients/", {"name": "bell", "url": URL}).json()
        rotated = desk("POST", f"/clients/{made['id']}/rotate-secret/").json()["secret"]
        assert rotated.startswith("whsec_")
        assert rotated != made["secret"]
        told = desk("GET", f"/clients/{made['id']}/changes/").content + desk("GET", "/clients/").content
        assert rotated.encode() not in told
        assert made["secret"].encode() not in told


class TestChanges:
    def test_have_the_shape_of_the_log(self, owner: Client, desk: Caller) -> None:
        with correlated("the-chain-1"):
            desk("PATCH", "/sensors/0xA/", {"address": "two"})
        (change,) = desk("GET", "/sensors/0xA/changes/").json()["results"]
        assert (change["action"], change["before"]["address"], change["after"]["address"]) == (
            "changed",
            "1 Gate Street",
            "two",
        )
        assert (change["correlation_id"], change["actor"].partition(" ")[0]) == ("the-chain-1", "key:desk")

    def test_are_cut_into_pages(self, owner: Client, desk: Caller) -> None:
        for n in range(3):
            desk("PATCH", "/sensors/0xA/", {"notes": str(n)})
        first = desk("GET", "/sensors/0xA/changes/?limit=2").json()
        rest = desk("GET", first["next"]).json()
        assert [row["after"]["notes"] for row in [*first["results"], *rest["results"]]] == ["2", "1", "0"]

    def test_of_a_client_can_be_reverted(self, owner: Client, desk: Caller) -> None:
        desk("PATCH", f"/clients/{owner.pk}/", {"name": "gong"})
        (change,) = desk("GET", f"/clients/{owner.pk}/changes/").json()["results"]
        assert desk("POST", f"/changes/{change['id']}/revert/").json()["reverts"] == change["id"]
        assert desk("GET", f"/clients/{owner.pk}/").json()["name"] == "watch"

    def test_of_a_link_can_be_reverted(self, owner: Client, desk: Caller) -> None:
        desk("DELETE", f"/sensors/0xA/clients/{owner.pk}/")
        (change,) = desk("GET", "/sensors/0xA/changes/").json()["results"]
        desk("POST", f"/changes/{change['id']}/revert/")
        assert desk("GET", "/sensors/0xA/").json()["clients"] == [owner.pk]

    def test_of_what_was_deactivated_stay_readable(self, owner: Client, desk: Caller) -> None:
        desk("DELETE", "/sensors/0xA/")
        (change,) = desk("GET", "/sensors/0xA/changes/").json()["results"]
        assert (change["before"]["active"], change["after"]["active"]) == (True, False)
