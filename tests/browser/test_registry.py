"""The pages of sensors and clients, used as a member of staff uses them."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import DESKTOP, PHONE, Open
from tests.browser.watch import sideways

PAGES = (
    "/admin/sensors/sensor/",
    "/admin/sensors/sensor/?connection=never_seen&state=1",
    "/admin/sensors/sensor/add/?id=NewDoor1",
    "/admin/sensors/sensor/{sensor}/change/",
    "/admin/sensors/sensor/{sensor}/change/?period=30d",
    "/admin/sensors/sensor/{sensor}/change/?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z",
    "/admin/sensors/sensor/{sensor}/change/?at=2020-06-01T00:00:00Z",
    "/admin/sensors/sensor/attention/",
    "/admin/sensors/sensor/import/",
    "/admin/sensors/client/",
    "/admin/sensors/client/add/",
    "/admin/sensors/rejectedsignal/",
)


@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
class TestRegistry:
    def test_a_table_is_looked_at_then_imported_and_its_pages_keep_to_their_policy(
        self, open_page: Open, admin_session: Path, address: str, window: ViewportSize, tmp_path: Path
    ) -> None:
        page = open_page(storage_state=admin_session, viewport=window)
        sensor = f"Door{window['width']}"
        import_table(page, address, tmp_path, f'id,address\n{sensor},"Minsk, Kalinina st. 7"\n')
        too_wide = []
        for path in PAGES:
            page.goto(f"{address}{path.format(sensor=sensor)}", wait_until="networkidle")
            if sideways(page) > 0:
                too_wide.append(path)
        assert too_wide == []

    def test_a_client_is_registered_and_chosen_for_sensors(
        self, open_page: Open, admin_session: Path, address: str, window: ViewportSize, tmp_path: Path
    ) -> None:
        page = open_page(storage_state=admin_session, viewport=window)
        name, sensor = f"Client {window['width']}", f"Gate{window['width']}"
        import_table(page, address, tmp_path, f"id,address\n{sensor},Here\n")
        page.goto(f"{address}/admin/sensors/client/add/")
        page.fill("#id_name", name)
        page.fill("#id_url", "https://client.example/hook")
        page.click("button[name=_save]")
        expect(page.locator("#new-secret")).to_contain_text("whsec_")
        link(page, address, sensor, name)
        expect(page.locator("body")).to_contain_text("1 sensor linked.")
        page.goto(f"{address}/admin/sensors/sensor/{sensor}/change/")
        expect(page.locator(".pst-facts")).to_contain_text(name)


def import_table(page: Page, address: str, folder: Path, table: str) -> None:
    file = folder / "sensors.csv"
    file.write_text(table)
    page.goto(f"{address}/admin/sensors/sensor/import/")
    page.set_input_files("input[type=file]", file)
    page.click("form.pst-narrow button[type=submit]")
    page.click("form.pst-buttons button[type=submit]")
    expect(page.locator("body")).to_contain_text("Imported: 1 registered")


def link(page: Page, address: str, sensor: str, client: str) -> None:
    page.goto(f"{address}/admin/sensors/sensor/?q={sensor}", wait_until="networkidle")
    page.locator("input.action-select[name=_selected_action]").first.check()
    page.select_option("select[name=action]", "link_to_client")
    page.click("#changelist-actions button[type=submit]")
    page.click(".select2-selection")
    page.fill(".select2-search__field", client)
    page.click(f".select2-results__option >> text={client}")
    page.click("form.pst-narrow button[type=submit]")
