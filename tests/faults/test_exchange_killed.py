"""Ten databases and fifty devices over two web nodes, two workers and a scheduler, one of which is killed every few
seconds. At the end the sets are equal: every message took effect once, every reply was confirmed once."""

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from messaging.simulation.devices import Crowd, Device, Plan
from messaging.simulation.journal import Journal
from processes.exchange.reference.faults import Rates
from processes.exchange.reference.ledger import count_effects, open_store, read_balances
from tests.faults.exchange_clients import ENTERPRISE, CallsOfNodes, RestartingErp, ServerOfNodes, register
from tests.faults.exchange_deployment import Deployment
from tests.faults.product import migrated_database, variables_of
from tests.servers.private_server import PrivateServer

pytestmark = [pytest.mark.xdist_group("engines"), pytest.mark.timeout(7200)]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
MESSAGES = int(20_000 * SCALE) if SCALE >= 1 else 200
# In the small one fewer are quicker, so that the same things happen in less time.
DATABASES, DEVICES = (10, 50) if SCALE >= 1 else (4, 10)
PATIENCE = 8 if SCALE >= 1 else 4
PAUSES = (1.0, 5.0) if SCALE >= 1 else (1.0, 2.5)
SENDING_SECONDS = 0.0 if SCALE >= 1 else 4.0
STANDSTILL_SECONDS = 120
RATES = Rates(deadlock=0.02, incorrect=0.03, leave_out=0.02, commit_failure=0.03, crash=0.06 if SCALE >= 1 else 0.12)
UNSETTLED = """
SELECT (SELECT count(*) FROM messaging_message
        WHERE status NOT IN ('processed', 'incorrect') OR moving_from <> '' OR process IS NOT NULL)
     + (SELECT count(*) FROM exchange_exchangeprocess
        WHERE status IN ('STARTED', 'READY_TO_COMMIT', 'CLEANUP', 'FAILED', 'IN_DOUBT'))
"""


@pytest.fixture
def deployment(engines: dict[str, PrivateServer], tmp_path: Path) -> Iterator[Deployment]:
    with migrated_database(engines["database"].url) as database:
        variables = variables_of(engines, database)
        del variables["CLICKHOUSE_URL"]
        timeouts = {f"EXCHANGE_{name}_TIMEOUT": str(PATIENCE) for name in ("STARTED", "READY")}
        made = Deployment(tmp_path, **variables, **timeouts)
        made.start()
        yield made
        made.end()


class Scenario:
    """The devices and the ERPs around the deployment, in threads of this process."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.journal = Journal(deployment.folder / "journal")
        keys = register(deployment.database, databases=DATABASES, devices=DEVICES)
        databases = [id for id in keys if id.startswith("erp")]
        phones = [id for id in keys if id.startswith("phone")]
        devices = [
            Device(id, CallsOfNodes(deployment.urls, keys[id], first=n % 2), self.journal)
            for n, id in enumerate(phones)
        ]
        rate = MESSAGES / SENDING_SECONDS if SENDING_SECONDS else 0
        plan = Plan(to=databases, rate=rate, messages=MESSAGES, linger=float("inf"), threads=8)
        self._crowd = Crowd(devices, self.journal, plan)
        self.erps = [
            RestartingErp(
                id,
                ServerOfNodes(deployment.urls, keys[id], first=n % 2),
                deployment.folder / id,
                RATES,
                away=PATIENCE + 3,
            )
            for n, id in enumerate(databases)
        ]

    def run(self, chance: random.Random) -> None:
        """Let all work until everything is settled, while members of the deployment are killed.

        This thread starts them: what a thread has started ends with it.
        """
        with ThreadPoolExecutor(DATABASES + 1) as threads, ExitStack() as last:
            work = [threads.submit(erp.run) for erp in self.erps] + [threads.submit(self._crowd.run)]
            last.callback(self._stop)
            progress = Progress(self.journal.totals)
            while not self._is_over_within(chance.uniform(*PAUSES)):
                _raise_from(work)
                assert progress.goes_on(), self.deployment.logs()
                self.deployment.strike(chance)
                # On a busy machine nobody would ever come up if they were killed by the clock alone.
                assert self.deployment.is_up_within(120), self.deployment.logs()
        _raise_from(work)

    def close(self) -> None:
        self._crowd.close()
        for erp in self.erps:
            erp.server.close()
        self.journal.close()

    def _is_over_within(self, seconds: float) -> bool:
        """Wait so long, or until every message is settled and every reply confirmed."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.2)
            totals = self.journal.totals()
            is_told = totals.accepted == MESSAGES and totals.fetched == totals.confirmed
            if is_told and self.deployment.rows(UNSETTLED) == [(0,)]:
                return True
        return False

    def _stop(self) -> None:
        self._crowd.stop.set()
        for erp in self.erps:
            erp.stop.set()


class Progress:
    """How long all this takes depends on the machine; that nothing happens at all for minutes does not."""

    def __init__(self, measure: Callable[[], object]) -> None:
        self._measure = measure
        self._last, self._at = measure(), time.monotonic()

    def goes_on(self) -> bool:
        now = self._measure()
        if now != self._last:
            self._last, self._at = now, time.monotonic()
        return time.monotonic() - self._at < STANDSTILL_SECONDS


def _raise_from(work: Sequence["Future[None]"]) -> None:
    for future in work:
        if future.done():
            future.result()


class Sent:
    """What the devices know: each message with its sender, its database and its booking; the incorrect ones apart."""

    def __init__(self, scenario: Scenario) -> None:
        rows = scenario.journal._run("SELECT id, device, body FROM sent WHERE accepted_at IS NOT NULL")
        self.sender = {id: device for id, device, _ in rows}
        bodies = {id: json.loads(body) for id, _, body in rows}
        self.database = {id: body["to"] for id, body in bodies.items()}
        self.booking = {id: body["payload"] for id, body in bodies.items()}
        faults = {erp.id: erp.faults for erp in scenario.erps}
        self.incorrect = {id for id, to in self.database.items() if faults[to].is_incorrect(id)}
        self.right = self.sender.keys() - self.incorrect


