import pytest

from tests.processes.exchange.scene import Scene
from tests.search_answers import found
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def test_a_process_is_found_by_its_id_and_by_how_it_begins(scene: Scene) -> None:
    scene.send("m1")
    process, browser = str(scene.start()["process_id"]), signed_in("viewer")
    for text in (process, process.replace("-", ""), process[:8], process.upper()):
        assert found(browser, text)["Exchange processes"] == [f"/admin/exchange/exchangeprocess/{process}/change/"]
    assert "Exchange processes" not in found(browser, process[:7])
