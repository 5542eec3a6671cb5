"""The same flood against the full profile: all four engines, and two nodes that serve."""

import time
from collections.abc import Iterator

import pytest

from tests.faults.everyday import Everyday
from tests.faults.flood_scenario import Watch, fill_queue, flooded, make_world
from tests.faults.product import PASSWORD, Product, migrated_database, variables_of
from tests.faults.test_flood import MOST_MEMORY_MB, QUIET_SECONDS, SECONDS, report_flood
from tests.faults.wait import wait_until
from tests.servers.private_server import PrivateServer

pytestmark = [pytest.mark.xdist_group("engines"), pytest.mark.timeout(1800)]

START_SECONDS = 120.0


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory, engines: dict[str, PrivateServer]) -> Iterator[list[Product]]:
    """One node with all processes, and a second one that serves: each has a port, and the data folder is shared."""
    with migrated_database(engines["database"].url) as database:
        variables = variables_of(engines, database) | {"ADMIN_PASSWORD": PASSWORD, "LOG_LEVEL": "ERROR"}
        folder = tmp_path_factory.mktemp("nodes")
        first, second = Product(folder, **variables), Product(folder, **variables)
        first.copy_template()
        first.prepare()
        first.environment["LOG_LEVEL"] = "INFO"  # that names its processes
        first.start(seconds=START_SECONDS)
        second.process = second.spawn("run_web", log=folder / "second.log")
        assert wait_until(lambda: second.get("/healthz")[0] == 200, START_SECONDS)
        yield [first, second]
        for node in (second, first):
            node.stop()


def test_nobody_notices_a_flood_of_two_nodes(nodes: list[Product], capsys: pytest.CaptureFixture[str]) -> None:
    first, second = nodes
    assert second.process is not None
    keys = make_world(first)
    fill_queue(first, keys)
    everyday = Everyday(nodes, keys)
    everyday.run(2.0)
    calm = everyday.run(SECONDS / 2)
    watches = [Watch(first.children()["web"], first.port), Watch(second.process.pid, second.port)]
    with flooded(nodes, keys, "flood", SECONDS + 2) as flood:
        time.sleep(1.0)
        busy = everyday.run(SECONDS)
    memory = [watch.stop() for watch in watches]
    with capsys.disabled():
        report_flood(calm, busy, memory, flood)
    assert {name: times.failures for name, times in busy.items() if times.failures} == {}
    assert max(memory) < MOST_MEMORY_MB
    assert wait_until(lambda: all(watch.connections() == 0 for watch in watches), QUIET_SECONDS)
    after = everyday.run(1.0)
    assert all(not times.failures for times in after.values())


def test_a_rate_of_a_key_holds_across_the_nodes(nodes: list[Product]) -> None:
    key = nodes[0].manage("create_key", "often", "--scope", "registry:read").stdout.strip()
    for node in nodes:
        node.stop()
        node.environment["KEY_RATE"] = "20"
    nodes[0].start(seconds=START_SECONDS)
    nodes[1].process = nodes[1].spawn("run_web", log=nodes[1].folder / "second.log")
    assert wait_until(lambda: nodes[1].get("/healthz")[0] == 200, START_SECONDS)
    if time.time() % 60 > 45:  # all of them within one minute of the clock
        time.sleep(61 - time.time() % 60)
    answers = [nodes[turn % 2].call("GET", "/api/v1/sensors/", key=key)[0] for turn in range(22)]
    assert answers == [200] * 20 + [429] * 2
