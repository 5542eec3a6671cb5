"""One table: each long-lived thread and task dies of an error that nobody expected, and its work goes on.

Nobody calls it again: a call would start what has died, and hide that it did not come back by itself.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

import pytest

from config.audit import refusals
from config.common.background import ring as ringing
from config.common.background.daemon import Daemon
from config.common.background.per_process import PerProcess
from config.common.background.ring import set_local_wake
from config.common.background.work import BackgroundWork
from config.dashboard.live.admission import Ticket
from config.dashboard.live.broadcast import Broadcaster, Closed, SocketQueue
from config.engines import publisher as publishing
from config.engines.publisher import NotRouted, Publisher
from notifications.models import Attempt, Delivery, RepeatSession
from notifications.sending import sender as sending
from notifications.sending.claims import Claimer
from notifications.sending.sender import Sender
from notifications.sessions import handlers, repeater
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.repeater import Repeater
from tests.config.dashboard.live.conftest import EVERYTHING
from tests.conftest import ServerAddresses
from tests.faults.wait import wait_until
from tests.notifications.sending.deliveries import enqueue_state, make_endpoint
from tests.notifications.sessions.themes import theme
from tests.webhook_receiver import Receiver, run_receiver

pytestmark = pytest.mark.django_db(transaction=True)


class Unexpected(Exception):
    """What nobody has thought of."""


@dataclass
class Stage:
    patch: pytest.MonkeyPatch
    settings: Any
    servers: ServerAddresses
    ends: ExitStack
    raised: list[str] = field(default_factory=list)

    def break_once(self, owner: Any, name: str) -> None:
        """Let a function fail the first time that it is called."""
        real = getattr(owner, name)

        def fail_first(*args: Any, **options: Any) -> Any:
            if name not in self.raised:
                self.raised.append(name)
                raise Unexpected(name)
            return real(*args, **options)

        self.patch.setattr(owner, name, fail_first)

    def receiver(self) -> Receiver:
        self.settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.1")]
        return self.ends.enter_context(run_receiver())


Case = Callable[[Stage], Callable[[], bool]]
"""Breaks something, gives it work once, and returns the question whether that work is done."""


def daemon(stage: Stage) -> Callable[[], bool]:
    """Between two turns, where the loop itself would end."""
    turns: list[float] = []
    rests = iter([Unexpected("rest")])

    def rest() -> float:
        for error in rests:
            stage.raised.append("rest")
            raise error
        return 0.01

    def turn() -> bool:
        turns.append(time.monotonic())
        return False

    own = Daemon(turn, 1.0, "test", rest)
    stage.ends.callback(own.join, 5)
    stage.ends.callback(own.stop)
    own.start()
    return lambda: len(turns) > 2


def ring(stage: Stage) -> Callable[[], bool]:
    woken: list[str] = []
    set_local_wake(woken.append)
    stage.ends.callback(lambda: set_local_wake(lambda name: None))
    bell = ringing._Bell()
    stage.break_once(ringing._Bell, "_take")
    bell.add(BackgroundWork(name="test", run_once=lambda: False))
    return lambda: "test" in woken


def refused_calls(stage: Stage) -> Callable[[], bool]:
    written: list[Any] = []
    stage.patch.setattr(refusals._Refusals, "_start", lambda self: self._thread.start() and None)
    stage.patch.setattr(refusals, "PAUSE_SECONDS", 0.01)
    stage.patch.setattr(refusals, "write_log_entries", written.extend)
    stage.patch.setattr(refusals, "_refusals", PerProcess(refusals._Refusals))
    stage.break_once(refusals._Refusals, "_try_to_flush")
    refusals.record_early_refusal("POST", "/api/v1/signals/", 413, "code")
    return lambda: len(written) == 1


def publisher(stage: Stage) -> Callable[[], bool]:
    stage.settings.AMQP_URL = stage.servers.amqp
    own = Publisher()
    stage.ends.callback(own.close)
    stage.break_once(publishing._Link, "_serve_one_connection")
    sent = own.send(b"x", exchange="", routing_key="test.nowhere")
    return lambda: sent.outcome.done() and isinstance(sent.outcome.exception(), NotRouted)


def _sent_once(stage: Stage) -> Callable[[], bool]:
    receiver, own = stage.receiver(), Sender(slots=5)
    rows = [enqueue_state(make_endpoint(receiver.url("/200/a")), f"thing/{number}") for number in range(3)]
    stage.ends.callback(own.stop, 15)
    own.wake()

    def is_sent() -> bool:
        done = Delivery.objects.filter(pk__in=[row.pk for row in rows], status="delivered").count() == 3
        return done and len(receiver.calls) == Attempt.objects.count() == 3

    return is_sent


def sender(stage: Stage) -> Callable[[], bool]:
    stage.break_once(sending, "open_http_sessions")
    return _sent_once(stage)


def sender_claims(stage: Stage) -> Callable[[], bool]:
    stage.break_once(Claimer, "claim")
    return _sent_once(stage)


def sender_records(stage: Stage) -> Callable[[], bool]:
    stage.break_once(sending, "drain_outcomes")
    return _sent_once(stage)


def _repeated(stage: Stage) -> Callable[[], bool]:
    stage.patch.setattr(handlers, "_registered", dict(handlers._registered))
    handlers.register_function("test", lambda session: None)
    stage.patch.setattr(repeater, "LONGEST_WAIT", 60.0)  # what waits for a worker is not given back meanwhile
    own = Repeater(workers=1)
    stage.ends.callback(own.stop, 5)
    theme()
    enqueue_session(theme=7, records=[1], delay=0)
    own.run_once()
    return lambda: not RepeatSession.objects.exists()


def repeat_keeper(stage: Stage) -> Callable[[], bool]:
    stage.break_once(Repeater, "_seconds_until_duty")
    return _repeated(stage)


def repeat_worker(stage: Stage) -> Callable[[], bool]:
    stage.break_once(Repeater, "_next")
    return _repeated(stage)


def live(stage: Stage) -> Callable[[], bool]:
    """The pulse of the live page: its sockets are closed, and one that comes again is shown everything."""
    stage.break_once(Broadcaster, "_beat")
    frames: list[str] = []

    async def watch() -> None:
        own = Broadcaster()
        while not frames:
            queue = SocketQueue(Ticket("", "en"), EVERYTHING)
            own.subscribe(queue)
            with suppress(Closed):
                frames.append(json.loads(await queue.take(own))["type"])
            own.unsubscribe(queue)
        own._threads.shutdown(cancel_futures=True)

    page = threading.Thread(target=lambda: asyncio.run(watch()), daemon=True)
    stage.ends.callback(page.join, 60)
    page.start()
    return lambda: frames == ["snapshot"]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, settings: Any, servers: ServerAddresses) -> Iterator[Stage]:
    with ExitStack() as ends:
        yield Stage(monkeypatch, settings, servers, ends)


@pytest.mark.parametrize(
    "case",
    [daemon, ring, refused_calls, publisher, sender, sender_claims, sender_records, repeat_keeper, repeat_worker, live],
)
def test_its_work_goes_on(case: Case, stage: Stage) -> None:
    goes_on = case(stage)
    assert wait_until(goes_on, 60)
    assert len(stage.raised) == 1
