"""An order process from another tool: uploaded, started, its task claimed and completed, by the page alone."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Open
from tests.browser.watch import sideways

FILE = Path(__file__).parent / "files" / "order.bpmn"


class TestOrder:
    def test_a_file_of_camunda_modeler_is_worked_with_the_same_day(
        self, open_page: Open, admin_session: Path, address: str
    ) -> None:
        page = open_page(storage_state=admin_session)
        upload(page, address)
        start(page, record="order-17")
        page.goto(f"{address}/admin/")
        expect(page.locator("#my-tasks")).to_contain_text("Check the order")
        page.get_by_role("link", name="My tasks").first.click()
        expect(page.locator(".pst-tabs [aria-current]")).to_contain_text("My groups'")
        page.fill("input[name=q]", "order-17")
        page.keyboard.press("Enter")
        page.click('#result_list a:has-text("Check the order")')
        page.click('button:has-text("Claim")')
        expect(page.locator("body")).to_contain_text("The task is yours.")
        fill(page)
        expect(page.locator("body")).to_contain_text("Done: “Check the order”.")
        page.goto(f"{address}/admin/workflows/workitem/?whose=mine")
        page.click('#result_list a:has-text("Ship the goods")')
        expect(page.locator(".pst-facts")).to_contain_text("admin")
        page.click('button:has-text("Complete")')
        expect(page.locator("body")).to_contain_text("Done: “Ship the goods”.")

    def test_a_task_is_followed_as_others_claim_it_and_fits_a_phone(
        self, open_page: Open, admin_session: Path, address: str
    ) -> None:
        page = open_page(storage_state=admin_session)
        upload(page, address)
        start(page, record="order-18")
        other = open_page(storage_state=admin_session, viewport=PHONE)
        other.goto(f"{address}/admin/workflows/workitem/?whose=all&q=order-18")
        assert sideways(other) <= 0
        row = other.locator("#result_list tbody tr")
        expect(row).to_contain_text("sales")
        page.goto(f"{address}/admin/workflows/workitem/?whose=all&q=order-18")
        page.click('#result_list a:has-text("Check the order")')
        page.click('button:has-text("Claim")')
        expect(row).not_to_contain_text("sales")
        other.click('#result_list a:has-text("Check the order")')
        expect(other.locator(".pst-facts")).to_contain_text("admin")
        assert sideways(other) <= 0


def upload(page: Page, address: str) -> None:
    page.goto(f"{address}/admin/workflows/workflowdefinition/")
    page.get_by_role("link", name="Upload", exact=True).click()
    page.set_input_files("input[type=file]", FILE)
    page.click('button:has-text("Publish")')
    expect(page.locator("body")).to_contain_text("“order-process”, revision 1.")


def start(page: Page, *, record: str) -> None:
    page.get_by_role("link", name="Start", exact=True).click()
    page.fill("#id_record", record)
    page.fill("#id_variables", '{"shipper": "admin"}')
    page.click('form.pst-narrow button[type=submit]:has-text("Start")')
    expect(page.locator("body")).to_contain_text("The instance has been started.")


def fill(page: Page) -> None:
    """Fill in the form as the file has it; what it does not allow is kept back by the browser."""
    amount = page.locator("[name=answer-amount]")
    assert amount.get_attribute("type") == "number"
    amount.fill("500")
    assert amount.evaluate("field => field.validity.rangeOverflow")
    amount.fill("5")
    page.check("[name=answer-approved]")
    expect(page.locator("[name=answer-shipping]")).to_have_value("post")
    page.select_option("[name=answer-shipping]", label="By courier")
    page.fill("[name=answer-wanted]", "2031-05-01")
    page.click('button:has-text("Complete")')
