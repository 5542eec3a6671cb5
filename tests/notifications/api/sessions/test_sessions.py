"""The calls about sessions, one by one, as the contract has them."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.common.times import format_time
from notifications.models import RepeatSession, SessionRecord, SessionStep
from tests.notifications.api.sessions.session_answers import failed
from tests.notifications.sessions.themes import repeat_due, theme
from tests.sensors.api.callers import Caller, service
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def exhaust(session_id: int) -> None:
    RepeatSession.objects.filter(pk=session_id).update(status="exhausted", due_at=None, repeats=3)


class TestCreate:
    def test_with_a_delay_it_is_saved_at_once(self, caller: Caller) -> None:
        theme(delay=1000)
        shown = caller("POST", "/sessions/", {"theme": 7, "records": [1], "delay": 0}).json()
        assert (shown["status"], shown["change"]) == ("saved", 1)
        assert repeat_due() == [shown["id"]]

    def test_with_a_time_it_is_saved_for_it(self, caller: Caller) -> None:
        theme()
        body = {"theme": 7, "records": [1], "repeat_at": "2031-05-06T07:08:09.123Z"}
        shown = caller("POST", "/sessions/", body).json()
        assert (shown["status"], shown["repeat_at"]) == ("saved", "2031-05-06T07:08:09.123Z")

    def test_takes_a_time_or_a_delay(self, caller: Caller) -> None:
        theme()
        body = {"theme": 7, "records": [1], "repeat_at": "2031-05-06T07:08:09.123Z", "delay": 1}
        assert failed(caller("POST", "/sessions/", body)) == (400, "invalid", 4000)
        assert not RepeatSession.objects.exists()

    def test_answers_an_active_session(self, begin: Any) -> None:
        shown = begin({"a": 1}, [2], "three", None)
        assert shown == {
            "id": shown["id"],
            "theme": 7,
            "change": 1,
            "status": "active",
            "records": [{"a": 1}, [2], "three", None],
            "repeats": 0,
            "repeat_at": None,
        }

    def test_the_length_counts_compact_json_in_bytes(self, caller: Caller) -> None:
        theme(length_limit=len('["ё",1]'.encode()))
        assert caller("POST", "/sessions/", {"theme": 7, "records": ["ё", 1]}).status_code == 201
        answer = caller("POST", "/sessions/", {"theme": 7, "records": ["ё", 10]})
        assert failed(answer) == (400, "session_too_long", 2000)
        assert (answer.json()["data"]["length"], answer.json()["data"]["limit"]) == (9, 8)
        assert RepeatSession.objects.count() == 1

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"records": []}, "theme"),
            ({"theme": 8, "records": []}, "theme"),
            ({"theme": 2**40, "records": []}, "theme"),
            ({"theme": 7}, "records"),
            ({"theme": 7, "records": {}}, "records"),
            ({"theme": 7, "records": [], "repeat_at": None}, "repeat_at"),
        ],
    )
    def test_bad_input_names_the_field(self, caller: Caller, body: Any, field: str) -> None:
        theme()
        answer = caller("POST", "/sessions/", body)
        assert failed(answer) == (400, "invalid", 4000)
        assert list(answer.json()["data"]["fields"]) == [field]

    def test_broken_json_is_invalid_too(self, caller: Caller) -> None:
        answer = caller.send_file("/sessions/", b"{", "application/json")
        assert failed(answer) == (400, "bad_json", 4000)

    def test_a_repeated_key_begins_one_session(self, caller: Caller) -> None:
        theme()
        body = {"theme": 7, "records": [1]}
        answers = [caller("POST", "/sessions/", body, **{"Idempotency-Key": "k"}) for _ in range(2)]
        assert answers[0].json() == answers[1].json()
        assert RepeatSession.objects.count() == 1

    def test_an_inner_failure_is_told_as_such(self, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(**values: Any) -> int:
            raise RuntimeError

        monkeypatch.setattr("notifications.api.sessions.create_session", fail)
        theme()
        assert failed(caller("POST", "/sessions/", {"theme": 7, "records": []})) == (500, "internal_error", 1000)


class TestAppendAndRewrite:
    def test_append_adds_at_the_end_and_raises_the_change(self, caller: Caller, begin: Any) -> None:
        shown = begin(1)
        answer = caller("POST", f"/sessions/{shown['id']}/append/", {"change": 1, "records": [2, 3]})
        assert answer.status_code == 200
        assert answer.json() == {**shown, "change": 2, "records": [1, 2, 3]}

    def test_append_writes_only_what_is_new(self, caller: Caller, begin: Any) -> None:
        shown = begin(*range(20))
        SessionRecord.objects.filter(position=0).update(body="0 ")
        caller("POST", f"/sessions/{shown['id']}/append/", {"change": 1, "records": [20]})
        assert SessionRecord.objects.get(position=0).body == "0 ", "what was there is not written again"
        assert SessionRecord.objects.count() == 21

    def test_rewrite_replaces_all(self, caller: Caller, begin: Any) -> None:
        shown = begin(1, 2, 3)
        answer = caller("POST", f"/sessions/{shown['id']}/rewrite/", {"change": 1, "records": ["x"]})
        assert answer.json() == {**shown, "change": 2, "records": ["x"]}

    @pytest.mark.parametrize("verb", ["append", "rewrite", "save"])
    @pytest.mark.parametrize("change", [0, 2, 2**62])
    def test_a_stale_change_is_refused(self, caller: Caller, begin: Any, verb: str, change: int) -> None:
        shown = begin(1)
        body = {"change": change} if verb == "save" else {"change": change, "records": []}
        answer = caller("POST", f"/sessions/{shown['id']}/{verb}/", body)
        assert failed(answer) == (409, "stale_change", 4000)
        assert answer.json()["data"]["change"] == 1
        assert RepeatSession.objects.get().change == 1

    @pytest.mark.parametrize(("verb", "records"), [("append", ["x" * 95]), ("rewrite", ["x" * 97])])
    def test_too_long_changes_nothing(self, caller: Caller, begin: Any, verb: str, records: Any) -> None:
        shown = begin(1)
        answer = caller("POST", f"/sessions/{shown['id']}/{verb}/", {"change": 1, "records": records})
        assert failed(answer) == (400, "session_too_long", 2000)
        assert caller("GET", f"/sessions/{shown['id']}/").json()["records"] == [1]

    @pytest.mark.parametrize(("verb", "records"), [("append", ["x" * 94]), ("rewrite", ["x" * 96])])
    def test_as_long_as_allowed_is_taken(self, caller: Caller, begin: Any, verb: str, records: Any) -> None:
        shown = begin(*([] if verb == "rewrite" else [1]))
        answer = caller("POST", f"/sessions/{shown['id']}/{verb}/", {"change": 1, "records": records})
        assert answer.status_code == 200
        assert RepeatSession.objects.get().length == 100

    def test_a_saved_session_keeps_its_status_and_its_time(self, caller: Caller, begin: Any) -> None:
        shown = begin(1)
        at = format_time(timezone.now() + timedelta(hours=1))
        caller("POST", f"/sessions/{shown['id']}/save/", {"change": 1, "repeat_at": at})
        answer = caller("POST", f"/sessions/{shown['id']}/append/", {"change": 2, "records": [2]}).json()
        assert (answer["status"], answer["repeat_at"], answer["change"]) == ("saved", at, 3)

    def test_the_newest_change_wins_over_a_worker_that_has_the_session(self, caller: Caller, begin: Any) -> None:
        shown = begin(1)
        RepeatSession.objects.update(is_repeating=True, change=5)
        answer = caller("POST", f"/sessions/{shown['id']}/append/", {"change": 5, "records": [2]})
        assert (answer.json()["status"], answer.json()["change"]) == ("active", 6)
        assert not RepeatSession.objects.get().is_repeating


class TestSave:
    def test_at_a_time(self, caller: Caller, begin: Any) -> None:
        shown = begin(1)
        body = {"change": 1, "repeat_at": "2031-01-31T23:59:59.123456+02:00"}
        answer = caller("POST", f"/sessions/{shown['id']}/save/", body)
        assert answer.json() == {**shown, "change": 2, "status": "saved", "repeat_at": "2031-01-31T21:59:59.123Z"}

    @pytest.mark.parametrize(("body", "seconds"), [({"delay": 90.5}, 90.5), ({}, 10), ({"delay": 0}, 0)])
    def test_after_a_delay_by_default_the_themes(self, caller: Caller, begin: Any, body: Any, seconds: float) -> None:
        shown = begin(1, delay=10)
        caller("POST", f"/sessions/{shown['id']}/save/", {"change": 1, **body})
        left = RepeatSession.objects.get().due_at - timezone.now()
        assert seconds - 5 < left.total_seconds() <= seconds + 0.1

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "change"),
            ({"change": 1, "delay": 1, "repeat_at": "2031-01-01T00:00:00Z"}, "delay"),
            ({"change": 1, "delay": -1}, "delay"),
            ({"change": 1, "delay": 1e300}, "delay"),
            ({"change": 1, "repeat_at": "2031-01-01T00:00:00"}, "repeat_at"),
            ({"change": "x"}, "change"),
        ],
    )
    def test_bad_input_names_the_field(self, caller: Caller, begin: Any, body: Any, field: str) -> None:
        answer = caller("POST", f"/sessions/{begin(1)['id']}/save/", body)
        assert failed(answer) == (400, "invalid", 4000)
        assert list(answer.json()["data"]["fields"]) == [field]

    def test_an_exhausted_one_is_refused(self, caller: Caller, begin: Any) -> None:
        shown = begin(1)
        exhaust(shown["id"])
        answer = caller("POST", f"/sessions/{shown['id']}/save/", {"change": 1})
        assert failed(answer) == (409, "repeat_limit_reached", 2001)
        assert RepeatSession.objects.get().status == "exhausted"

    def test_again_moves_it_to_the_end_of_the_order(self, caller: Caller, begin: Any) -> None:
        first, at = begin(1)["id"], "2026-01-01T00:00:00Z"
        second = caller("POST", "/sessions/", {"theme": 7, "records": []}).json()["id"]
        for session_id in (first, second):
            caller("POST", f"/sessions/{session_id}/save/", {"change": 1, "repeat_at": at})
        caller("POST", f"/sessions/{first}/save/", {"change": 2, "repeat_at": at})
        assert repeat_due() == [second, first]


class TestDeleteAndRead:
    def test_a_deleted_session_is_gone_with_its_timeline(self, caller: Caller, begin: Any) -> None:
        path = f"/sessions/{begin(1)['id']}/"
        caller("POST", f"{path}append/", {"change": 1, "records": [2]})
        assert caller("DELETE", path).status_code == 204
        assert failed(caller("GET", path)) == (404, "session_not_found", 4000)
        assert failed(caller("DELETE", path)) == (404, "session_not_found", 4000)
        assert not SessionStep.objects.exists()
        assert not SessionRecord.objects.exists()

    def test_the_timeline_tells_what_happened(self, caller: Caller, begin: Any) -> None:
        path = f"/sessions/{begin(1)['id']}/"
        caller("POST", f"{path}append/", {"change": 1, "records": [2]})
        caller("POST", f"{path}save/", {"change": 2, "delay": 5})
        shown = caller("GET", path).json()
        assert [step["what"] for step in shown["timeline"]] == ["created", "appended: 1", "saved: +5 s"]
        assert all(set(step) == {"at", "what", "verdicts"} for step in shown["timeline"])
        assert [step["at"] for step in shown["timeline"]] == sorted(step["at"] for step in shown["timeline"])

    @pytest.mark.parametrize("verb", ["append", "rewrite", "save"])
    @pytest.mark.parametrize("number", [0, 999, 2**63, 10**30])
    def test_an_unknown_session_is_not_found(self, caller: Caller, verb: str, number: int) -> None:
        body = {"change": 1} if verb == "save" else {"change": 1, "records": []}
        assert failed(caller("POST", f"/sessions/{number}/{verb}/", body)) == (404, "session_not_found", 4000)
        assert failed(caller("GET", f"/sessions/{number}/")) == (404, "session_not_found", 4000)


class TestList:
    def test_filters_by_theme_and_status_newest_first(self, caller: Caller, begin: Any) -> None:
        ids = [begin("a")["id"], caller("POST", "/sessions/", {"theme": 7, "records": ["b"]}).json()["id"]]
        theme(8)
        caller("POST", "/sessions/", {"theme": 8, "records": ["c"]})
        exhaust(ids[0])

        def listed(query: str) -> list[Any]:
            return [row["records"] for row in caller("GET", f"/sessions/{query}").json()["results"]]

        assert listed("") == [["c"], ["b"], ["a"]]
        assert listed("?theme=7") == [["b"], ["a"]]
        assert listed("?status=exhausted") == [["a"]]
        assert listed("?theme=8&status=exhausted") == []

    @pytest.mark.parametrize("query", ["?status=dead", "?theme=x", "?theme=-1", "?limit=0", "?cursor=x"])
    def test_a_bad_filter_is_invalid(self, caller: Caller, query: str) -> None:
        assert failed(caller("GET", f"/sessions/{query}")) == (400, "invalid", 4000)

    def test_comes_in_pages_that_end_early_when_records_are_long(
        self, caller: Caller, begin: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("config.common.web.pagination.PAGE_BYTES", 2500)
        begin("x" * 1500, length_limit=2000)
        for size in (10, 1500, 1500):
            caller("POST", "/sessions/", {"theme": 7, "records": ["x" * size]})
        sizes, path = [], "/sessions/?limit=3"
        while path:
            found = caller("GET", path).json()
            sizes.append([len(row["records"][0]) for row in found["results"]])
            path = found["next"]
        assert sizes == [[1500], [1500, 10], [1500]]

    def test_a_page_of_long_timelines_ends_early_too(
        self, caller: Caller, begin: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("config.common.web.pagination.PAGE_BYTES", 20_000)
        begin("x")
        for _ in range(2):
            caller("POST", "/sessions/", {"theme": 7, "records": ["x"]})
        for session in RepeatSession.objects.all():
            SessionStep.objects.bulk_create(
                [SessionStep(session=session, what="failed", detail="y" * 300) for _ in range(40)]
            )
        found = caller("GET", "/sessions/").json()
        assert len(found["results"]) == 1
        assert len(caller("GET", found["next"]).json()["results"]) == 1

    def test_costs_the_same_for_many(self, caller: Caller, begin: Any, django_assert_max_num_queries: Any) -> None:
        begin(1)
        for number in range(20):
            caller("POST", "/sessions/", {"theme": 7, "records": [number]})
        with django_assert_max_num_queries(8):  # records and timelines are read for twenty sessions at a time
            assert len(caller("GET", "/sessions/").json()["results"]) == 21


class TestWhoMay:
    def test_another_scope_may_not(self) -> None:
        stranger = service("operations", "registry:write")
        for path in ("/sessions/", "/sessions/themes/", "/sessions/1/"):
            assert stranger("GET", path).status_code == 403
            assert Caller(None)("GET", path).status_code == 401
        assert stranger("POST", "/sessions/1/save/", {}).status_code == 403
        assert stranger("DELETE", "/sessions/1/").status_code == 403
        assert stranger("PATCH", "/sessions/themes/1/", {}).status_code == 403

    @pytest.mark.parametrize(("group", "status"), [("viewer", 403), ("operator", 200)])
    def test_staff_by_their_group(self, group: str, status: int) -> None:
        assert signed_in(group).get("/api/v1/sessions/").status_code == status


class TestOperate:
    def test_repeat_now_makes_a_saved_session_due(self, caller: Caller) -> None:
        theme()
        shown = caller("POST", "/sessions/", {"theme": 7, "records": [1], "delay": 1000}).json()
        assert repeat_due() == []
        answer = caller("POST", f"/sessions/{shown['id']}/repeat-now/")
        assert (answer.status_code, answer.json()["change"]) == (200, 2)
        assert repeat_due() == [shown["id"]]

    def test_shift_moves_the_time_by_so_much(self, caller: Caller) -> None:
        theme()
        body = {"theme": 7, "records": [1], "repeat_at": "2031-05-06T07:08:09.000Z"}
        shown = caller("POST", "/sessions/", body).json()
        moved = caller("POST", f"/sessions/{shown['id']}/shift/", {"seconds": -9}).json()
        assert moved["repeat_at"] == "2031-05-06T07:08:00.000Z"

    def test_a_repeated_key_shifts_once(self, caller: Caller) -> None:
        theme()
        body = {"theme": 7, "records": [1], "repeat_at": "2031-05-06T07:08:09.000Z"}
        path = f"/sessions/{caller('POST', '/sessions/', body).json()['id']}/shift/"
        answers = [caller("POST", path, {"seconds": 1}, **{"Idempotency-Key": "k"}).json() for _ in range(2)]
        assert answers[0] == answers[1]
        assert answers[0]["repeat_at"] == "2031-05-06T07:08:10.000Z"

    def test_revive_lets_an_exhausted_session_begin_anew(self, caller: Caller, begin: Any) -> None:
        shown = begin(1)
        exhaust(shown["id"])
        revived = caller("POST", f"/sessions/{shown['id']}/revive/").json()
        assert (revived["status"], revived["repeats"]) == ("saved", 0)
        assert repeat_due() == [shown["id"]]

    @pytest.mark.parametrize(("call", "body"), [("repeat-now", None), ("shift", {"seconds": 1}), ("revive", None)])
    def test_another_status_is_told(self, caller: Caller, begin: Any, call: str, body: Any) -> None:
        shown = begin(1)
        answer = caller("POST", f"/sessions/{shown['id']}/{call}/", body)
        assert failed(answer) == (409, "wrong_status", 4000)
        assert answer.json()["data"]["status"] == "active"

    @pytest.mark.parametrize(("call", "body"), [("repeat-now", None), ("shift", {"seconds": 1}), ("revive", None)])
    def test_an_unknown_session_is_not_found(self, caller: Caller, call: str, body: Any) -> None:
        assert failed(caller("POST", f"/sessions/99/{call}/", body)) == (404, "session_not_found", 4000)

    @pytest.mark.parametrize("seconds", [None, "1", 10**12, True])
    def test_shift_takes_a_number_of_seconds(self, caller: Caller, begin: Any, seconds: Any) -> None:
        answer = caller("POST", f"/sessions/{begin(1)['id']}/shift/", {"seconds": seconds})
        assert failed(answer) == (400, "invalid", 4000)
