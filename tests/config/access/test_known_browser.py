from datetime import UTC, datetime, timedelta
from typing import Any

import time_machine
from django.conf import settings
from django.http import HttpRequest

from config.access.known_browser import KNOWN_DAYS, MOST_CHARACTERS, find_known_browser, name_visitor, remember_browser

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def after_sign_in(name: str, request: HttpRequest | None = None) -> HttpRequest:
    """Return the next call of a browser that has signed in, for the first time or by the given call."""
    request = request or HttpRequest()
    remember_browser(request, name)
    following = HttpRequest()
    following.COOKIES[settings.KNOWN_BROWSER_COOKIE_NAME] = request._known_browser  # type: ignore[attr-defined]
    return following


class TestFindKnownBrowser:
    def test_a_browser_stays_the_same_when_it_signs_in_again(self) -> None:
        first = after_sign_in("olga")
        again = after_sign_in("olga", first)
        assert find_known_browser(again, "olga") == find_known_browser(first, "olga") is not None

    def test_two_browsers_are_two(self) -> None:
        assert len({find_known_browser(after_sign_in("olga"), "olga") for _ in range(2)} - {None}) == 2

    def test_it_is_a_stranger_when_so_many_days_have_passed(self) -> None:
        with time_machine.travel(AT, tick=False):
            request = after_sign_in("olga")
        with time_machine.travel(AT + timedelta(days=KNOWN_DAYS), tick=False):
            assert find_known_browser(request, "olga") is not None
        with time_machine.travel(AT + timedelta(days=KNOWN_DAYS, seconds=1), tick=False):
            assert find_known_browser(request, "olga") is None

    def test_a_cookie_that_is_longer_than_ours_is_not_looked_at(self) -> None:
        name = "o" * MOST_CHARACTERS
        assert find_known_browser(after_sign_in(name), name) is None
        assert find_known_browser(after_sign_in("o" * 150), "o" * 150) is not None


class TestNameVisitor:
    def test_a_stranger_counts_for_its_network(self) -> None:
        found = [name_visitor(_scope(address)) for address in ("192.0.2.7", "192.0.2.8", "2001:db8::1")]
        assert found == ["192.0.2.7", "192.0.2.8", "2001:db8::/64"]

    def test_a_browser_that_has_signed_in_counts_for_itself_wherever_it_is(self) -> None:
        request = after_sign_in("olga")
        found = {name_visitor(_scope(address, request)) for address in ("192.0.2.7", "192.0.2.8")}
        assert found == {f"browser {find_known_browser(request, 'olga')}"}


def _scope(address: str, request: HttpRequest | None = None) -> Any:
    cookies = request.COOKIES if request else {"theme": "dark"}
    text = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return {"headers": [(b"cookie", text.encode())], "client": (address, 5000)}
