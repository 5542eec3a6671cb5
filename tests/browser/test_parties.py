"""The pages of enterprises, subsystems, devices and databases, used as a member of staff uses them."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import DESKTOP, PHONE, Open
from tests.browser.watch import sideways

PAGES = (
    "/admin/messaging/enterprise/",
    "/admin/messaging/enterprise/{enterprise}/change/",
    "/admin/messaging/subsystem/",
    "/admin/messaging/subsystem/{enterprise}-stock/change/",
    "/admin/messaging/device/",
    "/admin/messaging/device/?active=0",
    "/admin/messaging/device/add/",
    "/admin/messaging/device/{enterprise}-phone/change/",
    "/admin/messaging/device/{enterprise}-phone/rotate/",
    "/admin/messaging/exchangedatabase/",
)


@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
class TestParties:
    def test_a_device_is_registered_and_its_pages_keep_to_their_policy(
        self, open_page: Open, admin_session: Path, address: str, window: ViewportSize
    ) -> None:
        page = open_page(storage_state=admin_session, viewport=window)
        enterprise = f"works-{window['width']}"
        add(page, address, "enterprise", enterprise)
        add(page, address, "subsystem", f"{enterprise}-stock", of=enterprise)
        add(page, address, "device", f"{enterprise}-phone", of=f"{enterprise}-stock")
        expect(page.locator("#new-key")).to_contain_text("pd_")
        too_wide = []
        for path in PAGES:
            page.goto(f"{address}{path.format(enterprise=enterprise)}", wait_until="networkidle")
            if sideways(page) > 0:
                too_wide.append(path)
        assert too_wide == []

    def test_the_id_of_a_database_is_copied(
        self, open_page: Open, admin_session: Path, address: str, window: ViewportSize
    ) -> None:
        permissions = ["clipboard-read", "clipboard-write"]
        page = open_page(storage_state=admin_session, viewport=window, permissions=permissions)
        enterprise = f"office-{window['width']}"
        add(page, address, "enterprise", enterprise)
        add(page, address, "exchangedatabase", f"{enterprise}-erp", of=enterprise)
        page.click("text=I have copied it")
        page.click("[data-copy]")
        expect(page.locator("[data-copy]")).to_contain_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == f"{enterprise}-erp"


def add(page: Page, address: str, model: str, party_id: str, *, of: str = "") -> None:
    """Fill in the form as a person does: what it belongs to is found by typing."""
    page.goto(f"{address}/admin/messaging/{model}/add/", wait_until="networkidle")
    page.fill("#id_id", party_id)
    page.fill("#id_name", party_id)
    if of:
        page.click(".select2-selection")
        page.fill(".select2-search__field", of)
        page.click(f".select2-results__option:has-text('{of}')")
    page.click("button[name=_save]")
    page.wait_for_load_state("networkidle")
