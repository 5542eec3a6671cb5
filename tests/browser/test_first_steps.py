"""A new installation, from its first step to a list that is acted on as a whole."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.browser.conftest import DESKTOP, PATIENCE, sign_in
from tests.browser.installation import running
from tests.browser.test_live import call, open_start_page
from tests.browser.watch import Watch
from tests.webhook_receiver import run_receiver

SENSORS = 600


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[str]:
    with running(tmp_path / "empty", is_empty=True, WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8") as address:
        yield address


def test_leads_to_the_first_webhook_follows_a_signal_to_its_delivery_and_acts_on_many_rows_under_a_bar(
    empty: str, browser: Browser, tmp_path: Path
) -> None:
    context = browser.new_context(viewport=DESKTOP, locale="en")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    watch = Watch(page, empty.removeprefix("http://"))
    sign_in(page, empty)
    expect(page).to_have_url(f"{empty}/admin/")
    expect(page.locator("h1")).to_contain_text("Start page")
    with run_receiver() as receiver:
        take_the_first_steps(page, empty, receiver.url("/200/hook"))
        follow_a_signal(page, empty)
    act_on_many(page, empty, tmp_path)
    mute_the_client(page, empty)
    context.close()
    assert watch.complaints == []


def take_the_first_steps(page: Page, address: str, url: str) -> None:
    current, done = page.locator("#first-steps [aria-current=step]"), page.locator("#first-steps [data-done]")
    expect(done).to_have_count(0)
    current.get_by_role("link", name="New client").click()
    page.fill("#id_name", "Depot watch")
    page.fill("#id_url", url)
    page.click("button[name=_save]")
    expect(page.locator("#new-secret")).to_contain_text("whsec_")

    page.goto(f"{address}/admin/")
    expect(page.locator("[data-when=idle]")).to_have_text("No exchange in progress.")
    expect(done).to_have_count(1)
    current.get_by_role("link", name="New sensor").click()
    page.fill("#id_id", "Door000")
    page.fill("#id_address", "Minsk, Depot st. 7")
    page.click(".field-linked .select2-selection")
    page.click(".select2-results__option >> text=Depot watch")
    page.click("button[name=_save]")

    page.goto(f"{address}/admin/")
    expect(done).to_have_count(2)
    current.get_by_role("button", name="Send a signal").click()
    expect(page.locator("body")).to_contain_text("Sensor Door000: the door opened.")
    # The card looks by itself until the client has accepted the message.
    expect(done).to_have_count(4)
    expect(page.locator("#first-steps").get_by_role("link", name="Open the delivery")).to_be_visible()


def follow_a_signal(page: Page, address: str) -> None:
    """Send one as a device does, see it on the start page that is open, and go from there to what was delivered."""
    open_start_page(page, address)
    call(page, address, "signals/", {"sensor_id": "Door000", "data": 0})
    change = page.locator('[data-rows="sensors.changes"] li').first
    expect(change).to_contain_text("closed")
    assert page.evaluate("window.isTheSame")
    change.get_by_role("link", name="Door000").click()
    expect(page.locator("h1")).to_contain_text("Door000")
    page.click(".pst-search-button:has-text('Trace')")
    page.wait_for_url(re.compile(r"/admin/trace/\?id="))
    lanes = page.locator(".pst-trace-step").evaluate_all("steps => steps.map(step => step.dataset.lane)")
    assert [lane for lane in lanes if lane in ("signal", "event", "delivery")][:3] == ["signal", "event", "delivery"]
    page.click(".pst-trace-step[data-lane=delivery] a")
    page.wait_for_url(re.compile(r"/admin/notifications/delivery/\d+/change/"))
    expect(page.locator(".pst-attempts")).to_contain_text("200")
    expect(page.locator(".pst-attempts")).to_contain_text("/200/hook")


def act_on_many(page: Page, address: str, folder: Path) -> None:
    table = folder / "sensors.csv"
    table.write_text("id,address\n" + "".join(f"Door{n:03},Here\n" for n in range(1, SENSORS + 1)))
    page.goto(f"{address}/admin/sensors/sensor/import/")
    page.set_input_files("input[type=file]", table)
    page.click("form.pst-narrow button[type=submit]")
    page.click("form.pst-buttons button[type=submit]")
    expect(page.locator("body")).to_contain_text(f"{SENSORS} registered")

    page.goto(f"{address}/admin/sensors/sensor/?active=1", wait_until="networkidle")
    page.locator("#action-toggle").check()
    page.click(".question a")
    page.select_option("select[name=action]", "deactivate")
    page.click("#changelist-actions button[type=submit]")
    expect(page.locator("form[data-many]")).to_contain_text(f"{SENSORS + 1} sensors:")

    calls: list[Request] = []

    def break_the_second(route: Route) -> None:
        """Answer the second batch as a proxy would whose server is away."""
        if route.request.method == "POST":
            calls.append(route.request)
        if route.request.method == "POST" and len(calls) == 2:
            route.fulfill(status=200, content_type="text/html", body="")
        else:
            route.continue_()

    page.route("**/admin/sensors/sensor/?active=1", lambda route: break_the_second(route))
    page.click("form[data-many] button[type=submit]")
    progress = page.locator(".pst-progress")
    expect(progress).to_contain_text(f"Interrupted after 500 of {SENSORS + 1}")
    expect(progress.locator("progress")).to_have_js_property("value", 500)
    # What was done stays done and has left the filter: the second time there is only the rest.
    page.click("form[data-many] button[type=submit]")
    expect(page.locator("body")).to_contain_text(f"{SENSORS + 1 - 500} sensors deactivated.")
    page.unroute_all()
    expect(page.locator("#changelist")).to_contain_text("No matches.")


def mute_the_client(page: Page, address: str) -> None:
    page.goto(f"{address}/admin/sensors/client/", wait_until="networkidle")
    page.locator("input.action-select[name=_selected_action]").first.check()
    page.select_option("select[name=action]", "mute")
    page.click("#changelist-actions button[type=submit]")
    question = page.locator("form.pst-narrow")
    expect(question).to_contain_text("they are not notified of a lost or restored connection")
    expect(question).to_contain_text("1 client: Depot watch")
    question.get_by_label("8 hours").check()
    question.locator("button[type=submit]").click()
    expect(page.locator("body")).to_contain_text("Mute updated for 1 client.")
    expect(page.locator("#changelist .pst-muted")).to_contain_text("muted until")
