import re
from pathlib import Path

from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import PHONE, Open
from tests.browser.exchange import Exchange
from tests.browser.watch import sideways

FILTER = "tile => getComputedStyle(tile.closest('.pst-card')).filter"


class Mute:
    """Lines between pages and the server that carry nothing while it is on."""

    is_on = False

    def pass_on(self, line: WebSocketRoute) -> None:
        server = line.connect_to_server()
        server.on_message(lambda text: None if self.is_on else line.send(text))


class TestExchangePanel:
    def test_shows_a_process_as_it_moves_without_a_reload(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/")
        exchange = Exchange(admin_page, address, "live")
        expect(admin_page.locator("[data-connection]")).to_have_text("live")
        expect(admin_page.locator("[data-when=idle]")).to_be_visible()
        admin_page.evaluate("window.isTheSame = true")
        exchange.send("m1")
        exchange.send("m2")
        process = exchange.start()
        row = admin_page.locator(f"#process-{process}")
        expect(row).to_have_attribute("data-status", "STARTED")
        expect(row).to_contain_text("ERP of live")
        expect(row.locator("[data-field=messages]")).to_have_text("2")
        exchange.prepare(process, "m1", "m2")
        expect(admin_page.locator(f"[data-list=live] #process-{process}")).to_contain_text("ready to commit")
        exchange.step(process, "commit")
        expect(admin_page.locator(f"[data-list=ended] #process-{process}")).to_contain_text("done")
        expect(admin_page.locator("[data-when=idle]")).to_be_visible()
        assert admin_page.evaluate("window.isTheSame")

    def test_is_there_before_the_script_and_fits_a_phone(
        self, admin_page: Page, open_page: Open, admin_session: Path, address: str
    ) -> None:
        admin_page.goto(f"{address}/admin/")
        exchange = Exchange(admin_page, address, "still")
        exchange.send("m1")
        process = exchange.start()
        page = open_page(storage_state=admin_session, viewport=PHONE, java_script_enabled=False)
        page.goto(f"{address}/admin/")
        expect(page.locator(f"#process-{process}")).to_contain_text("started")
        expect(page.locator("[data-connection]")).to_contain_text("as of")
        phone = open_page(storage_state=admin_session, viewport=PHONE)
        phone.goto(f"{address}/admin/")
        expect(phone.locator("[data-connection]")).to_have_text("live")
        assert sideways(phone) <= 0
        exchange.step(process, "interrupt", text="enough")

    def test_connects_again_when_the_line_is_cut(self, admin_page: Page, address: str) -> None:
        lines: list[WebSocketRoute] = []

        def pass_on(line: WebSocketRoute) -> None:
            lines.append(line)
            line.connect_to_server()

        admin_page.route_web_socket("**/ws/dashboard/", pass_on)
        admin_page.goto(f"{address}/admin/")
        state = admin_page.locator("[data-connection]")
        expect(state).to_have_text("live")
        lines[0].close(code=1012)
        expect(state).to_have_text("reconnecting…")
        expect(state).to_have_text("live")
        assert len(lines) == 2

    def test_greys_and_says_since_when_after_ten_seconds_of_silence_and_recovers(
        self, admin_page: Page, open_page: Open, admin_session: Path, address: str
    ) -> None:
        mute = Mute()
        phone = open_page(storage_state=admin_session, viewport=PHONE)
        for page in (admin_page, phone):
            page.route_web_socket("**/ws/dashboard/", mute.pass_on)
            page.goto(f"{address}/admin/")
            expect(page.locator("[data-connection]")).to_have_text("live")
        mute.is_on = True
        for page in (admin_page, phone):
            words = re.compile(r"^connection lost, showing \d\d:\d\d:\d\d$")
            expect(page.locator(".pst-lost")).to_have_text(words, timeout=45_000)
            assert page.locator(".pst-tile").first.evaluate(FILTER) == "grayscale(1)"
            assert sideways(page) <= 0
        mute.is_on = False
        for page in (admin_page, phone):
            expect(page.locator("[data-connection]")).to_have_text("live")
            expect(page.locator(".pst-lost")).to_be_hidden()
            assert page.locator(".pst-tile").first.evaluate(FILTER) == "none"

    def test_stays_live_by_heartbeats_while_nothing_happens(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/")
        expect(admin_page.locator("[data-connection]")).to_have_text("live")
        admin_page.wait_for_timeout(14_000)
        assert admin_page.locator("[data-connection]").inner_text() == "live"
        assert admin_page.locator(".pst-lost").is_hidden()
