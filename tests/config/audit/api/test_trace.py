from typing import Any

import pytest

from config.access.keys import create_key
from config.audit.log import write_log_entry
from config.audit.trace import read_trace
from config.common.correlation import correlated
from notifications.services.alerts import acknowledge_alert
from tests.notifications.alerts import make_alert
from tests.notifications.recorded_events import record_numbered_events
from tests.notifications.sending.deliveries import answer, claim, enqueue_state, make_endpoint
from tests.sensors.api.callers import Caller, of_client, service
from tests.sensors.registry import make_client
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

CHAIN = "call-0001"


@pytest.fixture
def operator() -> Caller:
    return service("operations")


def steps(caller: Any, chain: str = CHAIN) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller("GET", f"/trace/{chain}/").json()["results"]
    return found


def kinds(caller: Any, chain: str = CHAIN) -> list[str]:
    return [step["kind"] for step in steps(caller, chain)]


class TestTrace:
    def test_follows_a_call_to_its_attempts(self, operator: Caller) -> None:
        with correlated(CHAIN):
            record_numbered_events(1)
            delivery = enqueue_state(make_endpoint())
        answer(*claim(), status=503)
        event, owed, tried = steps(operator)
        assert (event["kind"], event["summary"], event["outcome"]) == ("event", "test.happened · door", None)
        assert (owed["kind"], owed["id"], owed["outcome"]) == ("delivery", delivery.pk, "pending")
        assert (tried["kind"], tried["outcome"], tried["data"]["delivery"]) == ("attempt", "503", delivery.pk)

    def test_says_how_it_stands_who_acted_and_what_is_still_to_come(self, operator: Caller) -> None:
        with correlated(CHAIN):
            alert, delivery = make_alert(), enqueue_state(make_endpoint())
        acknowledge_alert(alert.pk, "staff:olga")
        answer(*claim(), status=503)
        found = operator("GET", f"/trace/{CHAIN}/").json()
        assert (found["standing"], found["truncated"], found["related"]) == ("open", False, [])
        [attempt] = [step for step in found["results"] if step["kind"] == "attempt"]
        assert (attempt["lane"], attempt["standing"], attempt["actor"]) == ("delivery", "failed", "")
        assert attempt["page"] == f"/admin/notifications/delivery/{delivery.pk}/change/"
        assert sum(step["after_ms"] for step in found["results"]) <= found["duration_ms"]
        assert "staff:olga" in [step["actor"] for step in found["results"]]
        assert {(each["kind"], each["at"] is None) for each in found["upcoming"]} == {
            ("delivery", False),
            ("alert", True),
        }

    def test_is_in_order_of_time(self, operator: Caller) -> None:
        with correlated(CHAIN):
            endpoint = make_endpoint()
            for number in range(3):
                enqueue_state(endpoint, f"thing/{number}")
                record_numbered_events(1)
        answer(*claim())
        times = [step["at"] for step in steps(operator)]
        assert len(times) == 9
        assert times == sorted(times)

    def test_tells_what_the_registry_keeps(self, operator: Caller) -> None:
        registrar = service("registry:write")
        with correlated(CHAIN):
            registrar("POST", "/sensors/", {"id": "A1", "address": "gate"})
        changed = [step for step in steps(operator) if step["kind"] == "change"]
        assert [(step["summary"], step["outcome"]) for step in changed] == [("sensor A1", "created")]
        assert changed[0]["data"]["after"]["address"] == "gate"
        assert changed[0]["data"]["actor"].startswith("key:desk")

    def test_tells_an_alert_and_who_took_it_on_by_another_call(self, operator: Caller) -> None:
        with correlated(CHAIN):
            alert = make_alert()
        with correlated("call-0002"):
            acknowledge_alert(alert.pk, "staff:olga")
        told = {(step["kind"], step["summary"], step["outcome"]) for step in steps(operator)}
        assert ("alert", "Redis does not answer", "acknowledged") in told
        assert ("event", f"Alert acknowledged · alert {alert.pk}", None) in told

    def test_a_message_that_was_given_up_leads_to_its_alert(self, operator: Caller, settings: Any) -> None:
        settings.DELIVERY_ATTEMPTS = 1
        with correlated(CHAIN):
            enqueue_state(make_endpoint())
        with correlated("the-sender"):
            answer(*claim(), status=500)
        assert kinds(operator) == ["delivery", "attempt", "alert", "event"]

    def test_tells_what_the_log_says_of_the_call(self, operator: Caller) -> None:
        with correlated(CHAIN):
            write_log_entry(level="error", kind="exchange", subject="process/1", template="Step %(n)s", data={"n": 4})
        [step] = steps(operator)
        assert (step["kind"], step["summary"], step["outcome"]) == ("log", "Step 4", "error")
        assert step["data"] == {"kind": "exchange", "subject": "process/1", "count": 1, "data": {"n": 4}}

    def test_tells_nothing_of_other_calls(self, operator: Caller) -> None:
        with correlated("call-0002"):
            record_numbered_events(1)
        assert steps(operator) == []

    @pytest.mark.parametrize("name", ["short", "x" * 65, "with space", "%27or%201=1--", "ключ-ключ"])
    def test_a_malformed_id_is_named(self, operator: Caller, name: str) -> None:
        refused = operator("GET", f"/trace/{name}/")
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
        assert list(refused.json()["data"]["fields"]) == ["correlation_id"]

    def test_is_bounded(self) -> None:
        with correlated(CHAIN):
            record_numbered_events(5)
        found = read_trace(CHAIN, may=lambda permission: True, most=3).steps
        assert [step.data["payload"]["n"] for step in found] == [1, 2, 3]

    def test_costs_the_same_for_many(self, operator: Caller, django_assert_max_num_queries: Any) -> None:
        with correlated(CHAIN):
            endpoint = make_endpoint()
            for number in range(20):
                enqueue_state(endpoint, f"thing/{number}")
                make_alert(subject=f"s{number}")
        answer(*claim())
        with django_assert_max_num_queries(23):
            operator("GET", f"/trace/{CHAIN}/")


class TestAccess:
    def test_other_scopes_are_refused(self) -> None:
        assert service("history:read", "registry:read")("GET", f"/trace/{CHAIN}/").status_code == 403

    def test_a_client_is_refused(self) -> None:
        assert of_client(make_client())("GET", f"/trace/{CHAIN}/").status_code == 403

    def test_nobody_is_refused(self) -> None:
        assert Caller(None)("GET", f"/trace/{CHAIN}/").status_code == 401

    @pytest.mark.parametrize(("group", "count"), [("operator", 0), ("administrator", 1)])
    def test_staff_see_changes_of_keys_as_elsewhere(self, group: str, count: int) -> None:
        with correlated(CHAIN):
            create_key(name="new", actor="test", scopes=["operations"])
        browser = signed_in(group)
        assert len(browser.get(f"/api/v1/trace/{CHAIN}/").json()["results"]) == count


class TestBytes:
    def test_a_part_ends_when_its_data_weighs_enough(self, operator: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        with correlated(CHAIN):
            record_numbered_events(5)
            make_alert()
        whole = kinds(operator)
        monkeypatch.setattr("config.audit.trace.PART_BYTES", 1)
        assert whole.count("event") > 1
        assert [kinds(operator).count(kind) for kind in ("event", "alert")] == [1, 1]
