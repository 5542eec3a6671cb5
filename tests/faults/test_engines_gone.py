"""Each engine stopped and started under `manage.py up`: `/readyz` follows, and nothing exits for good."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from config.celery import QUEUE, app
from config.common.correlation import correlated
from config.engines.publisher import NotPublished, Publisher
from config.runtime.processes import PROCESSES
from tests.faults.product import Product, is_running, migrated_database, variables_of
from tests.faults.wait import wait_until
from tests.servers.private_server import PrivateServer

pytestmark = pytest.mark.xdist_group("engines")

ALL_OK = {"database": "ok", "amqp": "ok", "redis": "ok", "clickhouse": "ok", "status": 200}


@dataclass
class Installation:
    product: Product
    engines: dict[str, PrivateServer]
    told: str
    """What the preparation printed, which had begun before the database was there."""


@pytest.fixture(scope="module")
def installation(engines: dict[str, PrivateServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with migrated_database(engines["database"].url) as database:
        product = Product(tmp_path_factory.mktemp("engines"), **variables_of(engines, database))
        product.copy_template()
        told = prepare_while_the_database_is_away(product, engines["database"])
        product.start()
        assert wait_until(lambda: product.engines() == ALL_OK, 60), product.read_log()
        yield Installation(product, engines, told)
        product.kill()


def prepare_while_the_database_is_away(product: Product, database: PrivateServer) -> str:
    log = product.folder / "prepare.log"
    database.stop()
    preparation = product.spawn("prepare", log=log)
    assert wait_until(lambda: "Waiting for the database" in log.read_text(), 60), log.read_text()
    database.start()
    assert preparation.wait(60) == 0, log.read_text()
    return log.read_text()


class TestPrepare:
    def test_waits_for_a_database_that_is_not_up_yet_and_says_so(self, installation: Installation) -> None:
        assert installation.told.count("Waiting for the database: ") >= 1
        assert "Password:  " in installation.told


@pytest.mark.parametrize("engine", ["redis", "clickhouse", "database"])
class TestEngineGone:
    def test_readyz_follows_and_nothing_exits_for_good(self, engine: str, installation: Installation) -> None:
        product, server = installation.product, installation.engines[engine]
        server.stop()
        assert_down(product, engine)
        server.start()
        assert_all_ready(product)
        assert product.get("/admin/login/")[0] == 200


class TestBrokerGone:
    def test_readyz_follows_and_everyone_returns_to_it(self, installation: Installation, settings: Any) -> None:
        product, broker = installation.product, installation.engines["amqp"]
        settings.AMQP_URL = broker.url
        publisher = Publisher()
        assert is_published(publisher)
        broker.kill()
        assert_down(product, "amqp")
        assert not is_published(publisher)
        broker.start()
        assert_all_ready(product)
        assert wait_until(lambda: is_published(publisher), 60), "the publisher has found the broker again"
        publisher.close()
        assert self.does_a_task(product, broker.url), "the worker has found the broker again"

    def does_a_task(self, product: Product, url: str) -> bool:
        with app.connection_for_write(url) as connection, correlated("after-the-restart"):
            app.send_task("run_upkeep", args=["forget_old_answers"], connection=connection)
        return wait_until(lambda: '"correlation_id": "after-the-restart"' in product.read_log(), 60)


def is_published(publisher: Publisher) -> bool:
    """Publish to the queue of the workers, which outlives the broker; they refuse what is no task of theirs."""
    try:
        publisher.publish(b"{}", exchange="", routing_key=QUEUE, deadline=1)
    except NotPublished:
        return False
    return True


def assert_down(product: Product, engine: str) -> None:
    told = {**ALL_OK, engine: "down", "status": 503 if engine == "database" else 200}
    assert wait_until(lambda: product.engines() == told, 60), (product.engines(), product.read_log()[-4000:])
    assert product.get("/healthz") == (200, "ok")


def assert_all_ready(product: Product) -> None:
    """A process may have ended for want of its engine; then it is back after a pause of some seconds at most."""
    assert wait_until(lambda: product.engines() == ALL_OK, 60), (product.engines(), product.read_log()[-4000:])
    assert wait_until(lambda: all(is_running(pid) for pid in product.children().values()), 60)
    assert set(product.children()) == {process.name for process in PROCESSES}
