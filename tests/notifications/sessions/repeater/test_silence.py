"""What becomes of handlers that fall silent, and of those whose session was lost."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from notifications.models import RepeatSession
from notifications.sessions import repeater as module
from notifications.sessions.enqueue import enqueue_session, enqueue_sessions
from notifications.sessions.handlers import SessionView
from notifications.sessions.lifecycle import delete_session
from notifications.sessions.operations import Append, Delete, Operation
from notifications.sessions.repeater import Repeater
from tests.faults.wait import wait_until
from tests.notifications.sessions.repeater.held_handler import Held, gone
from tests.notifications.sessions.themes import Scripted, pass_time, theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]

Handle = Callable[[Any], None]


class TestSilence:
    def test_a_handler_without_an_operation_in_time_has_failed_and_cannot_write(
        self, repeater: Repeater, handle_by: Handle
    ) -> None:
        held = Held()
        theme(timeout=0.2, delay=50)
        session_id = enqueue_session(theme=7, records=[1], delay=0)
        handle_by(held)
        repeater.run_once()
        assert wait_until(lambda: RepeatSession.objects.get().status == "saved", 60)
        before = RepeatSession.objects.values().get()
        held.go_on.set()
        time.sleep(0.3)
        assert RepeatSession.objects.values().get() == before
        assert (before["id"], before["repeats"]) == (session_id, 1)

    def test_its_thread_is_replaced(self, repeater: Repeater, handle_by: Handle) -> None:
        held, quick = Held(), threading.Semaphore(0)
        theme(timeout=0.2, delay=50)
        handle_by(lambda session: held(session) if session.records else quick.release())
        enqueue_sessions(theme=7, sessions=[[1]] * 8, delay=0)
        assert wait_until(lambda: (repeater.run_once(), RepeatSession.objects.filter(repeats=1).count() == 8)[1], 60)
        # On a busy machine a quick one, too, may be silent for 0.2 s: another is tried then.
        assert wait_until(lambda: self.is_repeated(repeater, quick), 60)
        held.go_on.set()

    def is_repeated(self, repeater: Repeater, repeated: threading.Semaphore) -> bool:
        enqueue_session(theme=7, records=[], delay=0)
        repeater.run_once()
        return repeated.acquire(timeout=2)

    def test_a_handler_that_exits_takes_no_worker_with_it(self, repeater: Repeater, handle_by: Handle) -> None:
        def leave(session: SessionView) -> None:
            raise SystemExit

        theme(delay=50)
        enqueue_sessions(theme=7, sessions=[[n] for n in range(8)], delay=0)
        handle_by(leave)
        assert wait_until(lambda: (repeater.run_once(), RepeatSession.objects.filter(repeats=1).count() == 8)[1], 60)

    def test_operations_hold_it_for_longer_than_the_timeout(self, repeater: Repeater, handle: Handle) -> None:
        class Slow(Scripted):
            def next_operation(self) -> Operation | None:
                time.sleep(0.4)
                return super().next_operation()

        slow = Slow(Append([2]), Append([3]), Append([4]), Delete())
        theme(timeout=0.2)
        enqueue_session(theme=7, records=[1], delay=0)
        handle(slow)
        repeater.run_once()
        assert wait_until(gone, 60)

    def test_the_lease_is_renewed_while_the_handler_runs(
        self, repeater: Repeater, handle_by: Handle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "RENEW_SECONDS", 0.1)
        held = Held()
        theme()
        enqueue_session(theme=7, records=[1], delay=0)
        handle_by(held)
        repeater.run_once()
        assert held.began.acquire(timeout=60)
        pass_time(29)
        first = RepeatSession.objects.get().due_at
        assert wait_until(lambda: (RepeatSession.objects.get().due_at - first).total_seconds() > 20, 60)
        held.go_on.set()
        assert wait_until(gone, 60)

    def test_a_session_that_was_lost_cancels_its_handler(
        self, repeater: Repeater, handle: Handle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "RENEW_SECONDS", 0.1)
        cancelled, began = threading.Event(), threading.Event()

        class Waiting(Scripted):
            def next_operation(self) -> Operation | None:
                began.set()
                assert cancelled.wait(60)
                return Delete()

            def cancel(self) -> None:
                cancelled.set()

        theme()
        session_id = enqueue_session(theme=7, records=[1], delay=0)
        handle(Waiting())
        repeater.run_once()
        assert began.wait(60)
        delete_session(session_id=session_id)
        assert cancelled.wait(60)
