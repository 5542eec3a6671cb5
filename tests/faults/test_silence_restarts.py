"""Sensors that talk all the while, and a side of ours that is away again and again: only true silence is told.

The server is killed, stopped or frozen for up to three times the sensors' timeout, the broker is frozen for up to 13
seconds. Nobody who talks is called lost, so nobody is called back; who falls silent afterwards is told of in time.
"""

import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.common.key_text import make_key
from tests.faults.process_group import ProcessGroup
from tests.faults.product import migrated_database
from tests.faults.wait import wait_until
from tests.sensors.amqp import Broker, connected
from tests.servers.private_server import PrivateServer

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
ROUNDS = max(1, int(24 * SCALE))
FREEZES = max(1, int(12 * SCALE))
IS_SMALL = ROUNDS == 1
TIMEOUT = 2
# In timeouts; the few of a small run are such that they would be told if they were taken for silence.
SHORTEST, LONGEST = (2.7, 3) if IS_SMALL else (0, 3)
TOLD_WITHIN = timedelta(seconds=20)
TURN_SECONDS, TURNS = 0.12, 16
"""Each sensor has a turn of its own, just within its timeout: after an outage some are heard late."""
TALKERS = [f"talker{number}" for number in range(TURNS)]
SILENT = [f"silent{number}" for number in range(ROUNDS)]

pytestmark = [pytest.mark.xdist_group("engines"), pytest.mark.timeout(1800 + 3600 * SCALE)]


