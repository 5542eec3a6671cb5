"""How often and how long on the drawing of a revision, and the tree of an instance's versions, as they grow."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Open
from tests.browser.test_live import call
from tests.browser.watch import sideways
from tests.faults.wait import wait_until

CASE = "sensor-installation"


class TestHeatMap:
    def test_what_happens_is_seen_on_the_drawing_and_in_the_tree(
        self, admin_page: Page, address: str, open_page: Open, admin_session: Path
    ) -> None:
        page = admin_page
        instance = call(page, address, "workflows/instances/", {"definition": CASE, "record": "HeatDoor"})
        path = f"workflows/instances/{instance['id']}"
        page.goto(f"{address}/admin/workflows/workflowinstance/{instance['id']}/change/")
        expect(page.locator(".pst-watch")).to_have_text("live")
        expect(page.locator(".pst-graph")).to_have_count(0)

        for number in (2, 3):
            call(page, address, f"{path}/commands/", {"command": "set_variables", "variables": {"n": number}})
        nodes = page.locator(".pst-graph a.pst-node")
        expect(nodes).to_have_count(3)
        expect(page.locator(".pst-tree > li")).to_have_count(3)
        call(page, address, f"{path}/return/", {"version": 1, "reason": "too early"})
        expect(page.locator(".pst-graph a.pst-left")).to_have_count(2)
        head = page.get_by_role("link", name=re.compile("^Version 4: .*too early"))
        expect(head).to_have_class("pst-node pst-head")
        head.focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("/versions/4/$"))

        figures = f"{address}/api/v1/workflows/definitions/{CASE}/revisions/1/figures/"
        assert wait_until(lambda: page.request.get(figures).json()["elements"])
        page.goto(f"{address}/admin/workflows/workflowdefinition/{CASE}/change/")
        page.get_by_role("link", name="How often").click()
        legend = page.get_by_role("list", name="Legend")
        expect(legend).to_contain_text("Times entered")
        picture = page.locator(".pst-diagram img")
        assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
        page.get_by_role("link", name="All time").click()
        page.get_by_text("Figures as a list").click()
        expect(page.locator(".pst-heat-table li").first).to_be_visible()
        page.get_by_role("link", name="Drawing", exact=True).click()
        expect(legend).to_have_count(0)

        phone = open_page(storage_state=admin_session, viewport=PHONE)
        for place in (
            f"workflowinstance/{instance['id']}/change/",
            f"workflowdefinition/{CASE}/change/?heat=often&period=all",
        ):
            phone.goto(f"{address}/admin/workflows/{place}")
            assert sideways(phone) <= 0
