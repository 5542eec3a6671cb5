from typing import Any

import pytest

from config.common.web.limits import callers
from config.common.web.limits.callers import KNOWN_SECONDS, KnownCallers, caller_of
from config.common.web.limits.shares import Caller, Standing

KEY = b"Bearer ps_abcdefgh_secret"


def scope(client: tuple[str, int] | None = ("192.0.2.7", 5000), **headers: bytes) -> Any:
    return {"type": "http", "client": client, "headers": [(name.encode(), value) for name, value in headers.items()]}


@pytest.fixture
def known() -> KnownCallers:
    found = KnownCallers()
    found.remember(KEY, "key ps_abcdefgh")
    found.remember(b"sessionid=abc", "account 1")
    return found


class TestCallerOf:
    def test_a_key_that_was_right_has_a_share_of_its_own(self, known: KnownCallers) -> None:
        assert caller_of(scope(authorization=KEY), known) == Caller("key ps_abcdefgh", Standing.KNOWN)

    def test_the_same_prefix_with_another_secret_is_a_stranger(self, known: KnownCallers) -> None:
        sent = scope(authorization=KEY + b"x")
        assert caller_of(sent, known) == Caller("192.0.2.7", Standing.STRANGER)

    def test_a_session_that_was_right_is_known_whatever_else_the_browser_keeps(self, known: KnownCallers) -> None:
        sent = scope(cookie=b"csrftoken=1; sessionid=abc; theme=dark")
        assert caller_of(sent, known) == Caller("account 1", Standing.KNOWN)

    def test_a_session_under_the_name_for_secure_hosts_is_too(self) -> None:
        known = KnownCallers()
        known.remember(b"__Host-sessionid=abc", "account 1")
        assert caller_of(scope(cookie=b"__Host-sessionid=abc"), known).standing is Standing.KNOWN

    def test_a_key_that_nobody_has_looked_at_is_a_stranger_apart_from_others_of_its_address(
        self, known: KnownCallers
    ) -> None:
        sent = scope(authorization=b"Bearer ps_stuvwxyz_" + b"x" * 43)
        assert caller_of(sent, known) == Caller("192.0.2.7 ps_stuvwxyz", Standing.STRANGER)

    def test_without_an_address_all_are_one_stranger(self, known: KnownCallers) -> None:
        assert caller_of(scope(client=None), known) == Caller("", Standing.STRANGER)


class TestKnownCallers:
    def test_are_forgotten_unless_they_are_found_right_again(self) -> None:
        now = [0.0]
        known = KnownCallers(clock=lambda: now[0])
        known.remember(KEY, "anne")
        now[0] = KNOWN_SECONDS - 1
        assert known.find(KEY) == "anne"
        now[0] = KNOWN_SECONDS
        assert known.find(KEY) is None

    def test_are_so_many_and_the_oldest_goes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(callers, "MOST_KNOWN", 2)
        known = KnownCallers()
        for name in ("anne", "ben", "anne", "carl"):
            known.remember(name.encode(), name)
        assert [known.find(name) for name in (b"anne", b"ben", b"carl")] == ["anne", None, "carl"]
