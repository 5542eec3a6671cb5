from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import find_violations, shift_of
from tests.browser.conftest import DESKTOP, PHONE, Open, sign_in
from tests.browser.watch import sideways
from tests.faults.wait import wait_until

MOST_SHIFT = 0.1
NAME = """() => {
    const copy = document.activeElement.cloneNode(true);
    copy.querySelectorAll("[aria-hidden=true]").forEach((hidden) => hidden.remove());
    return document.activeElement.getAttribute("aria-label") || copy.textContent.trim();
}"""
MOVING = (
    "/admin/",
    "/admin/coordination/appevent/",
    "/admin/exchange/exchangeprocess/",
    "/admin/notifications/delivery/",
    "/admin/sensors/sensor/",
    "/admin/workflows/workflowinstance/",
)
"""Pages that news reach after they are there: looked at once they are quiet."""
ASKED = (
    "/admin/notifications/delivery/?status=dead&age=24h",
    "/admin/explain/?delivery=1",
    "/admin/explain/?change_set=8",
    "/admin/trace/?of=sensor/Depot7",
    "/admin/workflows/workflowdefinition/exchange-in-doubt/shadow/?difference=1",
    "/admin/workflows/workflowdefinition/sensor-installation/change/?heat=often&period=all",
    "/admin/workflows/workflowdefinition/inspection/scenarios/",
    "/admin/workflows/workflowdefinition/tariff/change/",
    "/admin/workflows/workflowdefinition/tariff/table/",
    "/admin/sensors/sensor/Gate17/change/?at=2020-06-01T00:00:00Z",
    "/admin/django_celery_beat/crontabschedule/add/?_popup=1",
    "/admin/auth/user/?is_active__exact=1",
    "/api/v1/docs/",
)
"""Pages that look otherwise by what is asked of them, beside those of the URL table."""

DRAWN = """() => document.fonts.ready.then(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))"""
IS_TITLE_CUT = """[...document.querySelectorAll("h1, h1 *")].some((part) => part.scrollWidth > part.clientWidth + 1
    && getComputedStyle(part).display !== "inline" && !part.matches(".material-symbols-outlined"))"""


class TestEveryPage:
    @pytest.mark.timeout(900)
    def test_keeps_to_its_policy_its_host_its_width_its_place_and_to_wcag(
        self, open_page: Open, admin_session: Path, address: str, every_page: list[str]
    ) -> None:
        page = open_page(storage_state=admin_session, is_first_visit=True)
        too_wide, violations, shifted = list[tuple[str, object]](), [], []
        # Sessions first: one that succeeds has no page any more.
        for path in dict.fromkeys([*sorted(every_page, key=lambda path: "session" not in path), *MOVING, *ASKED]):
            page.set_viewport_size(DESKTOP)
            page.goto(f"{address}{path}", wait_until="networkidle" if path in MOVING else "load")
            if urlsplit(page.url).path != urlsplit(path).path:
                continue  # it leads to another one of them
            page.evaluate(DRAWN)
            if (shift := shift_of(page)) > MOST_SHIFT:
                shifted.append((path, shift))
            for window in (DESKTOP, PHONE):
                page.set_viewport_size(window)
                # A chart follows a moment after its window.
                if not wait_until(lambda: sideways(page) <= 0, 60):
                    too_wide.append((path, window["width"]))
                # A desk cuts a long title short beside its buttons; a phone would leave two letters of it.
                if window is PHONE and page.evaluate(IS_TITLE_CUT):
                    too_wide.append((path, "title"))
            page.set_viewport_size(DESKTOP)
            if path.startswith("/admin/"):
                violations += [f"{path}: {each}" for each in find_violations(page)]
        assert too_wide == []
        assert shifted == []
        assert violations == []

    def test_what_breaks_a_rule_is_found_in_the_theme_that_breaks_it(self, open_page: Open) -> None:
        page = open_page()
        page.set_content(
            "<html lang=en><title>Title</title><style>p { background: #fff } .dark p { color: #eee }</style>"
            "<p>Words</p><button></button>"
        )
        assert find_violations(page) == ["light: button-name (1): button", "dark: color-contrast (1): p"]


