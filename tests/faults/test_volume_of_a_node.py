"""A web server and a worker on nodes of their own: the one that loses its mount of the message volume says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import ServerAddresses
from tests.faults.product import Product, migrated_database
from tests.faults.wait import wait_until

pytestmark = pytest.mark.broker

ALERTS = "SELECT status, subject, detail->>'path' FROM notifications_alert WHERE kind = 'storage.volume'"


@pytest.fixture
def node(servers: ServerAddresses, tmp_path: Path) -> Iterator[Product]:
    with migrated_database(servers.database) as database:
        product = Product(tmp_path, DATABASE_URL=database, AMQP_URL=servers.amqp)
        product.copy_template()
        product.run("prepare", "--skip-checks")
        yield product
        product.close()


def alerts(node: Product) -> list[tuple[Any, ...]]:
    with psycopg.connect(node.environment["DATABASE_URL"]) as connection:
        return connection.execute(ALERTS).fetchall()


@contextmanager
def without_volume(node: Product, command: str) -> Iterator[Path]:
    """Run one process on a node whose mount is gone; what is left is the folder."""
    messages = node.folder / "data" / "messages"
    messages.rename(messages.with_name("away"))
    messages.mkdir()
    process = node.fork(command, log=node.folder / "node.log")
    try:
        yield messages
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("command", ["run_web", "run_worker"])
def test_a_node_that_alone_loses_its_mount_raises_the_alert(node: Product, command: str) -> None:
    with without_volume(node, command) as messages:
        assert_alert(node, "open")
        ((_, subject, path),) = alerts(node)
        assert (subject.startswith("volume/"), path) == (True, str(messages))


def test_and_closes_it_when_it_sees_the_volume_again(node: Product) -> None:
    with without_volume(node, "run_web") as messages:
        assert_alert(node, "open")
        messages.rmdir()
        messages.with_name("away").rename(messages)
        assert_alert(node, "resolved")


def assert_alert(node: Product, status: str) -> None:
    assert wait_until(lambda: [row[0] for row in alerts(node)] == [status], 60), (node.folder / "node.log").read_text()