class Talk:
    """Whoever talks says so in each of its turns, whether somebody hears it or not."""

    def __init__(self, say: Callable[[list[str]], bool], *, at_once: int) -> None:
        self.names = [*TALKERS, *SILENT]
        self.heard = 0
        self._say, self._is_over = say, threading.Event()
        self._last, self._longest_pause = time.monotonic(), 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._saying = ThreadPoolExecutor(at_once)

    @contextmanager
    def going_on(self) -> Iterator["Talk"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._is_over.set()
            self._thread.join(120)
            self._saying.shutdown(cancel_futures=True)

    def is_heard(self) -> bool:
        """Wait until everybody who talks has been heard after now."""
        before = self.heard
        return wait_until(lambda: self.heard > before + TURNS, 60)

    def assert_steady(self) -> None:
        """A machine that stands still for so long silences the sensors themselves."""
        if self._longest_pause > TIMEOUT:
            pytest.skip(f"the sensors themselves have paused for {self._longest_pause:.1f} s")

    def _run(self) -> None:
        for turn in itertools.count():
            if self._is_over.wait(TURN_SECONDS):
                return
            now = time.monotonic()
            self._longest_pause, self._last = max(self._longest_pause, now - self._last), now
            speakers = self.names[turn % TURNS :: TURNS]
            self._saying.submit(self._speak, speakers)

    def _speak(self, speakers: list[str]) -> None:
        if self._say(speakers):
            self.heard += 1


def told(group: ProcessGroup) -> list[tuple[str, str, timedelta]]:
    return group.rows(
        "SELECT subject, type, recorded_at - at FROM notifications_event "
        "WHERE type LIKE 'sensor.connection_%' ORDER BY id"
    )


def assert_only_true_silence_is_told(group: ProcessGroup, talk: Talk, silent: str) -> None:
    """Let one more fall silent; once it is told of, so is every false loss that came before."""
    talk.names.remove(silent)
    lost = [(f"sensor/{name}", "sensor.connection_lost") for name in SILENT[: SILENT.index(silent) + 1]]
    assert wait_until(lambda: lost[-1][0] in [subject for subject, _, _ in told(group)], 60), group.logs()
    found = told(group)
    if [(subject, kind) for subject, kind, _ in found] != lost:
        talk.assert_steady()
    assert [(subject, kind) for subject, kind, _ in found] == lost
    assert found[-1][2] < TOLD_WITHIN


class TestServer:
    """Everything in one process, called over REST."""

    @pytest.fixture
    def group(self, tmp_path: Path, servers: Any) -> Iterator[ProcessGroup]:
        with migrated_database(servers.database) as database:
            made = ProcessGroup(tmp_path, DATABASE_URL=database)
            made.register([*TALKERS, *SILENT], timeout=TIMEOUT)
            made.start("up", "up")
            yield made
            made.end()

    @pytest.fixture
    def talk(self, group: ProcessGroup) -> Iterator[Talk]:
        key = make_key("service")
        with psycopg.connect(group.database) as connection:
            connection.execute(
                "INSERT INTO records_accesskey (name, kind, subject, scopes, prefix, digest)"
                " VALUES ('sensors', 'service', '', '[\"signals:write\"]', %s, %s)",
                [key.prefix, key.digest],
            )

        def say(names: list[str]) -> bool:
            signals = [{"sensor_id": name, "data": 1} for name in names]
            return group.product.call("POST", "/api/v1/signals/", signals, key=key.text, seconds=1)[0] == 202

        with Talk(say, at_once=20).going_on() as talk:
            yield talk

    def test_no_outage_of_the_server_is_a_silence_of_the_sensors(self, group: ProcessGroup, talk: Talk) -> None:
        chance = random.Random(3)
        assert talk.is_heard(), group.logs()
        for silent in SILENT:
            for be_away in self.choose_outages(chance):
                be_away(group, chance.uniform(SHORTEST, LONGEST) * TIMEOUT)
                assert talk.is_heard(), group.logs()
            assert_only_true_silence_is_told(group, talk, silent)

    def choose_outages(self, chance: random.Random) -> list[Callable[[ProcessGroup, float], None]]:
        return [self.die, self.freeze] if IS_SMALL else chance.sample([self.die, self.stop, self.freeze], 2)

    def die(self, group: ProcessGroup, seconds: float) -> None:
        group.kill("up")
        time.sleep(seconds)
        group.start("up", "up")

    def stop(self, group: ProcessGroup, seconds: float) -> None:
        group.stop("up")
        time.sleep(seconds)
        group.start("up", "up")

    def freeze(self, group: ProcessGroup, seconds: float) -> None:
        group.processes["up"].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        group.processes["up"].send_signal(signal.SIGCONT)


class TestBroker:
    """Consumers and scheduler as processes of their own; sensors that talk over AMQP."""

    @pytest.fixture
    def group(self, tmp_path: Path, servers: Any, engines: dict[str, PrivateServer]) -> Iterator[ProcessGroup]:
        with migrated_database(servers.database) as database:
            made = ProcessGroup(tmp_path, DATABASE_URL=database, AMQP_URL=engines["amqp"].url)
            made.register([*TALKERS, *SILENT], timeout=TIMEOUT)
            made.start("scheduler", "run_scheduler")
            made.start("ingest", "run_ingest")
            yield made
            made.end()

    @pytest.fixture
    def talk(self, engines: dict[str, PrivateServer]) -> Iterator[Talk]:
        """What is said while the broker stands still lies in the socket, and arrives with the rest."""
        with connected(engines["amqp"].url) as channel:
            broker = Broker(channel)

            def say(names: list[str]) -> bool:
                broker.send_all([{"sensor_id": name, "data": 1} for name in names])
                return True

            with Talk(say, at_once=1).going_on() as talk:
                yield talk

    def test_no_frozen_broker_is_a_silence_of_the_sensors(
        self, group: ProcessGroup, talk: Talk, engines: dict[str, PrivateServer]
    ) -> None:
        chance = random.Random(4)
        seen = "SELECT count(*) FROM sensors_sensorstate WHERE seen_at IS NOT NULL"
        assert wait_until(lambda: group.rows(seen)[0][0] == len(talk.names), 60), group.logs()
        for silent in SILENT[:FREEZES]:
            with engines["amqp"].frozen():
                time.sleep(chance.uniform(SHORTEST, LONGEST) * TIMEOUT if IS_SMALL else chance.uniform(1, 13))
            assert talk.is_heard(), group.logs()
            assert_only_true_silence_is_told(group, talk, silent)