class TestKeyboard:
    def test_reaches_the_content_the_menu_the_filters_and_the_account(
        self, open_page: Open, admin_session: Path, address: str
    ) -> None:
        page = open_page(storage_state=admin_session)
        page.goto(f"{address}/admin/notifications/delivery/", wait_until="networkidle")
        names = tab_through(page, 90)
        assert names[0] == "Skip to the content"
        for name in ("Show or hide the menu", "Filters", "Saved filters", "Export"):
            assert name in names, names
        account = page.locator(".pst-account")
        account.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Time zone")).to_be_visible()
        page.keyboard.press("Escape")
        expect(account).to_be_focused()
        page.get_by_role("button", name="Filters", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.locator("#changelist-filter")).to_be_visible()

    def test_icons_are_no_words(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/notifications/alert/", wait_until="networkidle")
        spoken = ".material-symbols-outlined:not([aria-hidden=true]):not([role=button])"
        assert admin_page.evaluate("spoken => document.querySelectorAll(spoken).length", spoken) == 0


class TestTimeZone:
    def test_is_that_of_the_browser_from_the_first_page_on(self, open_page: Open, address: str) -> None:
        page = open_page(timezone_id="Asia/Tokyo")
        sign_in(page, address, name="tomoko", password="tomoko-password")
        page.goto(f"{address}/admin/notifications/event/", wait_until="networkidle")
        time = page.locator("#result_list time").first
        assert "JST" in time.inner_text()
        assert (time.get_attribute("title") or "").endswith("UTC")


def tab_through(page: Page, times: int) -> list[str]:
    """Press Tab; return the names of what was reached, without the rows of the list."""
    names = []
    for _ in range(times):
        page.keyboard.press("Tab")
        names.append(page.evaluate(NAME))
    return names


class TestStartPage:
    def test_draws_the_events_of_the_day(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/", wait_until="networkidle")
        bars = admin_page.evaluate("Chart.getChart(document.querySelector('canvas.chart')).data.datasets[0].data")
        assert len(bars) == 24
        assert sum(bars) > 100

    def test_names_engines_followers_incidents_and_changes(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}/admin/")
        words = admin_page.locator(".pst-start").inner_text()
        assert all(word in words for word in ("SQLite", "Embedded profile", "workflows", "registry changes"))

    def test_the_language_is_switched_where_one_is(self, open_page: Open, admin_session: Path, address: str) -> None:
        page = open_page(storage_state=admin_session)
        page.goto(f"{address}/admin/notifications/event/?q=sensor:Gate17")
        page.click(".pst-languages button[lang=ru]")
        expect(page).to_have_url(f"{address}/admin/notifications/event/?q=sensor:Gate17")
        expect(page.locator("h1")).to_contain_text("События")

    def test_dark_is_dark(self, open_page: Open, admin_session: Path, address: str) -> None:
        page = open_page(storage_state=admin_session, color_scheme="dark")
        page.goto(f"{address}/admin/", wait_until="networkidle")
        assert page.evaluate("document.documentElement.classList.contains('dark')")

    def test_on_a_phone_the_menu_opens_and_leads_on(self, open_page: Open, admin_session: Path, address: str) -> None:
        page = open_page(storage_state=admin_session, viewport=PHONE)
        page.goto(f"{address}/admin/", wait_until="networkidle")
        page.get_by_role("button", name="Show or hide the menu").click()
        page.click("#nav-sidebar-apps >> text=Incidents")
        expect(page.locator("h1")).to_contain_text("Incidents")

    def test_a_viewer_finds_no_way_to_the_keys(self, open_page: Open, address: str) -> None:
        page = open_page()
        sign_in(page, address, name="vera", password="vera-password")
        assert "Access keys" not in page.locator("body").inner_text()
