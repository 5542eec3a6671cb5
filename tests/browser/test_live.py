import os
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize, WebSocket, WebSocketRoute, expect

from tests.browser.accessibility import shift_of
from tests.browser.conftest import DESKTOP, PHONE, Open, sign_in
from tests.browser.exchange import Exchange
from tests.browser.test_pages import MOST_SHIFT
from tests.browser.watch import sideways

LOST = re.compile(r"^connection lost, showing \d\d:\d\d:\d\d$")
SIGNALS = max(30, int(float(os.environ.get("DRILL_SCALE", "0.02")) * 120))
PAUSE = 500.0
"""Milliseconds from signal to signal."""
LOOKS: dict[str, tuple[str, ViewportSize]] = {
    "desk": ("", DESKTOP),
    "phone": ("", PHONE),
    "wall": ("?wall=1", {"width": 1920, "height": 1080}),
}
FILTER = "tile => getComputedStyle(tile.closest('.pst-card')).filter"


class Mute:
    """Lines between pages and the server that carry nothing while it is on."""

    is_on = False

    def pass_on(self, line: WebSocketRoute) -> None:
        server = line.connect_to_server()
        server.on_message(lambda text: None if self.is_on else line.send(text))


class Cut:
    """A line between a page and the server that can be cut; while it is, no other is let through."""

    def __init__(self) -> None:
        self.is_cut = False
        self._line: WebSocketRoute | None = None

    def pass_on(self, line: WebSocketRoute) -> None:
        self._line = line
        if self.is_cut:
            line.close(code=1012)
        else:
            line.connect_to_server()

    def cut(self) -> None:
        assert self._line is not None
        self.is_cut = True
        self._line.close(code=1012)


COUNT_TONES = """window.tones = 0;
const make = AudioContext.prototype.createOscillator;
AudioContext.prototype.createOscillator = function () { window.tones += 1; return make.call(this); };"""


def raise_test_alert(page: Page, address: str) -> str:
    """Press the button that raises one; return its number."""
    token = page.locator("[name=csrfmiddlewaretoken]").first.get_attribute("value") or ""
    form: dict[str, str | float | bool] = {"csrfmiddlewaretoken": token}
    path = f"{address}/admin/notifications/rung/test-alert/"
    answer = page.request.post(path, form=form, headers={"Referer": path})
    found = re.search(r"/alert/(\d+)/change/", answer.url)
    assert found is not None, answer.url
    return found[1]


def resolve(page: Page, address: str, alert: str) -> None:
    call(page, address, f"alerts/{alert}/resolve/", {})


def call(page: Page, address: str, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
    """Call the API by the session of a page; return what it answers."""
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies(address)}
    headers = {"X-CSRFToken": cookies["csrftoken"], "Referer": f"{address}/"}
    answer = page.request.fetch(f"{address}/api/v1/{path}", method=method, data=body, headers=headers)
    assert answer.ok, answer.text()
    return answer.json()


def open_start_page(page: Page, address: str, query: str = "") -> None:
    page.goto(f"{address}/admin/{query}")
    expect(page.locator("[data-connection]")).to_have_text("live")
    page.evaluate("window.isTheSame = true")


