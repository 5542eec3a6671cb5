from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open


def make_key(page: Page, address: str, name: str) -> str:
    page.goto(f"{address}/admin/records/accesskey/add/")
    page.fill("#id_name", name)
    page.check("input[value='registry:read']")
    page.click("text=Create key")
    return page.locator("#new-key").inner_text()


def call(page: Page, address: str, key: str) -> int:
    """Ask with the key for what it may not do: a key that is known gets 403, any other 401."""
    answer = page.request.post(f"{address}/api/v1/changes/1/revert/", headers={"Authorization": f"Bearer {key}"})
    return answer.status


class TestKey:
    def test_is_shown_once(self, admin_page: Page, address: str) -> None:
        text = make_key(admin_page, address, "shown once")
        admin_page.click("text=I have copied it")
        expect(admin_page.locator("#result_list")).to_contain_text("shown once")
        admin_page.click("#result_list >> text=shown once")
        assert text not in admin_page.content()

    def test_a_reload_neither_shows_it_nor_makes_another(self, admin_page: Page, address: str) -> None:
        text = make_key(admin_page, address, "reloaded")
        admin_page.reload()
        assert text not in admin_page.content()
        expect(admin_page.locator("#result_list >> text=reloaded")).to_have_count(1)

    def test_is_copied_by_a_button(self, open_page: Open, admin_session: Path, address: str) -> None:
        page = open_page(storage_state=admin_session, permissions=["clipboard-read", "clipboard-write"])
        text = make_key(page, address, "copied")
        page.wait_for_load_state("load")  # the button works once its script has run
        page.click("[data-copy]")
        expect(page.locator("[data-copy]")).to_contain_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == text

    def test_works_until_it_is_revoked(self, admin_page: Page, address: str) -> None:
        text = make_key(admin_page, address, "short lived")
        assert call(admin_page, address, text) == 403
        admin_page.goto(f"{address}/admin/records/accesskey/")
        admin_page.click("#result_list >> text=short lived")
        admin_page.click("text=Revoke key")
        admin_page.click("form >> text=Revoke key")
        expect(admin_page.locator("body")).to_contain_text("has been revoked")
        assert call(admin_page, address, text) == 401
