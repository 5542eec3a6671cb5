"""Instances are found by a filter and changed as one batch: tried out, carried out, undone, by the page alone."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.accessibility import find_violations
from tests.browser.conftest import PHONE, Open
from tests.browser.test_tasks import start, upload
from tests.browser.watch import sideways


class TestBatch:
    def test_leads_from_a_filter_to_the_outcome_and_back(
        self, open_page: Open, admin_session: Path, address: str
    ) -> None:
        page = open_page(storage_state=admin_session)
        upload(page, address)
        for record in ("batch-1", "batch-2"):
            page.goto(f"{address}/admin/workflows/workflowdefinition/order-process/change/")
            start(page, record=record)
        page.goto(f"{address}/admin/workflows/workflowinstance/?definition=order-process&variable=shipper%3Dadmin")
        page.locator("input#action-toggle").first.check()
        page.select_option("select[name=action]", "suspend_chosen")
        page.click("#changelist-actions button[type=submit]")
        other = open_page(storage_state=admin_session, viewport=PHONE)
        other.goto(page.url)
        carry_out = page.locator('button:has-text("Change")')
        expect(carry_out).to_be_visible(timeout=60_000)  # without a reload: the page follows its row
        expect(page.locator("#content")).to_contain_text("would be changed")
        assert sideways(other) <= 0
        assert find_violations(page) == []
        carry_out.click()
        for window in (page, other):
            expect(window.locator("#content")).to_contain_text("have been changed", timeout=60_000)
        page.click('.pst-card a:has-text("Undo")')
        page.fill("#id_reason", "too early")
        page.click('form button[type=submit]:has-text("Undo")')
        for window in (page, other):
            expect(window.locator("#content")).to_contain_text("have been returned", timeout=60_000)
