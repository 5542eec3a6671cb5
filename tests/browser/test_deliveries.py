from playwright.sync_api import Page, expect

DEAD = "/admin/notifications/delivery/dead/"


class TestDeadLetters:
    def test_are_sent_again_with_a_bar_that_fills(self, admin_page: Page, address: str) -> None:
        admin_page.goto(f"{address}{DEAD}")
        expect(admin_page.locator(".pst-card h2").first).to_contain_text("130 messages could not be delivered")
        admin_page.click("button:has-text('Resend all')")
        status = admin_page.locator("#resending p")
        expect(status).to_have_text("130 messages are being resent, 0 skipped")
        bar = admin_page.locator("#resending progress")
        assert bar.evaluate("bar => bar.value === bar.max")
        admin_page.goto(f"{address}{DEAD}")
        expect(admin_page.locator("body")).to_contain_text("No undelivered messages.")
        expect(admin_page.locator("#resending")).to_be_hidden()
