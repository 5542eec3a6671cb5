"""The demonstration, as whoever types `make demo` finds it: within a minute there is something in every list."""

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
QUESTIONS = frozenset({"/admin/", "/admin/trace/"})
"""Pages that are no lists."""
BESIDE = ("/admin/sensors/sensor/?muted=1",)
"""Lists that an entry of the menu shows a part of."""
SHADOW = "/admin/workflows/workflowdefinition/demo-lost-door/shadow/"


@pytest.mark.timeout(400)
@pytest.mark.django_db
def test_every_entry_of_the_menu_has_something_in_it(tmp_path: Path) -> None:
    empty, clock = [*menu_links(), *BESIDE], UnhurriedClock()
    with demonstration(tmp_path) as address:
        clock.tick()
        reader = Reader(address)
        while (empty := [link for link in empty if is_empty(reader.read(link))]) and clock.seconds < MOST_SECONDS:
            clock.wait()
        assert "Revision 2 beside revision 1" in reader.read(SHADOW)
    assert empty == []
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


def is_empty(page: str) -> bool:
    return "data-empty" in page
