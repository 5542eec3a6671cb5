"""History on the page of a sensor, looked at with the keyboard and with the pointer."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.test_registry import import_table


def shown_seconds(page: Page) -> int:
    """Return how long the period is that the page shows."""
    card = page.locator("[data-history]")
    return int(card.get_attribute("data-to") or 0) - int(card.get_attribute("data-from") or 0)


class TestHistory:
    def test_is_zoomed_by_key_and_pointer_downloaded_and_shown_as_of_a_time(
        self, admin_page: Page, address: str, tmp_path: Path
    ) -> None:
        page = admin_page
        import_table(page, address, tmp_path, "id,address\nHistory1,Here\n")
        page.goto(f"{address}/admin/sensors/sensor/History1/change/", wait_until="networkidle")
        assert shown_seconds(page) == 86_400
        page.locator("[data-key='+']").focus()
        page.keyboard.press("+")
        expect(page).to_have_url(re.compile("from=.*to="))
        assert shown_seconds(page) == 43_200
        box = page.locator("[data-drawing]").bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        before = page.url
        page.mouse.move(box["x"] + box["width"] / 4, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, middle, steps=5)
        page.mouse.up()
        page.wait_for_url(lambda url: url != before)
        assert abs(shown_seconds(page) - 10_800) < 120, "a quarter of the drawing was chosen"
        with page.expect_download() as download:
            page.click("[data-history] a[download]")
        assert download.value.path().read_text().startswith("at,kind,sensor_id,type,what,result,detail")
        page.fill(".pst-as-of input[name=at]", "2020-06-01T12:00:00")
        page.click(".pst-as-of button")
        expect(page.locator("[role=alert]")).to_contain_text("was not registered yet")
