from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Open, sign_in
from tests.browser.watch import sideways
from tests.faults.wait import wait_until

PAGES = (
    "/admin/",
    "/admin/notifications/alert/",
    "/admin/notifications/alert/1/change/",
    "/admin/notifications/alert/1/mute/",
    "/admin/notifications/rung/",
    "/admin/notifications/rung/1/change/",
    "/admin/notifications/delivery/",
    "/admin/notifications/delivery/?status=dead&age=24h",
    "/admin/notifications/delivery/1/change/",
    "/admin/notifications/delivery/1/resend/",
    "/admin/notifications/delivery/dead/",
    "/admin/notifications/event/",
    "/admin/notifications/event/5/change/",
    "/admin/notifications/follower/",
    "/admin/notifications/incident/",
    "/admin/notifications/incident/1/change/",
    "/admin/notifications/incident/1/dismiss/",
    "/admin/notifications/repeatsession/",
    "/admin/notifications/repeatsession/1/change/",
    "/admin/notifications/theme/",
    "/admin/records/accesskey/",
    "/admin/records/accesskey/add/",
    "/admin/records/changerecord/",
    "/admin/records/changerecord/1/change/",
    "/admin/records/logentry/",
    "/admin/messaging/message/",
    "/admin/exchange/exchangeprocess/",
    "/admin/exchange/exchangeprocess/doubt/",
    "/admin/exchange/exchangeprocess/statistics/",
    "/admin/workflows/workflowdefinition/",
    "/admin/workflows/workflowdefinition/lost-sensor/change/",
    "/admin/workflows/workflowinstance/",
    "/admin/workflows/workitem/",
    "/admin/coordination/appevent/",
    "/admin/coordination/appevent/8/change/",
    "/admin/django_celery_beat/periodictask/",
    "/admin/django_celery_beat/periodictask/1/change/",
    "/admin/django_celery_beat/crontabschedule/add/?_popup=1",
    "/admin/auth/user/",
    "/admin/auth/user/add/",
    "/admin/auth/user/1/change/",
    "/admin/auth/user/1/password/",
    "/admin/auth/user/?is_active__exact=1",
    "/admin/auth/group/",
    "/admin/auth/group/add/",
    "/admin/password_change/",
    "/api/v1/docs/",
)


class TestEveryPage:
    def test_keeps_to_its_policy_its_host_and_its_width(
        self, open_page: Open, admin_session: Path, address: str
    ) -> None:
        page = open_page(storage_state=admin_session)
        too_wide = []
        for path in PAGES:
            page.set_viewport_size(DESKTOP)
            page.goto(f"{address}{path}", wait_until="networkidle")
            assert page.url == f"{address}{path}"
            for window in (DESKTOP, PHONE):
                page.set_viewport_size(window)
                # A chart follows a moment after its window.
                if not wait_until(lambda: sideways(page) <= 0, 20):
                    too_wide.append((path, window["width"]))
        assert too_wide == []


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
        page.locator("h1").locator("xpath=..").locator("span.cursor-pointer").click()
        page.click("#nav-sidebar-apps >> text=Incidents")
        expect(page.locator("h1")).to_contain_text("Incidents")

    def test_a_viewer_finds_no_way_to_the_keys(self, open_page: Open, address: str) -> None:
        page = open_page()
        sign_in(page, address, name="vera", password="vera-password")
        assert "Access keys" not in page.locator("body").inner_text()
