"""`manage.py prepare` and `manage.py up`, in both profiles, while their processes are killed."""

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.celery import app
from config.common.correlation import correlated
from config.runtime.processes import PROCESSES
from tests.faults.product import Product, is_running, own_database, variables_of
from tests.faults.unhurried_clock import UnhurriedClock
from tests.faults.wait import wait_until
from tests.servers.private_server import PrivateServer

NAMES = {process.name for process in PROCESSES}


@dataclass
class Prepared:
    product: Product
    told: list[str]
    """What each of the two preparations printed."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    product = Product(tmp_path_factory.mktemp("embedded"))
    yield Prepared(product, [product.prepare(), product.prepare()])
    if product.process is not None:
        product.kill()


@pytest.fixture
def embedded(prepared: Prepared) -> Product:
    prepared.product.ensure_started()
    return prepared.product


@pytest.mark.xdist_group("embedded")
def stop_in_time(product: Product) -> bool:
    """End it gently; return whether that took less than ten seconds, as they would pass on a machine that is free."""
    clock = UnhurriedClock()
    assert product.stop(120) == 0
    clock.tick()
    return clock.seconds < 10


class TestEmbedded:
    def test_the_first_preparation_prints_the_password_once(self, prepared: Prepared) -> None:
        first, second = prepared.told
        address = f"http://127.0.0.1:{prepared.product.port}/admin/"
        assert address in first
        assert "User:      admin" in first
        assert "Password:  " in first
        assert second == f"Postern: {address}\n"

    def test_the_preparation_marks_the_volume_of_the_messages(self, prepared: Prepared) -> None:
        assert (Path(prepared.product.environment["DATA_DIR"]) / "messages" / ".volume").is_file()

    def test_one_process_serves_and_does_the_work(self, embedded: Product) -> None:
        assert embedded.get("/admin/login/")[0] == 200
        assert embedded.engines() == {
            "database": "ok", "amqp": "off", "redis": "off", "clickhouse": "off", "status": 200,
        }  # fmt: skip
        assert "upkeep" in embedded.events("scheduler.started")[0]["work"]
        assert embedded.children() == {}

    def test_a_port_in_use_is_told_in_one_line(self, embedded: Product) -> None:
        done = embedded.manage("up")
        assert done.returncode == 1
        assert f"port {embedded.port}" in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_killed_and_started_again_it_has_the_same_data(self, embedded: Product, prepared: Prepared) -> None:
        embedded.kill()
        embedded.start()
        password = prepared.told[0].partition("Password:  ")[2].split()[0]
        assert embedded.sign_in("admin", password) == 302, "the admin user of the first preparation is still there"
        assert embedded.sign_in("admin", "another") == 200

    def test_sigterm_ends_it_gently(self, embedded: Product) -> None:
        assert stop_in_time(embedded)
        assert embedded.events("scheduler.stopped")

    def test_sigterm_ends_it_in_time_though_a_call_is_stuck(self, embedded: Product) -> None:
        with sqlite3.connect(embedded.folder / "data" / "postern.sqlite3", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with ThreadPoolExecutor() as caller:
                stuck = caller.submit(embedded.sign_in, "nobody", "wrong")
                time.sleep(0.5)
                assert not stuck.done(), "nobody can write"
                assert stop_in_time(embedded)


class TestWrongVariable:
    @pytest.mark.parametrize("command", ["prepare", "up"])
    @pytest.mark.parametrize(
        ("variable", "value", "rule"),
        [("PORT", "eighty", "must be a whole number"), ("AMQP_URL", "http://broker", "must be amqp://")],
    )
    def test_stops_the_start_with_one_line_that_names_it_and_the_rule(
        self, tmp_path: Path, command: str, variable: str, value: str, rule: str
    ) -> None:
        done = Product(tmp_path).manage(command, variables={variable: value})
        assert done.returncode == 1
        assert done.stderr.startswith(f"{variable}: {rule}")
        assert len(done.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def nodes(engines: dict[str, PrivateServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Product]]:
    """Two nodes of one database."""
    with own_database(engines["database"].url) as database:
        more = {"ADMIN_PASSWORD": "correct-horse-battery", "METRICS_ALLOWED_NETWORKS": "127.0.0.0/8"}
        variables = {**variables_of(engines, database), **more}
        both = [Product(tmp_path_factory.mktemp(name), **variables) for name in ("first", "second")]
        with ThreadPoolExecutor() as threads:
            told = list(threads.map(Product.prepare, both))
        assert all(text.endswith("/admin/\n") for text in told), "the password was given: it is not printed"
        yield both
        for node in both:
            if node.process is not None:
                node.kill()


@pytest.fixture
def full(nodes: list[Product]) -> Product:
    nodes[0].ensure_started()
    return nodes[0]


def read_name(pid: int) -> str:
    """Read what `ps` and `top` call a process; it has its own name a moment after it has begun."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


