"""A sender that is really stopped after its claim and goes on after its lease sends nothing behind a newer message."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import transaction

from notifications.models import Delivery
from notifications.sending import claims, webhook
from notifications.sending import sender as sending
from notifications.sending.claims import Claim, Claimer
from notifications.sending.sender import Sender
from tests.faults.fork_safety import close_all_connections
from tests.faults.wait import wait_until
from tests.notifications.sending.deliveries import enqueue_state, make_endpoint
from tests.webhook_receiver import Receiver, run_receiver

pytestmark = pytest.mark.django_db(transaction=True)

LEASE = timedelta(seconds=2)
GONE_ON, NOT_CLAIMED = 0, 3


@pytest.fixture
def receiver(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.1")]
    for module in (claims, sending):
        monkeypatch.setattr(module, "LEASE", LEASE)
    with run_receiver() as receiver:
        yield receiver


def stop_after_the_claim(patch: pytest.MonkeyPatch) -> None:
    real = Claimer.claim

    def claim(claimer: Claimer, limit: int) -> Any:
        found = real(claimer, limit)
        if found:
            os.kill(os.getpid(), signal.SIGSTOP)
        return found

    patch.setattr(Claimer, "claim", claim)


def stop_before_the_bytes_leave(patch: pytest.MonkeyPatch) -> None:
    """Behind every look at the lease but the last, which is made when the connection stands."""
    real = webhook._exchange

    async def exchange(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)
        await real(*arguments)

    patch.setattr(webhook, "_exchange", exchange)


@pytest.mark.parametrize("stop", [stop_after_the_claim, stop_before_the_bytes_leave])
def test_what_was_claimed_before_the_stop_is_not_sent_behind_a_newer_message(
    stop: Callable[[pytest.MonkeyPatch], None], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = make_endpoint(receiver.url("/200/a"))
    older = enqueue_state(endpoint, data=1)
    late = start_sender(lambda: stop(monkeypatch))
    assert os.WIFSTOPPED(os.waitpid(late, os.WUNTRACED)[1]), "it has claimed, and stands still"
    with transaction.atomic():
        newer = enqueue_state(endpoint, data=2)
    own = Sender(slots=5)

    def is_sent() -> bool:
        own.wake()
        return Delivery.objects.get(pk=newer.pk).status == "delivered"

    assert wait_until(is_sent, 60), "once the lease has ended"
    own.stop(grace=10)
    os.kill(late, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(late, 0)[1]) == GONE_ON
    assert [call.json["data"] for call in receiver.calls] == [2]
    assert Delivery.objects.get(pk=older.pk).status == "superseded"


def start_sender(prepare: Callable[[], None]) -> int:
    """Run a sender in a process of its own until it has done with what it has claimed; return the process."""
    close_all_connections()
    child = os.fork()
    if child:
        return child
    try:
        prepare()
        late, claimed = Sender(slots=5), threading.Event()
        claim = late._claimer.claim

        def claim_and_tell(limit: int) -> list[Claim]:
            found = claim(limit)
            if found:
                claimed.set()
            return found

        setattr(late._claimer, "claim", claim_and_tell)  # noqa: B010  (a method)
        late.wake()
        has_claimed = claimed.wait(60)
        late.stop(grace=20)  # what it has claimed it sends, or leaves
        os._exit(GONE_ON if has_claimed else NOT_CLAIMED)
    finally:
        os._exit(1)
