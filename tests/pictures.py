"""Take the pictures of the README anew: `make pictures`.

A demonstration runs in a folder of its own for two minutes. Beside it a door is opened and closed for a day, a case is
worked on and taken back, and an ERP falls silent before it commits, all over REST, as anybody could do it.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import DESKTOP, FLAGS, sign_in
from tests.browser.installation import wait_until_served
from tests.faults.product import PASSWORD
from tests.servers.packages import get_program
from tests.servers.private_server import find_free_port

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs"
DOOR, ERP, PHONE, CASE = "0xF00D", "branch-erp", "van-7", "sensor-installation"
SCOPES = ("registry:write", "parties:write", "signals:write", "workflows:write", "operations")
LIFE_SECONDS = 100
READY_SECONDS = 15


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, demonstration(Path(folder)) as (address, key):
        api = Api(address, key)
        open_and_close_a_door(api)
        instance = work_on_a_case(api)
        fall_silent_before_the_commit(api)
        time.sleep(LIFE_SECONDS)
        with sync_playwright() as playwright:
            program = get_program("chromium", "chromium-browser", "google-chrome")
            browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
            page = browser.new_page(locale="en", viewport=DESKTOP, device_scale_factor=1.5)
            sign_in(page, address)
            take(page, f"{address}/admin/", "start-page", height=1180)
            take(page, f"{address}/admin/sensors/sensor/{DOOR}/change/", "sensor-history", height=800)
            take(
                page,
                f"{address}/admin/workflows/workflowinstance/{instance}/change/",
                "workflow",
                height=900,
                card="Versions",
            )
            take(page, f"{address}/admin/exchange/exchangeprocess/doubt/", "in-doubt", height=900)
            browser.close()


@contextlib.contextmanager
def demonstration(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a demonstration; yield its address and a key for everything that is done here."""
    port = find_free_port()
    environment = {
        **os.environ,
        "DATA_DIR": str(folder),
        "PORT": str(port),
        "ADMIN_PASSWORD": PASSWORD,
        "EXCHANGE_READY_TIMEOUT": str(READY_SECONDS),
        "LOG_LEVEL": "ERROR",
    }
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "prepare"], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    command = [*manage, "create_key", "pictures", *scopes]
    key = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout.strip()
    server = subprocess.Popen([*manage, "demo"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_served(f"{address}/healthz", server)
        yield address, key
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


class Api:
    def __init__(self, address: str, key: str) -> None:
        self._address, self._key = address, key

    def call(self, method: str, path: str, body: Any = None, *, key: str = "") -> Any:
        """Return the answer of a call; anything but success is an error."""
        request = urllib.request.Request(
            f"{self._address}/api/v1{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {key or self._key}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")


def open_and_close_a_door(api: Api) -> None:
    """Let a door be opened and closed some forty times within a day, and be heard every half hour in between."""
    api.call("POST", "/sensors/", {"id": DOOR, "address": "12 Harbour Road, main gate", "heartbeat_timeout": 7200})
    now, chance = datetime.now(UTC), random.Random(12)
    signals = []
    for minutes in range(24 * 60, 0, -6):
        at = now - timedelta(minutes=minutes)
        by_day = 7 <= at.hour < 19
        data = int(by_day and chance.random() < 0.4)
        if by_day or minutes % 30 == 0:
            signals.append({"sensor_id": DOOR, "data": data, "at": at.isoformat(), "id": f"picture-{minutes}"})
    api.call("POST", "/signals/", signals)


def work_on_a_case(api: Api) -> str:
    """Work on a case, take it back to an earlier version and go another way; return its id."""
    made = api.call("POST", "/workflows/instances/", {"definition": CASE, "record": "Harbour Road 12"})
    instance = made["id"]
    made = finish_task(api, made, "survey_task", {"doors": 3, "notes": "Two of oak, one of steel"})
    surveyed = made["version"]
    made = finish_task(api, made, "mount_task", {})
    made = finish_task(api, made, "check_task", {"signal": 20})
    way_back = {"version": surveyed, "reason": "The wrong door"}
    made = api.call("POST", f"/workflows/instances/{instance}/return/", way_back)
    finish_task(api, made, "mount_task", {})
    return str(instance)


def finish_task(api: Api, instance: Any, element: str, variables: dict[str, Any]) -> Any:
    task = next(task["id"] for task in instance["tasks"] if task["element"].removesuffix("_task") in element)
    command = {"command": "complete_task", "task": task, "variables": variables}
    return api.call("POST", f"/workflows/instances/{instance['id']}/commands/", command)


def fall_silent_before_the_commit(api: Api) -> None:
    """Let an ERP take three messages, prepare its replies and never be heard again."""
    erp = api.call("POST", "/databases/", {"id": ERP, "enterprise": "demo", "name": "Branch ERP"})["key"]
    device = {"id": PHONE, "enterprise": "demo", "subsystem": "demo-sales", "name": "Van 7"}
    phone = api.call("POST", "/devices/", device)["key"]
    for number in range(1, 4):
        order = {"order": 4100 + number, "customer": "Harbour Road 12", "amount": 120 * number}
        api.call("POST", "/messages/", {"version": 1, "to": ERP, "payload": order}, key=phone)
    started = api.call("POST", "/exchange/processes/", {"version": 1}, key=erp)
    path = f"/exchange/processes/{started['process_id']}"
    taken = [message["id"] for message in started["messages"]]
    api.call("POST", f"{path}/accept/", {"version": 1, "messages": taken}, key=erp)
    results = [{"message": message, "status": "PROCESSED"} for message in taken]
    replies = [{"to": PHONE, "reply_to": message, "payload": {"booked": True}} for message in taken]
    api.call("POST", f"{path}/prepare/", {"version": 1, "results": results, "replies": replies}, key=erp)


def take(page: Page, url: str, name: str, *, height: int, card: str = "") -> None:
    """Take a picture of the page from its top, or from the card with this heading."""
    page.set_viewport_size({"width": DESKTOP["width"], "height": height})
    page.goto(url)
    page.wait_for_load_state("load")
    page.wait_for_timeout(3000)  # the socket has brought its first snapshot, charts have come to rest
    if card:
        page.get_by_role("heading", name=card, exact=True).evaluate("card => card.scrollIntoView()")
    page.screenshot(path=PICTURES / f"{name}.png")
    print(f"docs/{name}.png")


if __name__ == "__main__":
    main()
