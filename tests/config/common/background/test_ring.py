import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest
from django.db import connection, transaction

from config.celery import QUEUE
from config.common.background import ring as module
from config.common.background import work
from config.common.background.per_process import PerProcess
from config.common.background.ring import CHANNEL, ring, set_local_wake
from config.common.background.work import BackgroundWork
from config.engines import amqp, postgresql
from tests.conftest import ServerAddresses
from tests.faults.silent_servers import Proxy, SilentServer
from tests.faults.wait import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.broker]


@pytest.fixture(autouse=True)
def _works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_registered", dict(work._registered))
    work.register_work(BackgroundWork(name="test.scheduled", run_once=lambda: False))
    work.register_work(BackgroundWork(name="test.worked", run_once=lambda: False, on_workers=True))


class Scheduler:
    """Stands in for the scheduler of this process: notes who was woken."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.error: Exception | None = None

    def __call__(self, name: str) -> None:
        self.woken.append(name)
        if self.error is not None:
            raise self.error


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    standing_in = Scheduler()
    set_local_wake(standing_in)
    yield standing_in
    set_local_wake(lambda name: None)


@pytest.fixture
def no_scheduler_here() -> Iterator[None]:
    set_local_wake(None)
    yield
    set_local_wake(lambda name: None)


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bell without the silence and the connection of an earlier test."""
    monkeypatch.setattr(module, "_bell", PerProcess(module._Bell))


@pytest.fixture
def broker(servers: ServerAddresses, settings: Any, bell: None) -> Iterator[Any]:
    """A channel of the real broker, with an empty queue of tasks."""
    settings.AMQP_URL = servers.amqp
    own = amqp.connect()
    channel = own.channel()
    channel.queue_declare(QUEUE, durable=True)
    channel.queue_purge(QUEUE)
    yield channel
    channel.queue_purge(QUEUE)
    own.close()


def take(channel: Any) -> tuple[pika.BasicProperties, bytes] | None:
    method, properties, body = channel.basic_get(QUEUE, auto_ack=True)
    return None if method is None else (properties, body)


def wait_for_message(channel: Any) -> tuple[pika.BasicProperties, bytes]:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        found = take(channel)
        if found is not None:
            return found
        time.sleep(0.02)
    pytest.fail("no message within 5 s")


class TestRing:
    @pytest.mark.embedded
    def test_wakes_the_scheduler_of_this_process_after_the_commit(self, scheduler: Scheduler) -> None:
        with transaction.atomic():
            ring("test.scheduled")
            assert scheduler.woken == []
        assert scheduler.woken == ["test.scheduled"]

    @pytest.mark.embedded
    def test_wakes_nobody_when_the_transaction_is_rolled_back(self, scheduler: Scheduler) -> None:
        with transaction.atomic():
            ring("test.scheduled")
            transaction.set_rollback(True)
        assert scheduler.woken == []

    @pytest.mark.embedded
    def test_work_that_nobody_registered_is_a_bug_of_the_caller(self) -> None:
        with pytest.raises(KeyError):
            ring("test.unknown")

    @pytest.mark.embedded
    def test_a_failure_after_the_commit_does_not_reach_the_caller(self, scheduler: Scheduler) -> None:
        scheduler.error = RuntimeError("boom")
        with transaction.atomic():
            ring("test.scheduled")
        assert scheduler.woken == ["test.scheduled"]

    @pytest.mark.embedded
    def test_without_a_broker_the_scheduler_does_the_work_of_the_workers(self, scheduler: Scheduler) -> None:
        ring("test.worked")
        assert scheduler.woken == ["test.worked"]

    def test_sends_a_short_lived_task_to_the_workers(self, broker: Any, scheduler: Scheduler) -> None:
        ring("test.worked")
        properties, body = wait_for_message(broker)
        assert properties.headers["task"] == "run_work"
        assert b'["test.worked"]' in body
        assert (properties.delivery_mode, properties.expiration) == (1, "30000")
        assert scheduler.woken == []

    def test_many_rings_share_one_message(self, broker: Any) -> None:
        for _ in range(200):
            ring("test.worked")
        wait_for_message(broker)
        time.sleep(0.3)
        rest = 0
        while take(broker):
            rest += 1
        assert rest < 20

    def test_wakes_the_scheduler_of_another_process_by_postgresql(self, no_scheduler_here: None, bell: None) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite has no such call; the scheduler looks by itself")
        with postgresql.connect() as ear:
            ear.execute(f"LISTEN {CHANNEL}")
            ring("test.scheduled")
            assert [notice.payload for notice in ear.notifies(timeout=60, stop_after=1)] == ["test.scheduled"]

    def test_a_broker_that_refuses_leaves_the_work_to_the_scheduler(
        self, settings: Any, bell: None, scheduler: Scheduler
    ) -> None:
        settings.AMQP_URL = "amqp://guest:guest@127.0.0.1:1/%2F"
        ring("test.worked")
        assert wait_until(lambda: scheduler.woken == ["test.worked"])

    def test_a_mute_broker_leaves_the_work_to_the_scheduler_and_is_left_alone_for_a_while(
        self, settings: Any, bell: None, scheduler: Scheduler
    ) -> None:
        with SilentServer() as mute:
            settings.AMQP_URL = f"amqp://guest:guest@127.0.0.1:{mute.port}/%2F"
            ring("test.worked")
            assert wait_until(lambda: len(scheduler.woken) == 1, 60)
            ring("test.worked")
            assert wait_until(lambda: len(scheduler.woken) == 2, 60)
            assert mute.connections == 1

    def test_a_broker_that_falls_silent_leaves_the_work_to_the_scheduler(
        self, servers: ServerAddresses, settings: Any, broker: Any, scheduler: Scheduler
    ) -> None:
        real = pika.URLParameters(servers.amqp)
        with Proxy(real.port) as proxy:
            settings.AMQP_URL = servers.amqp.replace(f":{real.port}/", f":{proxy.port}/")
            ring("test.worked")
            wait_for_message(broker)
            proxy.fall_silent()
            ring("test.worked")
            assert wait_until(lambda: scheduler.woken == ["test.worked"], 60)

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_fork_rings_by_a_thread_of_its_own(self, broker: Any) -> None:
        ring("test.worked")
        wait_for_message(broker)
        child = os.fork()
        if child == 0:
            module._bell.get().add(BackgroundWork(name="test.forked", run_once=lambda: False, on_workers=True))
            time.sleep(2)
            os._exit(0)
        _, body = wait_for_message(broker)
        os.waitpid(child, 0)
        assert b"test.forked" in body


class TestRingWithMuteBroker:
    def test_a_transaction_that_rings_takes_no_longer_than_one_that_does_not(
        self, settings: Any, bell: None, scheduler: Scheduler
    ) -> None:
        with SilentServer() as mute:
            settings.AMQP_URL = f"amqp://guest:guest@127.0.0.1:{mute.port}/%2F"
            first = self.time_one(lambda: ring("test.worked"))
            assert wait_until(lambda: mute.connections == 1)  # the thread is now caught in the mute broker
            times = [(self.time_one(lambda: None), self.time_one(lambda: ring("test.worked"))) for _ in range(300)]
        plain, ringing = (statistics.median(column) for column in zip(*times, strict=True))
        assert first < 2  # to wait for the broker would be three seconds
        assert ringing < plain + 0.001

    def time_one(self, extra: Callable[[], None]) -> float:
        began = time.perf_counter()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            extra()
        return time.perf_counter() - began
