import time
from typing import Any

import pytest
from django.test import Client

from config.access import failed_keys as module
from config.access.failed_keys import FailedKeys
from config.access.keys import create_key
from config.common.key_text import make_key

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PAGE = "/api/v1/sensors/"
MINUTE = 1_800_000_000.0


@pytest.fixture(autouse=True)
def _counts_of_one_test(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.FAILED_KEY_RATE = 2
    monkeypatch.setattr("config.access.authentication.failed_keys", FailedKeys())
    monkeypatch.setattr(time, "time", lambda: MINUTE + 10)


def call(text: str, address: str = "192.0.2.1") -> Any:
    return Client().get(PAGE, headers={"Authorization": f"Bearer {text}"}, REMOTE_ADDR=address)


def wrong() -> str:
    return make_key("service").text


def right() -> str:
    return create_key(name="k", actor="test", scopes=["registry:read"])[1]


class TestFailedKeys:
    def test_past_the_rate_wrong_keys_are_refused_without_a_query(self, django_assert_num_queries: Any) -> None:
        assert [call(wrong()).status_code for _ in range(2)] == [401, 401]
        with django_assert_num_queries(0):
            refused = call(wrong())
        assert (refused.status_code, refused.json()["code"], refused.headers["Retry-After"]) == (429, "throttled", "50")

    def test_the_next_minute_begins_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for _ in range(3):
            call(wrong())
        monkeypatch.setattr(time, "time", lambda: MINUTE + 60)
        assert call(wrong()).status_code == 401

    def test_a_key_that_was_right_goes_on_and_one_that_ends_does_not(self) -> None:
        known, new = right(), right()
        assert call(known).status_code == 200
        for _ in range(3):
            call(wrong())
        assert [call(known).status_code, call(new).status_code] == [200, 429]

    @pytest.mark.parametrize(
        ("one", "other", "shared"),
        [
            ("192.0.2.1", "192.0.2.2", False),
            ("2001:db8::1", "2001:db8::ffff:1", True),
            ("2001:db8::1", "2001:db8:0:1::1", False),
            ("::ffff:192.0.2.1", "192.0.2.1", True),
        ],
    )
    def test_each_address_has_its_own_and_a_network_of_ipv6_is_one(self, one: str, other: str, shared: bool) -> None:
        for _ in range(3):
            call(wrong(), one)
        assert call(wrong(), other).status_code == (429 if shared else 401)

    def test_what_cannot_be_a_key_costs_nobody_anything(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            assert call("nonsense").status_code == 401

    def test_remembers_so_many_right_keys_and_no_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_KNOWN", 2)
        keys = FailedKeys()
        for text in ("a", "b", "a", "c"):
            keys.note_right(text)
        assert [module._digest(text) in keys._known for text in "abc"] == [True, False, True]
