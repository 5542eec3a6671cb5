"""The whole full profile on full disks, that of the files and that of PostgreSQL: callers are told, nothing dies,
nothing is lost, staff hear of it, and all goes on when there is room again."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pytest

from config.runtime.processes import PROCESSES
from tests.faults.installation import Installation
from tests.faults.product import Product, migrated_database, variables_of
from tests.faults.test_exchange_disk import fill_with_bytes
from tests.faults.wait import wait_until
from tests.mail_server import MailServer, mail_server
from tests.servers.postgres import PostgresServer
from tests.servers.private_server import PrivateServer

pytestmark = [pytest.mark.xdist_group("engines"), pytest.mark.timeout(1800)]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
ALERTS = "SELECT kind, status, subject, detail FROM notifications_alert WHERE kind = 'storage.failed'"
# Every process of the product loads this: what is written below the data folder finds no room while the flag stands.
REFUSE = """
import errno, os
_open, _data = os.open, os.environ.get("DATA_DIR", "-")
def open(path, flags, *more, **options):
    if flags & (os.O_WRONLY | os.O_RDWR) and str(path).startswith(_data) and os.path.exists(_data + "/../full"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    return _open(path, flags, *more, **options)
os.open = open
"""


class Disk(Protocol):
    def fill(self) -> None: ...

    def free(self) -> None: ...


class MountedDisk:
    """A small file system of its own."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def fill(self) -> None:
        """Take what room there is, once more where it was taken before."""
        fill_with_bytes(self._place)

    def free(self) -> None:
        (self._place / "filler").unlink()


class RefusingDisk:
    """Where nothing may be mounted: each process is told that there is no room."""

    def __init__(self, product: Product) -> None:
        self._flag = product.folder / "full"
        (product.folder / "sitecustomize.py").write_text(REFUSE)
        product.environment["PYTHONPATH"] = str(product.folder)

    def fill(self) -> None:
        self._flag.touch()

    def free(self) -> None:
        self._flag.unlink()


@contextmanager
def mounted(place: Path, size: str) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    options = f"size={size},mode=755"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True)
    if done.returncode:
        raise PermissionError(done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


class WatchedInstallation(Installation):
    """One whose alerts and processes are looked at."""

    def alerts(self) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.product.environment["DATABASE_URL"]) as connection:
            return connection.execute(ALERTS).fetchall()

    def has_alert(self, status: str, subject: str, **detail: Any) -> bool:
        return any(
            row[1] == status and row[2].startswith(subject) and detail.items() <= row[3].items()
            for row in self.alerts()
        )

    def assert_all_alive(self, before: dict[str, int]) -> None:
        assert self.product.children() == before
        assert self.product.events("process.exited") == []
        assert {process.name for process in PROCESSES} <= set(before)


@pytest.fixture
def inbox() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@contextmanager
def running(product: Product) -> Iterator[WatchedInstallation]:
    product.copy_template()
    product.prepare()
    product.start()
    try:
        yield WatchedInstallation(product)
    finally:
        product.kill()