@pytest.mark.xdist_group("engines")
class TestFullProfile:
    def test_two_nodes_that_prepare_one_database_at_once_make_one_admin(self, nodes: list[Product]) -> None:
        with psycopg.connect(nodes[0].environment["DATABASE_URL"]) as database:
            assert database.execute("SELECT username FROM auth_user").fetchall() == [("admin",)]

    def test_every_process_is_up(self, full: Product) -> None:
        assert wait_until(lambda: set(full.children()) == NAMES, 60)
        assert all(is_running(pid) for pid in full.children().values())
        named = {f"postern {name}"[:15] for name in NAMES}
        assert wait_until(lambda: set(map(read_name, full.children().values())) == named, 60), "for an operator to find"
        assert full.engines() == {"database": "ok", "amqp": "ok", "redis": "ok", "clickhouse": "ok", "status": 200}

    def test_a_task_runs_on_a_worker_under_the_id_of_its_sender(
        self, full: Product, engines: dict[str, PrivateServer]
    ) -> None:
        with app.connection_for_write(engines["amqp"].url) as connection, correlated("sender-0001"):
            app.send_task("run_upkeep", args=["forget_old_answers"], connection=connection)

        def mine() -> list[dict[str, Any]]:
            """The broker may hold tasks of other tests: the one with this id counts."""
            return [done for done in full.events("upkeep.done") if done["correlation_id"] == "sender-0001"]

        assert wait_until(mine, 60), full.read_log()
        assert mine()[0]["process"] == "worker"

    def test_each_killed_process_is_back(self, full: Product) -> None:
        before = full.children()
        for pid in before.values():
            os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: all(full.children()[name] != pid for name, pid in before.items()), 60)
        # Callers wait on the supervisor's socket while the web server is away.
        assert full.get("/healthz")[0] == 200
        assert all(is_running(pid) for pid in full.children().values())

    def test_metrics_sum_all_processes(self, full: Product) -> None:
        status, text = full.get("/metrics")
        assert status == 200
        assert 'postern_daemon_turns_total{name="listen"}' in text, "counted by the scheduler, told by the web server"

    def test_a_killed_supervisor_takes_everything_with_it_and_another_can_start(self, full: Product) -> None:
        before = full.children()
        full.kill()
        assert wait_until(lambda: not any(is_running(pid) for pid in before.values()), 60)
        full.start()
        assert full.engines()["status"] == 200

    def test_sigterm_ends_all_in_order_within_ten_seconds(self, full: Product) -> None:
        children = full.children()
        assert wait_until(lambda: "ready." in full.read_log().rpartition("process.started")[2], 60)
        assert stop_in_time(full)
        assert not any(is_running(pid) for pid in children.values())
        asked = [event["name"] for event in full.events("process.stopping")]
        assert asked[-len(PROCESSES) :] == [process.name for process in PROCESSES]


@pytest.mark.xdist_group("embedded")
class TestWithParent:
    def test_ends_with_the_process_that_started_it(self, prepared: Prepared, tmp_path: Path) -> None:
        other = Product(tmp_path, DATA_DIR=prepared.product.environment["DATA_DIR"])
        # What follows makes the shell wait for the product instead of becoming it.
        starter = other.spawn("up", "--with-parent", log=tmp_path / "up.log", shell="{}; true")
        assert wait_until(lambda: other.get("/healthz")[0] == 200, 60), other.read_log()
        starter.kill()
        starter.wait()
        assert wait_until(lambda: other.events("scheduler.stopped"), 60)
