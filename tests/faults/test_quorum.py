"""A primary with two standbys, one of which must confirm each commit, killed under load.

The standby that has received more is promoted, the other follows it, and the old primary is started again beside them;
in the large drill the primary is also cut off alive.
The product was told of all three hosts at its start and goes on by itself; of what it had acknowledged nothing is lost
and nothing is done again.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from config.engines.quorum import NotConfirmed, QuorumConnection
from tests.faults import test_exchange_killed as exchange
from tests.faults.quorum_scenario import DATABASE, LATER, Deployment, Scenario
from tests.faults.wait import wait_until
from tests.servers.cluster import Cluster, Node
from tests.servers.private_server import HOST
from tests.webhook_receiver import run_receiver

pytestmark = [pytest.mark.timeout(1800)]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
ROUNDS = 1 if SCALE < 1 else 3
ANSWERS = max(10, int(120 * SCALE))
"""How often each of the users is answered before the primary is killed, and after."""
SENSORS = max(3000, int(50_000 * SCALE))
DATABASES, DEVICES = (5, 20) if SCALE >= 1 else (2, 4)
CUT_SECONDS = 0.5
PATIENCE = 60.0
REST_SECONDS = 60.0 + 600 * SCALE


@dataclass(frozen=True)
class Seen:
    """What could be seen to be done before the primary was killed."""

    deliveries: frozenset[str]
    calls: int


@contextmanager
def scenario_on(cluster: Cluster, folder: Path) -> Iterator[Scenario]:
    """Let the product and its users work on the cluster."""
    app = Deployment(folder, cluster)
    with run_receiver() as receiver:
        app.prepare()
        app.start()
        try:
            scenario = Scenario(app, receiver, databases=DATABASES, devices=DEVICES, sensors=SENSORS)
            cluster.replicate()
            app.await_start()
            scenario.start()
            try:
                yield scenario
            finally:
                scenario.close()
        finally:
            app.end()


def lose_the_primary(scenario: Scenario, cluster: Cluster, seen: list[Seen], *, kill: bool) -> Node:
    """Cut one standby off, so that the other has more; then that one as well; then kill the primary, or forget it.

    Between the last two nothing can be acknowledged: a primary that acknowledges all the same loses it.
    """
    behind, ahead = cluster.standbys
    behind.follow(None)
    scenario.go_on(ANSWERS, PATIENCE)
    seen.append(look(scenario))
    ahead.follow(None)
    time.sleep(CUT_SECONDS)
    old = cluster.fail_over(kill=kill)
    assert cluster.primary is ahead
    if kill:
        old.start()
    return old


def look(scenario: Scenario) -> Seen:
    delivered = scenario.deployment.rows(
        "SELECT message_id::text FROM notifications_delivery WHERE status = 'delivered'"
    )
    return Seen(frozenset(pk for (pk,) in delivered), len(scenario.receiver.calls))


def check_that_it_acknowledges_nothing(old: Node) -> None:
    """It takes statements, and its commits wait for a standby that never comes."""
    address = f"{old.url.rpartition('/')[0]}/{DATABASE}"
    with closing(psycopg.connect(address, autocommit=True, target_session_attrs="read-write")) as writer:
        writer.pgconn.send_query(b"UPDATE notifications_theme SET delay = delay")
        waits = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'SyncRep'"
        assert wait_until(lambda: old.run(waits, [writer.info.backend_pid]) == [(1,)], 60)
        time.sleep(CUT_SECONDS)
        assert old.run(waits, [writer.info.backend_pid]) == [(1,)]
    with pytest.raises(NotConfirmed):
        QuorumConnection.connect(host=HOST, port=str(old.port), user="postgres", dbname=DATABASE)


def is_left(old: Node) -> bool:
    return not old.run("SELECT 1 FROM pg_stat_activity WHERE application_name = 'postern' AND wait_event <> 'SyncRep'")


def check_sessions(scenario: Scenario, seen: Sequence[Seen]) -> None:
    """What was to be repeated tomorrow waits; what was to be repeated at once is gone, and was never repeated again."""
    saved = dict(scenario.deployment.rows("SELECT id, status FROM notifications_repeatsession"))
    later = {pk for pk, delay in scenario.saver.acknowledged.items() if delay == LATER}
    assert {pk: saved.get(pk) for pk in later} == dict.fromkeys(later, "saved")
    noted = [int(line) for line in scenario.deployment.log.read_text().split()]
    soon = scenario.saver.acknowledged.keys() - later
    assert soon <= set(noted)
    assert not soon & saved.keys()
    over: set[int] = set()
    for pk in noted:
        assert pk not in over, "repeated after its end was acknowledged"
        if pk < 0:
            over.add(-pk)


def check_exchange(scenario: Scenario, seen: Sequence[Seen]) -> None:
    """Each message took effect once, each reply was confirmed once, what an ERP was told is done is done."""
    around = cast(Any, scenario)
    sent = exchange.Sent(around)
    exchange.check_effects(around, sent)
    exchange.check_replies(around, sent)
    exchange.check_rows(around.deployment, sent)
    exchange.check_files(around.deployment)
    done = {
        str(pk) for (pk,) in scenario.deployment.rows("SELECT id FROM exchange_exchangeprocess WHERE status = 'DONE'")
    }
    told = set().union(*(erp.done for erp in scenario.erps))
    assert told
    assert told <= done


def check_deliveries(scenario: Scenario, seen: Sequence[Seen]) -> None:
    """Each opened door was told; what was seen to be delivered is so, and was not sent again."""
    rows = scenario.deployment.rows("SELECT message_id::text, subject, status FROM notifications_delivery")
    assert {f"sensor/{sensor}" for sensor in scenario.signaller.acknowledged} <= {subject for _, subject, _ in rows}
    assert {status for _, _, status in rows} == {"delivered"}
    assert {pk for pk, _, _ in rows} <= {call.id for call in scenario.receiver.taken()}
    for each in seen:
        assert each.deliveries <= {pk for pk, _, _ in rows}
        assert not each.deliveries & {call.id for call in scenario.receiver.calls[each.calls :]}


def check_workflows(scenario: Scenario, seen: Sequence[Seen]) -> None:
    """Each version that was answered is there, and each instance is one chain in which the task was completed once."""
    heads = {str(pk): head for pk, head in scenario.deployment.rows("SELECT id, head FROM workflows_instance")}
    told = scenario.conductor.acknowledged
    assert told
    assert {pk: version for pk, version in told.items() if heads.get(pk, 0) < version} == {}
    versions = scenario.deployment.rows("SELECT instance_id::text, number, parent FROM workflows_version")
    assert len(versions) == sum(heads.values())
    assert all(parent == (number - 1 or None) for _, number, parent in versions)
    done = scenario.deployment.rows(
        "SELECT count(*) FROM workflows_work_item WHERE status = 'done' GROUP BY instance_id"
    )
    assert {times for (times,) in done} == {1}


# Everything of which the product says that it is done belongs here.
CHECKS = (check_sessions, check_exchange, check_deliveries, check_workflows)


def test_a_lost_primary_takes_nothing_acknowledged_with_it(tmp_path: Path, capsys: Any) -> None:
    with Cluster() as cluster, scenario_on(cluster, tmp_path) as scenario:
        seen: list[Seen] = []
        for number in range(ROUNDS):
            scenario.go_on(ANSWERS, PATIENCE)
            # Where it is killed and started again the product has just connected anew; else its sessions hang there.
            is_killed = number % 2 == 0
            old = lose_the_primary(scenario, cluster, seen, kill=is_killed)
            seconds = scenario.go_on(ANSWERS, PATIENCE)
            check_that_it_acknowledges_nothing(old)
            assert not is_killed or wait_until(lambda: is_left(old), 60), "the product is still there"  # noqa: B023
            with capsys.disabled():
                print(f"\n{number}: all were answered again {seconds:.1f} s after {cluster.primary.label} was promoted")
            if number + 1 < ROUNDS:
                cluster.renew(old)
        scenario.come_to_rest(REST_SECONDS, exchange.UNSETTLED)
        for check in CHECKS:
            check(scenario, seen)


@pytest.mark.skipif(SCALE < 1, reason="shows that the drill can fail, which takes long")
def test_what_no_standby_has_confirmed_is_lost_with_the_primary(tmp_path: Path) -> None:
    with Cluster(standby_names="") as cluster, scenario_on(cluster, tmp_path) as scenario:
        for standby in cluster.standbys:
            standby.follow(None)
        scenario.go_on(10, PATIENCE)
        cluster.fail_over()
        kept = {pk for (pk,) in scenario.deployment.rows("SELECT id FROM notifications_repeatsession")}
        opened = {pk for (pk,) in scenario.deployment.rows("SELECT sensor_id FROM sensors_sensorstate WHERE value = 1")}
        assert {pk for pk, delay in scenario.saver.acknowledged.items() if delay == LATER} - kept
        assert scenario.signaller.acknowledged - opened
