"""A backup taken while messages come in, put back on another machine: nothing is lost, nothing is offered twice."""

import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from config.runtime.data_lock import UNFINISHED
from tests.faults.installation import Installation
from tests.faults.product import Product, migrated_database, own_database
from tests.faults.wait import wait_until

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(params=["sqlite", "postgresql"])
def places(request: Any, tmp_path: Path) -> Iterator[tuple[Product, Product]]:
    """The installation that is copied, and an empty one on another machine."""
    with ExitStack() as stack:
        first, second = {}, {}
        if request.param == "postgresql":
            url = request.getfixturevalue("servers").database
            first["DATABASE_URL"] = stack.enter_context(migrated_database(url))
            second["DATABASE_URL"] = stack.enter_context(own_database(url))
        made = Product(tmp_path / "first", **first), Product(tmp_path / "second", **second)
        for product in made:
            product.folder.mkdir()
        if first:
            made[0].copy_template()
            made[0].prepare()
        else:
            made[0].copy_prepared()
        yield made
        for product in made:
            if product.process is not None:
                product.kill()


class Flow:
    """A device that goes on to send until it is told to stop."""

    def __init__(self, place: Installation) -> None:
        self._place = place
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _send(self) -> None:
        number = 0
        while not self._over.wait(0.1):
            number += 1
            self._place.send(f"flow-{number}")


def test_put_back_elsewhere_nothing_is_lost_and_nothing_offered_twice(places: tuple[Product, Product]) -> None:
    first, second = places
    backup = str(first.folder / "backup")
    first.start()
    place = Installation(first)
    processed = [f"early-{number}" for number in range(3)]
    assert [place.send(id) for id in processed] == [201] * 3
    started = place.start()
    place.prepare(started)
    place.step(started["process_id"], "commit")
    assert [place.send(f"late-{number}") for number in range(3)] == [201] * 3
    flow = Flow(place)
    assert wait_until(lambda: "flow-2" in place.accepted, 60)
    accepted = [id for id in place.accepted if id not in processed]
    done = first.manage("backup", backup)
    flow.stop()
    assert done.returncode == 0, done.stderr
    refused = first.manage("restore", backup, "--replace")
    assert "Stop every process" in refused.stderr or "other sessions" in refused.stderr, refused
    first.kill()

    if "DATABASE_URL" in second.environment:
        done = second.manage("restore", backup)
        assert done.returncode == 0, done.stderr
    else:  # the steps in between are the same for both
        check_an_interrupted_one(second, backup)
    second.start()
    place.product = second
    offered = [message["id"] for message in place.start()["messages"]]
    assert set(accepted) <= set(offered)
    assert len(offered) == len(set(offered))
    assert set(processed).isdisjoint(offered)
    assert second.manage("reencrypt").returncode == 0, "stored secrets are read by the restored key"


def check_an_interrupted_one(place: Product, backup: str) -> None:
    """Restore with a kill in between; until it was run again nobody serves."""
    marker = Path(place.environment["DATA_DIR"]) / UNFINISHED
    cut = f"{backup}.cut"
    shutil.copyfile(backup, cut)
    with open(cut, "r+b") as file:
        file.truncate(Path(cut).stat().st_size // 2)
    assert "nothing was changed" in place.manage("restore", cut).stderr
    assert not marker.exists()
    killed = place.spawn("restore", backup, log=place.folder / "restore.log")
    assert wait_until(marker.exists, 120), (place.folder / "restore.log").read_text()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    refused = place.manage("up")
    assert (refused.returncode, "Run it again: manage.py restore" in refused.stderr) == (1, True), refused
    done = place.manage("restore", backup)
    assert done.returncode == 0, done.stderr
    assert not marker.exists()
    assert "There is data here" in place.manage("restore", backup).stderr
