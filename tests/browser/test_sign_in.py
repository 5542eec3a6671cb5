from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Open, sign_in
from tests.browser.watch import sideways


class TestSignIn:
    def test_a_wrong_password_is_told_and_keeps_one_out(self, open_page: Open, address: str) -> None:
        page = open_page()
        sign_in(page, address, name="nobody", password="wrong")
        expect(page.locator(".errornote").last).to_contain_text("Please enter the correct username and password")

    def test_the_language_is_switched_before_anyone_is_known(self, open_page: Open, address: str) -> None:
        page = open_page()
        page.goto(f"{address}/admin/")
        page.click(".pst-languages button[lang=ru]")
        expect(page.locator("label[for=id_password]")).to_contain_text("Пароль")

    def test_begins_in_the_language_of_the_browser(self, open_page: Open, address: str) -> None:
        page = open_page(locale="ru-RU")
        page.goto(f"{address}/admin/")
        expect(page.locator("#login-form button[type=submit]")).to_contain_text("Войти")

    def test_fits_a_phone(self, open_page: Open, address: str) -> None:
        page = open_page(viewport=PHONE)
        page.goto(f"{address}/admin/")
        assert sideways(page) <= 0