class TestStartPage:
    def test_a_signal_a_workflow_and_a_change_set_are_seen_as_they_happen(
        self, admin_page: Page, address: str, open_page: Open, admin_session: Path
    ) -> None:
        open_start_page(admin_page, address)
        call(admin_page, address, "sensors/", {"id": "LiveDoor", "address": "9 Live Street"})
        committed = admin_page.locator('[data-rows="changes.newest"] li[data-status=committed]').first
        expect(committed.locator("[data-field=type]")).to_contain_text("sensor")
        call(admin_page, address, "signals/", {"sensor_id": "LiveDoor", "data": 1})
        change = admin_page.locator('[data-rows="sensors.changes"] li').first
        expect(change).to_contain_text("9 Live Street")
        expect(change).to_contain_text("opened")
        expect(admin_page.locator('[data-value="sensors.open"]')).not_to_have_text("–")
        started = {"definition": "sensor-installation", "record": "LiveDoor"}
        instance = call(admin_page, address, "workflows/instances/", started)
        row = admin_page.locator(f'[data-rows="workflows.instances"] li[data-key="{instance["id"]}"]')
        expect(row).to_have_attribute("data-status", "active")
        detail = open_page(storage_state=admin_session)
        detail.goto(f"{address}/admin/workflows/workflowinstance/{instance['id']}/change/")
        expect(detail.locator(".pst-watch")).to_have_text("live")
        call(admin_page, address, f"workflows/instances/{instance['id']}/commands/", {"command": "terminate"})
        expect(row).to_contain_text("terminated")
        expect(detail.locator(".pst-facts")).to_contain_text("terminated")
        assert admin_page.evaluate("window.isTheSame")

    def test_stays_in_its_place_while_doors_move_twice_a_second(
        self, open_page: Open, admin_session: Path, address: str
    ) -> None:
        pages = {}
        for look, (query, viewport) in LOOKS.items():
            pages[look] = open_page(storage_state=admin_session, viewport=viewport)
            open_start_page(pages[look], address, query)
        desk, doors = pages["desk"], [f"Busy{number}" for number in range(5)]
        for door in doors:
            call(desk, address, "sensors/", {"id": door, "address": f"{door} Street"})
        drawn = {look: shift_of(page) for look, page in pages.items()}
        for number in range(SIGNALS):
            call(desk, address, "signals/", {"sensor_id": doors[number % 5], "data": (number // 5 + 1) % 2})
            desk.wait_for_timeout(PAUSE)
        for look, page in pages.items():
            expect(page.locator('[data-rows="sensors.changes"] li').first).to_contain_text(doors[(SIGNALS - 1) % 5])
            assert shift_of(page) - drawn[look] < MOST_SHIFT, look
            assert page.evaluate("window.isTheSame")

    def test_the_last_changes_of_the_registry_come_without_a_reload(self, admin_page: Page, address: str) -> None:
        cut = Cut()
        admin_page.route_web_socket("**/ws/dashboard/", cut.pass_on)
        open_start_page(admin_page, address)
        call(admin_page, address, "sensors/", {"id": "CardDoor", "address": "7 Card Street"})
        cut.cut()
        cut.is_cut = False
        expect(admin_page.locator("#drawn-changes li").first).to_contain_text("CardDoor", timeout=45_000)
        expect(admin_page.locator("#drawn-events canvas")).to_be_visible()
        assert admin_page.evaluate("window.isTheSame")

    def test_a_wall_screen_says_that_it_is_one_and_reloads_once_for_another_version(
        self, admin_page: Page, address: str
    ) -> None:
        lines: list[WebSocket] = []
        admin_page.on("websocket", lambda line: lines.append(line))
        open_start_page(admin_page, address, "?wall=1")
        assert lines[0].url.endswith("/ws/dashboard/?wall=1")

        def update(line: WebSocketRoute) -> None:
            server = line.connect_to_server()
            server.on_message(lambda text: line.send(re.sub(r'"version": ?"[^"]+"', '"version":"99.0"', str(text))))

        admin_page.route_web_socket("**/ws/dashboard/**", update)
        admin_page.goto(f"{address}/admin/?wall=1")
        admin_page.wait_for_function("performance.getEntriesByType('navigation')[0].type === 'reload'")
        admin_page.evaluate("window.isTheSame = true")
        expect(admin_page.locator("[data-connection]")).to_have_text("live")
        admin_page.wait_for_timeout(1000)
        assert admin_page.evaluate("window.isTheSame")

    def test_an_alert_is_acknowledged_in_place(self, admin_page: Page, address: str) -> None:
        open_start_page(admin_page, address)
        row = admin_page.locator(".pst-inbox-row", has=admin_page.locator("[data-acknowledge]:visible")).first
        key = row.get_attribute("data-key")
        row.locator("[data-acknowledge]").click()
        acknowledged = admin_page.locator(f'.pst-inbox-row[data-key="{key}"] [data-acknowledge]:visible')
        expect(acknowledged).to_have_count(0)
        expect(admin_page.locator("[data-refusal]")).to_be_hidden()
        admin_page.reload()
        expect(acknowledged).to_have_count(0)

    def test_a_new_alert_sounds_and_changes_the_title_if_the_viewer_wants_it(
        self, admin_page: Page, address: str
    ) -> None:
        line = Cut()
        admin_page.route_web_socket("**/ws/dashboard/", line.pass_on)
        admin_page.add_init_script(COUNT_TONES)
        open_start_page(admin_page, address)
        title, total = admin_page.title(), admin_page.locator("[data-inbox-total]")
        before = total.inner_text()
        raised = raise_test_alert(admin_page, address)
        expect(total).not_to_have_text(before)
        assert (admin_page.title(), admin_page.evaluate("tones")) == (title, 0)
        admin_page.check("[data-notify]")
        resolve(admin_page, address, raised)
        raised = raise_test_alert(admin_page, address)
        expect(admin_page).to_have_title(f"(1) {title}")
        assert admin_page.evaluate("tones") == 1
        # One that comes while nobody is connected is news too.
        line.cut()
        resolve(admin_page, address, raised)
        raised = raise_test_alert(admin_page, address)
        line.is_cut = False
        expect(admin_page).to_have_title(f"(2) {title}")
        admin_page.locator("h1").click()
        expect(admin_page).to_have_title(title)
        resolve(admin_page, address, raised)

    def test_a_viewer_sees_every_section_and_no_button(self, open_page: Open, address: str) -> None:
        page = open_page()
        sign_in(page, address, name="vera", password="vera-password")
        expect(page.locator("[data-connection]")).to_have_text("live")
        for section in ("inbox", "sensors", "deliveries", "workflows", "sessions", "changes", "runtime"):
            expect(page.locator(f"[data-section={section}]")).to_be_visible()
        expect(page.locator(".pst-inbox-row").first).to_be_visible()
        assert page.locator("[data-acknowledge]").count() == 0

    def test_a_wall_screen_needs_no_mouse(self, open_page: Open, admin_session: Path, address: str) -> None:
        page = open_page(storage_state=admin_session, viewport={"width": 1920, "height": 1080})
        open_start_page(page, address, "?wall=1")
        assert page.evaluate("document.documentElement.classList.contains('dark')")
        assert page.locator("#nav-sidebar, button:visible, input:visible").count() == 0
        assert sideways(page) <= 0
        assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")


class TestExchangePanel:
    def test_shows_a_process_as_it_moves_without_a_reload(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/")
        exchange = Exchange(admin_page, address, "live")
        expect(admin_page.locator("[data-connection]")).to_have_text("live")
        beside = admin_page.locator("[data-list=live] > li").count()
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
        expect(admin_page.locator("[data-list=live] > li")).to_have_count(beside)
        assert admin_page.evaluate("window.isTheSame")

    def test_is_there_before_the_script_and_fits_a_phone(
        self, admin_page: Page, open_page: Open, admin_session: Path, address: str
    ) -> None:
        admin_page.goto(f"{address}/admin/")
        exchange = Exchange(admin_page, address, "still")
        exchange.send("m1")
        process = exchange.start()
        # The page without its script is as old as the last beat of those that follow it.
        admin_page.goto(f"{address}/admin/")
        expect(admin_page.locator(f"#process-{process}")).to_contain_text("started")
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

    def test_a_line_given_up_before_it_is_open_closes_without_a_complaint(self, admin_page: Page, address: str) -> None:
        open_start_page(admin_page, address)
        lines: list[WebSocket] = []
        admin_page.on("websocket", lambda line: lines.append(line))

        admin_page.evaluate("posternSocket({ query: () => '', shown: new Date(), hear() {}, say() {} }).reopen()")

        while len(lines) < 2 or not lines[0].is_closed():
            admin_page.wait_for_timeout(50)
        assert not lines[1].is_closed()

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
            expect(page.locator(".pst-lost")).to_have_text(LOST, timeout=45_000)
            assert page.locator(".pst-tile").first.evaluate(FILTER) == "grayscale(1)"
            assert sideways(page) <= 0
        mute.is_on = False
        for page in (admin_page, phone):
            expect(page.locator("[data-connection]")).to_have_text("live")
            expect(page.locator(".pst-lost")).to_be_hidden()
            assert page.locator(".pst-tile").first.evaluate(FILTER) == "none"

    def test_greys_and_says_since_when_while_no_line_can_be_had_and_recovers(
        self, admin_page: Page, address: str
    ) -> None:
        line = Cut()
        admin_page.route_web_socket("**/ws/dashboard/", line.pass_on)
        open_start_page(admin_page, address)
        tile, lost = admin_page.locator(".pst-tile").first, admin_page.locator(".pst-lost")
        line.cut()
        expect(admin_page.locator("[data-connection]")).not_to_have_text("live")
        admin_page.wait_for_timeout(12_000)
        expect(lost).to_have_text(LOST)
        assert tile.evaluate(FILTER) == "grayscale(1)"
        line.is_cut = False
        expect(admin_page.locator("[data-connection]")).to_have_text("live")
        expect(lost).to_be_hidden()
        assert tile.evaluate(FILTER) == "none"
        assert admin_page.evaluate("window.isTheSame"), "it has not been loaded again"

    def test_stays_live_by_heartbeats_while_nothing_happens(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/")
        expect(admin_page.locator("[data-connection]")).to_have_text("live")
        admin_page.wait_for_timeout(14_000)
        assert admin_page.locator("[data-connection]").inner_text() == "live"
        assert admin_page.locator(".pst-lost").is_hidden()
