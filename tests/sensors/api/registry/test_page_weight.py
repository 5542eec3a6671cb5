"""What a page of the list of sensors weighs: their clients too."""

import pytest

from sensors.api import registry
from sensors.selectors import LINK_BYTES
from tests.sensors.api.callers import service
from tests.sensors.registry import link, make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def test_the_clients_of_its_sensors_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        make_sensor(name, address="North Gate")
    for number in range(30):
        link("a", make_client(f"c{number}"))
    monkeypatch.setattr(registry, "PAGE_BYTES", LINK_BYTES * 30 + 100)
    desk = service("registry:read")
    page = desk("GET", "/sensors/").json()
    rest = desk("GET", page["next"]).json()
    assert [[row["id"] for row in each["results"]] for each in (page, rest)] == [["a"], ["b", "c"]]
    assert (len(page["results"][0]["clients"]), rest["next"]) == (30, None)