class TestDataFolder:
    @pytest.fixture(params=["mounted", "refusing"])
    def disk(self, request: Any, engines: dict[str, PrivateServer], tmp_path: Path) -> Iterator[tuple[Product, Disk]]:
        """A disk of its own; the second way where there can be none, and at full size in any case."""
        with ExitStack() as stack:
            database = stack.enter_context(migrated_database(engines["database"].url))
            product = Product(tmp_path, **variables_of(engines, database))
            place = tmp_path / "data"
            try:
                stack.enter_context(mounted(place, "64m"))
                can_mount = True
            except PermissionError as refused:
                can_mount = False
                if request.param == "mounted":
                    pytest.skip(f"no file system of its own may be mounted here: {refused}")
            if request.param == "refusing" and can_mount and SCALE < 1:
                pytest.skip("a file system of its own was filled instead")
            yield product, MountedDisk(place) if request.param == "mounted" else RefusingDisk(product)

    def test_full_to_the_last_byte(self, disk: tuple[Product, Disk]) -> None:
        product, room = disk
        with running(product) as place:
            assert [place.send(f"a{number}") for number in range(5)] == [201] * 5
            started = place.start()
            before = product.children()
            room.fill()
            assert {place.send(f"b{number}") for number in range(5)} == {507}
            assert place.prepare(started) == "CANCELLED"
            signal = {"sensor_id": "0xA", "data": 1}
            assert place.call("POST", "/signals/", signal, expected=202)["rejected"][0]["code"] == "unknown_sensor"
            told = {"errno": 28, "path": str(product.folder / "data")}
            assert wait_until(lambda: place.has_alert("open", "disk/", **told), 60), place.alerts()
            assert product.get("/healthz") == (200, "ok")
            place.assert_all_alive(before)
            room.free()
            assert [place.send(f"c{number}") for number in range(3)] == [201] * 3
            self.exchange_everything(place)
            assert wait_until(lambda: place.has_alert("resolved", "disk/"), 60), place.alerts()
            place.assert_all_alive(before)

    def exchange_everything(self, place: WatchedInstallation) -> None:
        """What was accepted is offered, once, in its order; what was refused is not."""
        started = place.start()
        assert [message["id"] for message in started["messages"]] == place.accepted
        assert place.prepare(started) == "OK"
        assert place.step(started["process_id"], "commit") == "OK"
        assert wait_until(lambda: place.start()["status"] == "IDLE", 60)


class SmallServer(PostgresServer):
    """PostgreSQL on a disk of its own."""

    @contextmanager
    def on_its_disk(self) -> Iterator["SmallServer"]:
        try:
            with ExitStack() as stack:
                try:
                    stack.enter_context(mounted(self.folder, "192m"))
                except PermissionError as refused:
                    pytest.skip(f"no file system of its own may be mounted here: {refused}")
                self.start()
                try:
                    yield self
                finally:
                    if self.is_running:  # without room it may have given up by itself
                        self.kill()
        finally:
            self.close()


class TestPostgresql:
    def test_full_to_the_last_byte(self, engines: dict[str, PrivateServer], tmp_path: Path, inbox: MailServer) -> None:
        with SmallServer(fsync=False).on_its_disk() as server:
            room = MountedDisk(server.folder)
            mail = {"ADMIN_EMAIL": "admin@example.org", "EMAIL_URL": f"smtp://127.0.0.1:{inbox.port}"}
            with migrated_database(server.url) as database:
                product = Product(tmp_path, **{**variables_of(engines, database), **mail})
                with running(product) as place:
                    self.assert_fills_and_frees(place, room, inbox)

    def assert_fills_and_frees(self, place: WatchedInstallation, room: Disk, inbox: MailServer) -> None:
        before = place.product.children()
        statuses = self.write(place, 400, before_each=room.fill)
        assert (statuses[-1], set(statuses) <= {201, 503, 507}) == (507, True), statuses
        assert place.product.get("/healthz") == (200, "ok")
        assert wait_until(lambda: "53100" in place.product.read_log(), 60), "the log says it"
        if SCALE >= 1:
            assert wait_until(lambda: bool(inbox.inbox), 90), place.product.read_log()[-3000:]
            assert "not written to its disk" in str(inbox.inbox[0][1]["Subject"])
        place.assert_all_alive(before)
        room.free()
        assert wait_until(lambda: self.write(place, 1, "z") == [201], 60), place.product.read_log()[-3000:]
        names = {f"e-{number}" for number, status in enumerate(statuses) if status == 201}
        with psycopg.connect(place.product.environment["DATABASE_URL"]) as connection:
            kept = {row[0] for row in connection.execute("SELECT id FROM messaging_enterprise")}
        assert names == {name for name in kept if name.startswith("e-")}
        place.assert_all_alive(before)

    def write(
        self, place: WatchedInstallation, most: int, prefix: str = "e", before_each: Callable[[], None] = lambda: None
    ) -> list[int]:
        """Write until the disk is found full: a checkpoint may give room back at any time, and takes it again."""
        statuses: list[int] = []
        while len(statuses) < most and 507 not in statuses:
            before_each()
            body = {"id": f"{prefix}-{len(statuses)}", "name": "n" * 200}
            status, _ = place.product.call("POST", "/api/v1/enterprises/", body, key=place.key)
            statuses.append(status)
        return statuses
