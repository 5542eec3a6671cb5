from playwright.sync_api import Page, expect

from tests.browser.accessibility import find_violations
from tests.browser.conftest import PHONE

DEFINITIONS = "admin/workflows/workflowdefinition"
IS_WIDER = "document.documentElement.scrollWidth > window.innerWidth"


class TestDecisionTables:
    def test_a_table_is_written_by_keyboard_tried_and_changed(self, admin_page: Page, address: str) -> None:
        page = admin_page
        page.goto(f"{address}/{DEFINITIONS}/new-table/")
        page.locator("input[name=key]").fill("shipping")
        grid = page.locator("[data-grid]")
        grid.locator("[data-cell='inputs.head.0']").fill("weight")
        grid.locator("[data-row='0'] [data-cell='inputs.0']").fill("< 5")
        grid.locator("[data-row='0'] [data-cell='outputs.0']").fill('"letter"')
        page.keyboard.press("Enter")
        expect(grid.locator("[data-row='1'] [data-cell='inputs.0']")).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.type("> 5")
        page.keyboard.press("Tab")
        page.keyboard.type('"parcel"')
        page.keyboard.press("Alt+ArrowUp")
        moved = grid.locator("[data-row='0'] [data-cell='outputs.0']")
        expect(moved).to_be_focused()
        expect(moved).to_have_value('"parcel"')
        assert find_violations(page) == []

        page.get_by_role("button", name="Publish").click()
        expect(page.locator("body")).to_contain_text("revision 1.")
        # The linter has seen what nobody meant.
        expect(page.locator("body")).to_contain_text("No rule matches weight = 5")
        page.locator("input[name='value.weight']").fill("3")
        page.get_by_role("button", name="Try").click()
        expect(page.locator(".pst-matched")).to_contain_text("letter")
        assert find_violations(page) == []

        page.get_by_role("link", name="Edit the table").click()
        page.locator("[data-row='0'] [data-cell='inputs.0']").fill(">= (")
        page.get_by_role("button", name="Publish").click()
        expect(page.locator("body")).to_contain_text("The entry “>= (” cannot be read")
        page.set_viewport_size(PHONE)
        assert not page.evaluate(IS_WIDER)
        page.locator("[data-row='0'] [data-cell='inputs.0']").fill(">= 5")
        page.get_by_role("button", name="Add an output").click()
        expect(page.locator("[data-cell='outputs.head.1']")).to_be_focused()
        page.keyboard.type("price")
        page.get_by_role("button", name="Publish").click()
        expect(page.locator("body")).to_contain_text("revision 2.")
        expect(page.locator("body")).not_to_contain_text("No rule matches")
        assert not page.evaluate(IS_WIDER)
