from typing import Any

import pytest

from notifications.models import Alert
from notifications.services.alerts import acknowledge_alert, resolve_alert
from tests.notifications.alerts import make_alert
from tests.sensors.api.callers import Caller, service
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def operator() -> Caller:
    return service("operations")


class TestList:
    def test_shows_an_alert_in_the_words_of_the_reader(self, operator: Caller) -> None:
        alert = make_alert(error="refused")
        [shown] = operator("GET", "/alerts/").json()["results"]
        assert shown["title"] == "Redis does not answer"
        assert (shown["id"], shown["kind"], shown["subject"]) == (alert.pk, "engine.down", "engine/redis")
        assert shown["detail"] == {"engine": "Redis", "error": "refused"}
        assert (shown["status"], shown["count"], shown["acknowledged_by"], shown["muted_until"]) == (
            "open",
            1,
            "",
            None,
        )
        assert shown["first_at"].endswith("Z")

    @pytest.mark.parametrize(
        ("query", "subjects"),
        [("", "c b a"), ("?status=open", "c"), ("?status=acknowledged", "b"), ("?status=resolved", "a")],
    )
    def test_filters_by_status_newest_first(self, operator: Caller, query: str, subjects: str) -> None:
        resolve_alert(make_alert(subject="a").pk, "x")
        acknowledge_alert(make_alert(subject="b").pk, "x")
        make_alert(subject="c")
        answer = operator("GET", f"/alerts/{query}").json()
        assert [shown["subject"] for shown in answer["results"]] == subjects.split()

    def test_a_status_that_is_none_is_named(self, operator: Caller) -> None:
        answer = operator("GET", "/alerts/?status=closed")
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["status"])

    def test_comes_in_pages(self, operator: Caller) -> None:
        for name in "abc":
            make_alert(subject=name)
        first = operator("GET", "/alerts/?limit=2").json()
        rest = operator("GET", first["next"]).json()
        assert [shown["subject"] for shown in first["results"] + rest["results"]] == ["c", "b", "a"]
        assert rest["next"] is None

    def test_costs_the_same_for_many(self, operator: Caller, django_assert_max_num_queries: Any) -> None:
        for number in range(20):
            make_alert(subject=f"s{number}")
        with django_assert_max_num_queries(3):
            operator("GET", "/alerts/")


class TestActions:
    def test_acknowledge_names_the_caller(self, operator: Caller) -> None:
        shown = operator("POST", f"/alerts/{make_alert().pk}/acknowledge/").json()
        assert shown["status"] == "acknowledged"
        assert shown["acknowledged_by"].startswith("key:desk")

    def test_resolve_keeps_the_note(self, operator: Caller) -> None:
        shown = operator("POST", f"/alerts/{make_alert().pk}/resolve/", {"note": "restarted"}).json()
        assert (shown["status"], shown["resolution"]) == ("resolved", "restarted")

    def test_resolve_wants_no_body(self, operator: Caller) -> None:
        answer = operator.send_file(f"/alerts/{make_alert().pk}/resolve/", b"", "application/json")
        assert answer.json()["status"] == "resolved"

    def test_mute_answers_until_when(self, operator: Caller) -> None:
        shown = operator("POST", f"/alerts/{make_alert().pk}/mute/", {"seconds": 60}).json()
        assert shown["muted_until"] > shown["first_at"]

    @pytest.mark.parametrize(
        "body", [{}, {"seconds": None}, {"seconds": 0}, {"seconds": 2_592_001}, {"seconds": "long"}, []]
    )
    def test_mute_wants_a_sane_time(self, operator: Caller, body: Any) -> None:
        answer = operator("POST", f"/alerts/{make_alert().pk}/mute/", body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert Alert.objects.get().muted_until is None

    @pytest.mark.parametrize(
        ("before", "verb", "code"),
        [
            (acknowledge_alert, "acknowledge", "alert_acknowledged"),
            (resolve_alert, "acknowledge", "alert_resolved"),
            (resolve_alert, "resolve", "alert_resolved"),
            (resolve_alert, "mute", "alert_resolved"),
        ],
    )
    def test_a_wrong_state_is_a_conflict(self, operator: Caller, before: Any, verb: str, code: str) -> None:
        alert = make_alert()
        before(alert.pk, "staff:olga")
        answer = operator("POST", f"/alerts/{alert.pk}/{verb}/", {"seconds": 60} if verb == "mute" else {})
        assert (answer.status_code, answer.json()["code"]) == (409, code)

    @pytest.mark.parametrize("number", [0, 999, 2**63, 10**30])
    @pytest.mark.parametrize("verb", ["acknowledge", "resolve", "mute"])
    def test_an_unknown_alert_is_not_found(self, operator: Caller, verb: str, number: int) -> None:
        answer = operator("POST", f"/alerts/{number}/{verb}/", {"seconds": 60} if verb == "mute" else {})
        assert (answer.status_code, answer.json()["code"]) == (404, "alert_not_found")

    def test_a_repeat_with_the_same_key_gets_the_first_answer(self, operator: Caller) -> None:
        path = f"/alerts/{make_alert().pk}/acknowledge/"
        answers = [operator("POST", path, {}, **{"Idempotency-Key": "once"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()


class TestWhoMay:
    @pytest.mark.parametrize("verb", ["acknowledge", "resolve", "mute"])
    def test_other_scopes_may_not(self, verb: str) -> None:
        alert = make_alert()
        stranger = service("registry:read", "registry:write", "history:read")
        assert stranger("POST", f"/alerts/{alert.pk}/{verb}/").status_code == 403
        assert stranger("GET", "/alerts/").status_code == 403
        assert Caller(None)("GET", "/alerts/").status_code == 401

    @pytest.mark.parametrize(("group", "status"), [("viewer", 403), ("registrar", 403), ("operator", 200)])
    def test_staff_by_their_group(self, group: str, status: int) -> None:
        assert signed_in(group).get("/api/v1/alerts/").status_code == status
