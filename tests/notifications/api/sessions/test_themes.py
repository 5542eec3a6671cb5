"""The calls about themes, one by one, as the contract has them."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.common.encryption import decrypt
from config.records.models import ChangeRecord, IdempotencyRecord
from notifications.models import Theme
from tests.notifications.api.sessions.session_answers import failed
from tests.notifications.sessions.themes import theme
from tests.sensors.api.callers import Caller

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

THEME = {"theme": 7, "timeout": 5, "repeat_limit": 3, "length_limit": 100, "delay": 10, "jitter": 0}


class TestThemes:
    def test_one_with_a_handler_is_answered_as_it_is_kept(self, caller: Caller) -> None:
        answer = caller("POST", "/sessions/themes/", {**THEME, "handler": "test"})
        assert (answer.status_code, answer.json()) == (201, {**THEME, "handler": "test", "url": None})
        assert caller("GET", "/sessions/themes/").json() == {
            "results": [{**THEME, "handler": "test", "url": None}],
            "next": None,
        }

    def test_one_with_a_url_answers_its_secret_once(self, caller: Caller) -> None:
        answer = caller("POST", "/sessions/themes/", {**THEME, "url": "https://a.example/"}).json()
        assert answer["secret"].startswith("whsec_")
        assert decrypt(bytes(Theme.objects.get().secret)).decode() == answer["secret"]
        [shown] = caller("GET", "/sessions/themes/").json()["results"]
        assert shown == {**THEME, "handler": None, "url": "https://a.example/"}

    def test_a_repeated_key_answers_the_same_secret_which_lies_encrypted(self, caller: Caller) -> None:
        body = {**THEME, "url": "https://a.example/"}
        answers = [caller("POST", "/sessions/themes/", body, **{"Idempotency-Key": "k"}).json() for _ in range(2)]
        assert answers[0] == answers[1]
        assert answers[0]["secret"].encode() not in bytes(IdempotencyRecord.objects.get().answer)

    @pytest.mark.parametrize(
        ("edit", "field"),
        [
            ({}, "handler"),
            ({"handler": "test", "url": "https://a.example/"}, "url"),
            ({"handler": "unheard"}, "handler"),
            ({"url": "ftp://a.example/"}, "url"),
            ({"url": "https://me@a.example/"}, "url"),
            ({"handler": "test", "theme": -1}, "theme"),
            ({"handler": "test", "theme": 2_000_000_000}, "theme"),
            ({"handler": "test", "timeout": 0}, "timeout"),
            ({"handler": "test", "timeout": "nan"}, "timeout"),
            ({"handler": "test", "repeat_limit": 0}, "repeat_limit"),
            ({"handler": "test", "length_limit": 1}, "length_limit"),
            ({"handler": "test", "delay": -1}, "delay"),
            ({"handler": "test", "jitter": 10**400}, "jitter"),
            ({"handler": "test", "colour": "red"}, "colour"),
        ],
    )
    def test_bad_input_names_the_field(self, caller: Caller, edit: dict[str, Any], field: str) -> None:
        answer = caller("POST", "/sessions/themes/", {**THEME, **edit})
        assert failed(answer) == (400, "invalid", 4000)
        assert field in answer.json()["data"]["fields"]
        assert not Theme.objects.exists()

    def test_a_number_is_taken_once(self, caller: Caller) -> None:
        theme()
        answer = caller("POST", "/sessions/themes/", {**THEME, "handler": "test"})
        assert failed(answer) == (409, "theme_taken", 4000)

    def test_a_change_touches_what_it_names_and_is_logged(self, caller: Caller) -> None:
        theme(delay=10)
        answer = caller("PATCH", "/sessions/themes/7/", {"theme": 7, "delay": 2.5})
        assert (answer.status_code, answer.json()["delay"], answer.json()["handler"]) == (200, 2.5, "test")
        assert ChangeRecord.objects.get(kind="theme").before["delay"] == 10

    def test_a_handler_gives_way_to_a_url_and_back(self, caller: Caller) -> None:
        theme()
        to_url = caller("PATCH", "/sessions/themes/7/", {"handler": None, "url": "https://a.example/"}).json()
        assert to_url["secret"].startswith("whsec_")
        moved = caller("PATCH", "/sessions/themes/7/", {"url": "https://b.example/"}).json()
        assert (moved["url"], "secret" in moved) == ("https://b.example/", False)
        back = caller("PATCH", "/sessions/themes/7/", {"handler": "test", "url": None}).json()
        assert (back["handler"], back["url"], Theme.objects.get().secret) == ("test", None, None)

    @pytest.mark.parametrize("body", [{"handler": None}, {"url": "https://a.example/"}, {"theme": 8}])
    def test_a_change_that_breaks_a_rule_changes_nothing(self, caller: Caller, body: dict[str, Any]) -> None:
        theme()
        assert failed(caller("PATCH", "/sessions/themes/7/", body)) == (400, "invalid", 4000)
        assert Theme.objects.get().handler == "test"

    @pytest.mark.parametrize("number", [8, 2**31, 10**30])
    def test_an_unknown_one_is_not_found(self, caller: Caller, number: int) -> None:
        assert failed(caller("PATCH", f"/sessions/themes/{number}/", {"delay": 1})) == (404, "theme_not_found", 4000)

    def test_one_is_read_by_its_number(self, caller: Caller) -> None:
        theme(delay=10)
        answer = caller("GET", "/sessions/themes/7/")
        assert (answer.status_code, answer.json()["delay"], answer.json()["handler"]) == (200, 10, "test")
        assert failed(caller("GET", "/sessions/themes/8/")) == (404, "theme_not_found", 4000)


class TestDeleteTheme:
    def test_one_without_sessions_goes_and_is_logged(self, caller: Caller) -> None:
        theme(delay=10)
        assert caller("DELETE", "/sessions/themes/7/").status_code == 204
        assert not Theme.objects.exists()
        deleted = ChangeRecord.objects.get(kind="theme")
        assert (deleted.action, deleted.before["delay"], deleted.after) == ("deleted", 10, None)

    def test_one_with_sessions_stays(self, caller: Caller, begin: Any) -> None:
        begin(1)
        assert failed(caller("DELETE", "/sessions/themes/7/")) == (409, "theme_in_use", 4000)
        assert Theme.objects.exists()

    def test_the_product_keeps_its_own(self, caller: Caller) -> None:
        theme(2_000_000_009)
        assert failed(caller("DELETE", "/sessions/themes/2000000009/")) == (409, "theme_in_use", 4000)

    @pytest.mark.parametrize("number", [8, 2**31, 10**30])
    def test_an_unknown_one_is_not_found(self, caller: Caller, number: int) -> None:
        assert failed(caller("DELETE", f"/sessions/themes/{number}/")) == (404, "theme_not_found", 4000)


class TestRotateSecret:
    def test_answers_the_new_one_and_keeps_the_old_for_a_day(self, caller: Caller) -> None:
        first = caller("POST", "/sessions/themes/", {**THEME, "url": "https://a.example/"}).json()["secret"]
        answer = caller("POST", "/sessions/themes/7/rotate-secret/")
        kept = Theme.objects.get()
        assert answer.status_code == 200
        assert decrypt(bytes(kept.secret)).decode() == answer.json()["secret"] != first
        assert decrypt(bytes(kept.old_secret)).decode() == first
        assert timedelta(hours=23) < kept.old_secret_until - timezone.now() <= timedelta(hours=24)

    def test_is_logged_without_a_secret(self, caller: Caller) -> None:
        theme(url="https://a.example/")
        caller("POST", "/sessions/themes/7/rotate-secret/")
        assert set(ChangeRecord.objects.get(kind="theme").after) == {"rotated_at"}

    def test_a_theme_without_a_url_has_none(self, caller: Caller) -> None:
        theme()
        assert failed(caller("POST", "/sessions/themes/7/rotate-secret/")) == (409, "nothing_to_sign", 4000)

    def test_one_that_gets_a_handler_forgets_both(self, caller: Caller) -> None:
        theme(url="https://a.example/")
        caller("POST", "/sessions/themes/7/rotate-secret/")
        assert caller("PATCH", "/sessions/themes/7/", {"handler": "test", "url": None}).status_code == 200
        assert (Theme.objects.get().secret, Theme.objects.get().old_secret) == (None, None)
