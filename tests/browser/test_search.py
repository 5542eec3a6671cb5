"""The search for anything, and the way from what it finds to the trace."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Open
from tests.browser.watch import sideways

SENSOR = "/admin/sensors/sensor/Depot7/change/"
FIELD = "#search-input-command"


class TestSearch:
    def test_a_slash_a_sensor_s_id_and_enter_lead_to_it_and_on_to_its_trace(
        self, admin_page: Page, address: str
    ) -> None:
        page = admin_page
        page.goto(f"{address}/admin/notifications/alert/", wait_until="networkidle")
        page.keyboard.press("/")
        expect(page.locator(FIELD)).to_be_focused()
        # Enter comes before the answers do: it counts once they are there.
        page.keyboard.type("Depot7")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{address}{SENSOR}")
        page.click(".pst-search-button:has-text('Trace')")
        page.wait_for_url(re.compile(r"/admin/trace/\?id="))
        expect(page.locator("#upcoming")).to_contain_text("next attempt")
        expect(page.locator(".pst-trace-step[data-lane=delivery] a").first).to_be_visible()

    def test_answers_are_chosen_by_the_keyboard_and_escape_gives_the_page_back(
        self, admin_page: Page, address: str
    ) -> None:
        page = admin_page
        page.goto(f"{address}/admin/sensors/sensor/", wait_until="networkidle")
        page.focus("#searchbar")
        page.keyboard.type("a/b")
        expect(page.locator(FIELD)).to_be_hidden()
        page.click(".pst-search-button")
        expect(page.locator(FIELD)).to_be_focused()
        page.keyboard.type("depot")
        chosen = page.locator("[role=option][aria-selected=true]")
        expect(chosen).to_contain_text("Depot")
        expect(page.locator("[role=group]")).to_have_count(2)
        first = chosen.inner_text()
        page.keyboard.press("ArrowDown")
        expect(chosen).not_to_have_text(first)
        page.keyboard.press("Escape")
        expect(page.locator(FIELD)).to_be_hidden()
        expect(page.locator(".pst-search-button")).to_be_focused()

    def test_on_a_phone_it_is_reached_and_fits(self, open_page: Open, admin_session: Path, address: str) -> None:
        page = open_page(storage_state=admin_session, viewport=PHONE)
        page.goto(f"{address}{SENSOR}", wait_until="networkidle")
        page.click(".pst-search-button[aria-haspopup]")
        expect(page.locator(FIELD)).to_be_focused()
        page.keyboard.type("no such thing")
        expect(page.locator("#command-results")).to_contain_text("No results")
        assert sideways(page) <= 0
        page.keyboard.press("Escape")
        page.click(".pst-search-button >> nth=0")
        page.wait_for_url(re.compile(r"/admin/trace/\?id="))
        assert sideways(page) <= 0
