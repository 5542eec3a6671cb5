"""The demonstration, as whoever types `make demo` finds it: within a minute there is something in every list."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory

from config.dashboard.menu import navigation
from tests.faults.demonstration import Reader, demonstration
from tests.faults.unhurried_clock import UnhurriedClock
from tests.staff import signed_in

MOST_SECONDS = 60
"""From the command on, on a machine that does nothing else."""
TRIAL = "/admin/workflows/workflowdefinition/demo-lost-door/shadow/"
QUESTIONS = frozenset({"/admin/", "/admin/trace/"})
"""Pages that are no lists."""
BESIDE = ("/admin/sensors/sensor/?muted=1",)
"""Lists that an entry of the menu shows a part of."""
SCENES = {
    "a process whose files could not be moved": ("/admin/exchange/exchangeprocess/?status=FAILED", "Depot ERP"),
    "a process in doubt": ("/admin/exchange/exchangeprocess/?status=IN_DOUBT", "Branch ERP"),
    "a reader that refused": ("/admin/coordination/appevent/", "refused"),
    "a change set that could not be undone": ("/admin/coordination/appevent/", "compensation failed"),
    "an instance that was returned": ("/admin/workflows/workflowinstance/", "Harbour Road 12"),
    "an instance that cannot go on": ("/admin/workflows/workflowinstance/", "a door that nobody named"),
    "a revision on trial": (
        "/admin/workflows/workflowdefinition/demo-lost-door/shadow/",
        "Revision 2 beside revision 1",
    ),
    "the first rung": ("/admin/notifications/delivery/?q=desk%40demo.example", "desk@demo.example"),
    "the second rung": ("/admin/notifications/delivery/?q=duty%40demo.example", "duty@demo.example"),
    "the third rung": ("/admin/notifications/delivery/?q=manager%40demo.example", "manager@demo.example"),
    "a flapping door": ("/admin/notifications/alert/?status=all", "demoFlap"),
    "a client that fails": ("/admin/notifications/delivery/?status=dead", "Demo archive"),
    "a client that fails at times": ("/admin/sensors/client/", "Demo patrol"),
    "a message that was parked": ("/admin/notifications/parkedmessage/", "signals"),
    "a signal of a stranger": ("/admin/sensors/rejectedsignal/", "stranger1"),
}
"""What each scene leaves to be seen: a page, and words that stand in its content for that alone."""


@pytest.mark.timeout(1800)
@pytest.mark.django_db
def test_every_entry_of_the_menu_has_something_in_it_and_every_scene_is_seen(tmp_path: Path) -> None:
    empty, unseen, clock = [*menu_links(), *BESIDE], dict(SCENES), UnhurriedClock()
    with demonstration(tmp_path) as address:
        clock.tick()
        reader = Reader(address)
        while clock.seconds < MOST_SECONDS and (empty or unseen):
            empty = [link for link in empty if is_empty(reader.read(link))]
            pages = {page: content_of(reader.read(page)) for page in {page for page, _ in unseen.values()}}
            unseen = {scene: (page, words) for scene, (page, words) in unseen.items() if words not in pages[page]}
            clock.wait()
    assert (empty, unseen) == ([], {})
    assert "demo.scene_failed" not in (tmp_path / "demo.log").read_text()


@pytest.mark.embedded
@pytest.mark.django_db
@pytest.mark.parametrize(
    "page",
    ["sensors/sensor/", "notifications/delivery/dead/", "messaging/message/missing/"]
    + [f"exchange/exchangeprocess/{name}/" for name in ("doubt", "statistics")],
)
def test_an_empty_list_is_known_by_its_mark(page: str) -> None:
    assert is_empty(signed_in("administrator").get(f"/admin/{page}").content.decode())


def menu_links() -> list[str]:
    request = RequestFactory().get("/admin/")
    request.user = User.objects.create_superuser("olga")
    links = [item["link"] for group in navigation(request) for item in group["items"]]
    return [link for link in links if link not in QUESTIONS]


def content_of(page: str) -> str:
    """Return the rows of a list, or the whole of what is no list: a filter or a search box repeats what was asked."""
    found = re.search(r'<(?:table|div)[^>]*id="result_list".*?</table>', page, re.DOTALL)
    return found[0] if found else "" if 'id="changelist"' in page else page


def is_empty(page: str) -> bool:
    return "data-empty" in page
