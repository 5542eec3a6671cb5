"""Lists and pages that follow their rows. Named to come late: what it resolves, the tests of every page look at."""

import re
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.exchange import Exchange
from tests.browser.test_live import LOST, Mute, call


def open_watched(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".pst-watch")).to_have_text("live")
    page.evaluate("window.isTheSame = true")


class TestWatchedRows:
    def test_a_sensors_page_follows_its_sensor_and_keeps_what_is_typed(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/")
        call(admin_page, address, "sensors/", {"id": "Watched1", "address": "1 Watch Street"})
        admin_page.goto(f"{address}/admin/sensors/sensor/Watched1/change/")
        expect(admin_page.locator(".pst-watch")).to_have_text("live")
        admin_page.fill("#id_notes", "being typed")
        admin_page.locator("h1").click()
        call(admin_page, address, "signals/", {"sensor_id": "Watched1", "data": 1})
        expect(admin_page.locator(".pst-facts")).to_contain_text("open")
        assert admin_page.locator("#id_notes").input_value() == "being typed"

    def test_the_pages_of_a_delivery_and_of_a_change_set_move(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/")
        made = {"name": "Watched", "url": "http://192.0.2.1/watched"}
        client = call(admin_page, address, "clients/", made)["id"]
        call(admin_page, address, "sensors/", {"id": "Watched2", "address": "2 Watch Street", "clients": [client]})
        call(admin_page, address, "signals/", {"sensor_id": "Watched2", "data": 1})
        [delivery] = call(admin_page, address, f"clients/{client}/deliveries/", method="GET")["results"]
        open_watched(admin_page, f"{address}/admin/notifications/delivery/{delivery['id']}/change/")
        expect(admin_page.locator("#content")).to_contain_text("pending")
        call(admin_page, address, f"clients/{client}/", {"active": False}, method="PATCH")
        expect(admin_page.locator("#content")).to_contain_text("cancelled")
        assert admin_page.evaluate("window.isTheSame")

        change_sets = call(admin_page, address, "coordination/events/", method="GET")["results"]
        failed = next(each["id"] for each in change_sets if each["status"] == "CompensationFailed")
        open_watched(admin_page, f"{address}/admin/coordination/appevent/{failed}/change/")
        accepted = {"action": "accept", "reason": "the boxes are right"}
        call(admin_page, address, f"coordination/events/{failed}/resolve/", accepted)
        expect(admin_page.locator("#content")).to_contain_text("the boxes are right")
        assert admin_page.evaluate("window.isTheSame")

    def test_a_list_shows_a_new_row_and_says_when_the_line_is_lost(self, admin_page: Page, address: str) -> None:
        mute = Mute()
        admin_page.route_web_socket("**/ws/dashboard/**", mute.pass_on)
        admin_page.goto(f"{address}/admin/exchange/exchangeprocess/")
        exchange = Exchange(admin_page, address, "listed")
        expect(admin_page.locator(".pst-watch")).to_have_text("live")
        exchange.send("m1")
        process = exchange.start()
        row = admin_page.locator("#result_list .data-row", has=admin_page.locator(f'a[href*="{process}"]'))
        expect(row).to_contain_text("started")
        exchange.step(process, "interrupt", text="enough")
        expect(row).to_contain_text("interrupted")
        mute.is_on = True
        expect(admin_page.locator(".pst-watch")).to_have_text(LOST, timeout=45_000)

    def test_the_time_of_a_lost_line_is_in_the_zone_of_the_viewer(
        self, admin_page: Page, open_page: Open, admin_session: Path, address: str
    ) -> None:
        admin_page.goto(f"{address}/admin/")
        zone = admin_page.locator(".pst-start").get_attribute("data-zone") or ""
        mute = Mute()
        page = open_page(storage_state=admin_session, timezone_id="Asia/Kathmandu")  # 5:45 h ahead of UTC
        page.route_web_socket("**/ws/dashboard/**", mute.pass_on)
        page.goto(f"{address}/admin/exchange/exchangeprocess/")
        expect(page.locator(".pst-watch")).to_have_text("live")
        mute.is_on = True
        words = re.compile(r"showing \d\d:(\d\d):\d\d$")
        expect(page.locator(".pst-watch")).to_have_text(words, timeout=45_000)
        found, now = words.search(page.locator(".pst-watch").inner_text()), datetime.now(ZoneInfo(zone))
        assert found is not None
        assert (now.minute - int(found[1])) % 60 < 5
