"""What a page offers to a viewer is not refused to them: its links, its forms and the actions of its list.

The table of pages is that of the benchmark, made from the URL resolver; a viewer is refused most of what can be done.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.db import connection, connections, transaction
from django.test import Client
from django.urls import Resolver404, resolve

from bench.page_addresses import Page, admin_pages
from bench.page_calls import read_first
from bench.volume.fill import fill
from bench.volume.sizes import Sizes
from tests.notifications.alerts import two_rungs
from tests.staff import signed_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.django_db(databases="__all__"),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the rows are made on PostgreSQL"),
]

ROWS = 2
NOT_TAKEN = frozenset({"logout", "set_language", "sensors_client_ping"})
"""Whoever has left is shown nothing more; and nothing is sent from here."""
REFUSED = frozenset({403, 405})


@dataclass
class Offer:
    """A link, or a form with what its fields hold."""

    method: str
    address: str
    fields: dict[str, str] = field(default_factory=dict)


class Offers(HTMLParser):
    """Collects what can be clicked on a page; a list's action is offered like a form of its own."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Offer] = []
        self._form: Offer | None = None
        self._is_sent = False
        """Whether the form has a button: one that only shows what it holds offers nothing."""
        self._is_in_actions = False
        self._actions: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        match tag:
            case "a" if given.get("href"):
                self.found.append(Offer("GET", given["href"]))
            case "form":
                self._form, self._actions = Offer(given.get("method", "get").upper(), given.get("action", "")), []
                self._is_sent = False
            case "button" if not given.get("name"):
                self._is_sent |= is_sending(given)
            case "input" | "button" if self._form is not None and given.get("name"):
                self._is_sent |= (tag == "button" and is_sending(given)) or given.get("type") == "submit"
                if given.get("type") in ("hidden", "submit", "checkbox"):
                    self._form.fields.setdefault(given["name"], given.get("value", ""))
                if "formaction" in given:
                    self.found.append(Offer("POST", given["formaction"], self._form.fields))
            case "select":
                self._is_in_actions = given.get("name") == "action"
            case "option" if self._is_in_actions and given.get("value"):
                self._actions.append(given["value"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._is_in_actions = False
        if tag == "form" and self._form is not None and self._is_sent:
            chosen = [{"action": action} for action in self._actions] or [{}]
            self.found += [Offer(self._form.method, self._form.address, self._form.fields | each) for each in chosen]
        if tag == "form":
            self._form = None


def is_sending(button: Mapping[str, str]) -> bool:
    return button.get("type", "submit") == "submit" and not any(name.startswith(("x-on", "@")) for name in button)


def test_nothing_that_a_page_offers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # The one connection of the test has all rows in its transaction.
    monkeypatch.setattr("config.common.web.streaming.release_connections", lambda broken: None)
    for each in connections.all():
        with each.cursor() as cursor:
            cursor.execute("SET idle_in_transaction_session_timeout = 0")
    two_rungs()  # those of the migration are gone with the rows of an earlier test
    fill(Sizes.all_of(ROWS))
    pages = [page for page in admin_pages() if page.address and not page.is_download]
    refused = list(find_refused(signed_in("viewer"), pages))
    assert not refused, "\n".join(refused)


def find_refused(browser: Client, pages: list[Page]) -> Iterator[str]:
    tried: set[tuple[str, ...]] = set()
    for page in pages:
        shown = open_page(browser, page.address)
        for offer in Offers(shown).found if shown else ():
            address = urljoin(page.address, offer.address)
            route = find_route(address)
            key = (offer.method, route, offer.fields.get("action", ""), *sorted(offer.fields))
            if route and key not in tried:
                tried.add(key)
                status = take(browser, offer.method, address, offer.fields)
                if status in REFUSED:
                    yield f"{page.address} offers {offer.method} {address} {offer.fields.get('action', '')}: {status}"


def open_page(browser: Client, address: str) -> str:
    """Return the page as this person has it; empty where they may not open it, or it is none."""
    with transaction.atomic():
        answer = browser.get(address)
        transaction.set_rollback(True)
    is_page = answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html")
    return answer.content.decode() if is_page else ""


def find_route(address: str) -> str:
    """Return the route of an address of ours that leads somewhere; empty for any other."""
    if urlsplit(address).netloc:
        return ""
    try:
        found = resolve(urlsplit(address).path)
    except Resolver404:
        return ""
    return "" if found.url_name in NOT_TAKEN else str(found.route)


def take(browser: Client, method: str, address: str, fields: Mapping[str, str]) -> int:
    """Follow a link, or send a form as it stands: one that lacks something is shown again, which is no refusal."""
    with transaction.atomic():
        answer: Any = browser.get(address) if method == "GET" else browser.post(address, fields)
        read_first(answer)
        transaction.set_rollback(True)
    return int(answer.status_code)


class TestOffers:
    def test_are_links_forms_and_the_actions_of_a_list(self) -> None:
        page = (
            '<a href="/x/">x</a><form method="post" action="/y/"><input type="hidden" name="a" value="1">'
            '<button name="b" value="2" formaction="/z/">z</button></form><form method="post">'
            '<select name="action"><option value="">-</option><option value="mute">Mute</option></select>'
            '<button>Run</button></form><form method="post" action="/shown/"><button type="button">x</button></form>'
        )
        assert [(offer.method, offer.address, offer.fields) for offer in Offers(page).found] == [
            ("GET", "/x/", {}),
            ("POST", "/z/", {"a": "1"}),
            ("POST", "/y/", {"a": "1"}),
            ("POST", "", {"action": "mute"}),
        ]


def test_what_is_refused_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.open_page", lambda *_: '<a href="../records/accesskey/">Access keys</a>')
    refused = list(find_refused(signed_in("viewer"), [Page("admin/auth/", "/admin/auth/")]))
    assert refused == ["/admin/auth/ offers GET /admin/records/accesskey/ : 403"]
