import re

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.skipif(
    not settings.MODELER_ASSETS.is_dir(), reason="the modeler is not there: `make assets` says why"
)


class TestDrawing:
    def test_a_process_is_drawn_saved_mended_and_published(self, admin_page: Page, address: str) -> None:
        page = admin_page
        page.goto(f"{address}/admin/workflows/workflowdefinition/")
        page.get_by_role("link", name="Draw", exact=True).click()
        expect(page.locator("[data-modeler]")).to_have_attribute("data-ready", "")
        # The licence of the library asks for its mark to be seen.
        expect(page.locator(".bjs-powered-by")).to_be_visible()

        page.locator("g.djs-element[data-element-id=start]").click()
        page.locator(".djs-context-pad [data-action='append.append-task']").click()
        page.keyboard.type("Check the order")
        page.locator("[data-canvas]").click(position={"x": 500, "y": 60})
        expect(page.locator("[data-state]")).to_have_text("Saved")
        expect(page.locator("[data-problems]")).to_have_text("This drawing can be published.")
        expect(page).to_have_url(re.compile("/change/$"))

        page.reload()
        drawn = page.locator("g.djs-element.djs-shape", has_text="Check the")
        drawn.click()
        page.locator(".djs-context-pad [data-action='replace']").click()
        page.locator(".djs-popup-body [data-id='replace-with-service-task']").click()
        handler = page.locator("[data-handler]")
        handler.locator("select[name=handler]").select_option("alert")
        handler.locator("textarea").fill("title = ''Order'")
        handler.locator("textarea").blur()
        expect(page.locator("[data-problems] li")).to_contain_text("Check the order")
        expect(page.locator(".pst-problem")).to_be_visible()
        expect(page.locator("[data-state]")).to_have_text("Saved")

        handler.locator("textarea").fill("title = 'An order came'")
        handler.locator("textarea").blur()
        expect(page.locator("[data-problems]")).to_have_text("This drawing can be published.")
        page.get_by_role("link", name="Publish").click()
        page.get_by_role("button", name="Publish").click()
        expect(page.locator("body")).to_contain_text("revision 1.")
        expect(page.locator(".pst-diagram img")).to_be_visible()
