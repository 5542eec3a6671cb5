import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.browser.installation import PAGES_FILE, running
from tests.browser.watch import Watch
from tests.browser.windows import Windows
from tests.faults.product import PASSWORD
from tests.servers.packages import get_program

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Milliseconds that a page may take on a busy machine; where it is quick, nobody waits.
PATIENCE = 120_000
expect.set_options(timeout=PATIENCE)

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

PAGES_AND_LONG_STORIES = ("test_pages.py", "test_first_steps.py", "test_decisions.py", "test_drawing.py")
Open = Callable[..., Page]


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("installation")


@pytest.fixture(scope="package")
def address(folder: Path) -> Iterator[str]:
    with running(folder) as address:
        yield address


@pytest.fixture(scope="package")
def every_page(folder: Path, address: str) -> list[str]:
    """The path of every page of the admin, each about a row that is there."""
    return list(json.loads((folder / PAGES_FILE).read_text()))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    # Not for the whole session: while it runs, Django takes this thread for an asynchronous one.
    with sync_playwright() as playwright:
        program = get_program("chromium", "chromium-browser", "google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def admin_session(browser: Browser, address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sign in once; every page of an admin begins with these cookies."""
    page = browser.new_page(locale="en")
    page.set_default_timeout(PATIENCE)
    sign_in(page, address)
    kept = tmp_path_factory.mktemp("session") / "cookies.json"
    page.context.storage_state(path=kept)
    page.context.close()
    return kept


@pytest.fixture(scope="package")
def windows(browser: Browser, address: str) -> Windows:
    return Windows(browser, address, patience=PATIENCE)


@pytest.fixture
def open_page(windows: Windows, address: str) -> Iterator[Open]:
    """Open windows that are watched: whatever they complain about fails the test."""
    watches: list[Watch] = []

    def open_one(**options: Any) -> Page:
        page = windows.open(**{"viewport": DESKTOP, **options})
        watches.append(Watch(page, address.removeprefix("http://")))
        return page

    yield open_one
    windows.close()
    assert [complaint for watch in watches for complaint in watch.complaints] == []


@pytest.fixture
def admin_page(open_page: Open, admin_session: Path) -> Page:
    return open_page(storage_state=admin_session)


def sign_in(page: Page, address: str, name: str = "admin", password: str = PASSWORD) -> None:
    page.goto(f"{address}/")
    page.fill("#id_username", name)
    page.fill("#id_password", password)
    page.click("#login-form button[type=submit]")
    page.wait_for_load_state("networkidle")


@pytest.hookimpl(tryfirst=True)  # before the suite gives each module whose tests share something a group of its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A server and a browser serve many of these tests, which stay in one worker: two halves take the same time."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            half = "pages" if item.path.name in PAGES_AND_LONG_STORIES else "windows"
            item.add_marker(pytest.mark.xdist_group(f"browser, {half}"))