def check_effects(scenario: Scenario, sent: Sent) -> None:
    """The database of each ERP holds the effect of every right message exactly once, and of no other."""
    for erp in scenario.erps:
        mine = [id for id in sent.right if sent.database[id] == erp.id]
        balances: Counter[str] = Counter()
        for id in mine:
            balances[sent.booking[id]["account"]] += sent.booking[id]["amount"]
        with closing(open_store(str(erp.store))) as store:
            assert count_effects(store) == Counter(mine)
            assert read_balances(store) == balances


def check_replies(scenario: Scenario, sent: Sent) -> None:
    """The device that sent a message has confirmed exactly one reply to it; none came again after that."""
    fetched = scenario.journal._run("SELECT id, device, reply_to FROM fetched WHERE confirmed_at IS NOT NULL")
    assert Counter(reply_to for _, _, reply_to in fetched) == Counter(sent.right)
    assert all(sent.sender[reply_to] == device for _, device, reply_to in fetched)
    assert scenario.journal.totals().came_back == 0
    rows = scenario.deployment.rows("SELECT public_id, status FROM messaging_message WHERE direction = 'reply'")
    assert dict(rows) == {id: "processed" for id, _, _ in fetched}


def check_rows(deployment: Deployment, sent: Sent) -> None:
    requests = deployment.rows("SELECT public_id, status FROM messaging_message WHERE direction = 'request'")
    assert dict(requests) == dict.fromkeys(sent.right, "processed") | dict.fromkeys(sent.incorrect, "incorrect")
    received = deployment.rows(
        "SELECT subject, count(*) FROM notifications_event WHERE type = 'message.received' GROUP BY 1"
    )
    assert dict(received) == {f"message/{ENTERPRISE}/{id}": 1 for id in sent.sender}
    assert statuses(deployment).keys() <= {"DONE", "ROLLED_BACK", "INTERRUPTED", "TIMED_OUT"}
    told = deployment.rows("SELECT subject, count(*) FROM notifications_event WHERE type = 'exchange.done' GROUP BY 1")
    done = deployment.rows("SELECT 'process/' || id FROM exchange_exchangeprocess WHERE status = 'DONE'")
    assert dict(told) == {subject: 1 for (subject,) in done}


def check_files(deployment: Deployment) -> None:
    """Every file lies where its row says, under its row's name; of drafts only such are left as no row knows."""
    rows = deployment.rows(
        "SELECT database_id, folder, public_id, device_id, direction, size, token FROM messaging_message"
    )
    belongs = {
        (base, folder, id, *_parties(base, device, direction)): size
        for base, folder, id, device, direction, size, _ in rows
    }
    lies = {}
    for path in deployment.messages.glob("*/*/*.json"):
        _, id, sender, to, _ = path.name.split("_")
        lies[(path.parts[-3], path.parts[-2], id, sender, to)] = path.stat().st_size
    assert lies == belongs
    assert {folder for _, folder, *_ in lies} <= {"Log", "Error"}
    tokens = {token.hex for *_, token in rows}
    left = {path.name.removeprefix(".draft-") for path in deployment.messages.glob("*/*/.draft-*")}
    assert not tokens & left


def check_alerts(deployment: Deployment) -> None:
    """Nobody had to be told of a file that is lost, of a move that failed or of an ERP that contradicts."""
    kinds = {kind for (kind,) in deployment.rows("SELECT kind FROM notifications_alert")}
    assert not kinds & {"exchange.contradiction", "exchange.failed", "message.file"}
    open_doubts = "SELECT FROM notifications_alert WHERE kind = 'exchange.in_doubt' AND status <> 'resolved'"
    assert not deployment.rows(open_doubts)


def statuses(deployment: Deployment) -> dict[str, int]:
    return dict(deployment.rows("SELECT status, count(*) FROM exchange_exchangeprocess GROUP BY 1"))


def describe(scenario: Scenario, seconds: float) -> str:
    [(doubts,)] = scenario.deployment.rows("SELECT count(*) FROM notifications_event WHERE type = 'exchange.in_doubt'")
    endings: Counter[str] = sum((erp.endings for erp in scenario.erps), Counter())
    return "\n".join(
        (
            f"{MESSAGES} messages in {seconds:.0f} s: {MESSAGES / seconds:.0f} a second",
            f"killed: {dict(scenario.deployment.kills)}; ERPs died {sum(erp.deaths for erp in scenario.erps)} times",
            f"processes: {statuses(scenario.deployment)}, in doubt for a while: {doubts}",
            f"ERPs: { {str(ending): times for ending, times in endings.items()} }",
        )
    )


def _parties(database: str, device: str, direction: str) -> tuple[str, str]:
    return (device, database) if direction == "request" else (database, device)


def test_random_kills_lose_nothing_and_double_nothing(deployment: Deployment, capsys: Any) -> None:
    scenario = Scenario(deployment)
    began = time.monotonic()
    try:
        scenario.run(random.Random(11))
        with capsys.disabled():
            print(f"\n{describe(scenario, time.monotonic() - began)}")
        sent = Sent(scenario)
        assert len(sent.sender) == MESSAGES
        assert sum(deployment.kills.values()) >= 2, "there was something to survive"
        check_effects(scenario, sent)
        check_replies(scenario, sent)
        check_rows(deployment, sent)
        check_files(deployment)
        check_alerts(deployment)
    finally:
        scenario.close()
