import time
from datetime import timedelta
from typing import Any

import pytest
from pika.exceptions import StreamLostError

from config.common.database.row_lists import read_lists
from config.dashboard.live import own_processes
from config.dashboard.live.own_processes import (
    GONE_AFTER,
    SILENT_AFTER,
    ask_own_processes,
    read_own_processes,
    read_queues,
)
from config.engines import amqp
from config.records.models import RunningProcess
from notifications.models import Follower
from sensors.history.queue import QUEUE as HISTORY
from sensors.history.queue import declare_history_queue
from tests.config.dashboard.live.conftest import AT
from tests.conftest import ServerAddresses
from tests.faults.silent_servers import Proxy

PATIENCE = 10.0
"""Two time-outs of half a second, on a busy machine; heartbeats are missed after fifteen."""


def runtime(**given: Any) -> dict[str, Any]:
    usual = {"queues": None, "position": 0, "lists": read_lists(ask_own_processes(AT))}
    return read_own_processes(AT, **{**usual, **given})


@pytest.mark.embedded
@pytest.mark.django_db
class TestReadOwnProcesses:
    def test_tells_who_runs_who_is_silent_and_not_who_was_taken_away(self) -> None:
        ages = {"web": timedelta(0), "ingest": SILENT_AFTER * 2, "former": GONE_AFTER * 2}
        for name, age in ages.items():
            RunningProcess.objects.create(node="host:8000", name=name, pid=1, seen_at=AT - age)
        found = runtime()["processes"]
        assert [(each["name"], each["state"]) for each in found] == [("ingest", "silent"), ("web", "ok")]

    def test_tells_how_far_each_follower_is_behind(self) -> None:
        Follower.objects.create(name="history", position=30)
        Follower.objects.create(name="workflows", position=41, failures=2)
        found = runtime(position=41)["followers"]
        lags = {each["name"]: (each["lag"], each["failures"]) for each in found}
        assert (lags["history"], lags["workflows"]) == ((11, 0), (0, 2))

    def test_tells_the_queues_once_they_have_been_read(self) -> None:
        assert "queues" not in runtime()
        found = runtime(queues={"signals.state": 7})["queues"]
        assert found == [{"key": "signals.state", "name": "signals.state", "depth": 7}]


@pytest.mark.broker
class TestReadQueues:
    @pytest.fixture
    def _broker(self, settings: Any, servers: ServerAddresses) -> None:
        settings.AMQP_URL = servers.amqp

    @pytest.mark.usefixtures("_broker")
    def test_counts_what_lies_in_a_queue_and_leaves_out_what_nobody_has_declared(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(own_processes, "QUEUES", ("nobody.has.declared", HISTORY))
        connection = amqp.connect()
        channel = connection.channel()
        declare_history_queue(channel)
        channel.queue_purge(HISTORY)
        channel.confirm_delivery()
        for _ in range(3):
            channel.basic_publish("", HISTORY, b"{}")
        assert read_queues() == {HISTORY: 3}
        channel.queue_purge(HISTORY)
        connection.close()

    @pytest.mark.usefixtures("_broker")
    def test_a_broker_that_goes_while_it_is_asked_is_no_fault_of_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        connection = amqp.connect()

        def lose() -> None:
            raise StreamLostError("gone")

        monkeypatch.setattr(amqp, "connect", lambda **options: connection)
        with monkeypatch.context() as patch:
            patch.setattr(connection, "close", lose)
            assert read_queues() == {}
        connection.close()

    @pytest.mark.slow
    @pytest.mark.usefixtures("_broker")
    def test_a_broker_that_falls_silent_while_it_is_asked_is_left(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(own_processes, "READ_SECONDS", 0.5)
        with Proxy.to(settings.AMQP_URL) as proxy:
            settings.AMQP_URL = proxy.rewrite(settings.AMQP_URL)
            monkeypatch.setattr(amqp, "connect", proxy.silence_after(amqp.connect))
            began = time.monotonic()
            assert read_queues() == {}
            assert read_queues() == {}
            assert time.monotonic() - began < PATIENCE
        assert own_processes._reading._run is not None
        own_processes._reading._run.join(60)

    def test_is_nothing_while_the_broker_is_away(self, settings: Any) -> None:
        settings.AMQP_URL = "amqp://guest:guest@127.0.0.1:1/"
        assert read_queues() == {}
        settings.AMQP_URL = None
        assert read_queues() == {}
