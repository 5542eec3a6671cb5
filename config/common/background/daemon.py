"""The one loop that everything in the background runs on."""

import signal
import threading
import time
from collections.abc import Callable

import structlog
from django.db import connections
from pika.exceptions import AMQPError
from prometheus_client import Counter

from config.common.background.supervision import FailureBackoff, SupervisedThread
from config.common.correlation import correlated
from config.common.database.failures import is_database_away

log = structlog.get_logger(__name__)

LONGEST_SLEEP = 10.0
# Of work that knows when it is due next: only a lost ring or a clock that was set can make it late, by this much.
LONGEST_REST = 60.0
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
REPORTED_FAILURES = 8
"""Of turns that fail in a row, two minutes by then: what meets a deadlock or a restart is over sooner."""
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

TURNS = Counter("postern_daemon_turns", "Turns of a background loop", ["name"])
FAILURES = Counter("postern_daemon_failures", "Turns of a background loop that ended in an error", ["name"])


class Daemon:
    """Do work until there is none, then sleep until woken, at most `every` seconds, or as long as `rest` says.

    An error is logged and answered with a growing pause; it never ends the loop. All sleeps are by the monotonic clock.
    """

    def __init__(
        self,
        run_once: Callable[[], bool],
        every: float,
        name: str,
        rest: Callable[[], float] | None = None,
        gather: float = 0.0,
    ) -> None:
        self.name = name
        self._run_once = run_once
        self._every = min(every, LONGEST_SLEEP)
        self._rest = rest
        self._gather = gather
        self._backoff = FailureBackoff(name, first=FIRST_PAUSE, longest=LONGEST_PAUSE, patience=REPORTED_FAILURES)
        self._awake = threading.Event()
        self._stopping = threading.Event()
        self._thread = SupervisedThread(f"daemon-{name}", self.run)

    def start(self) -> None:
        """Run in a thread of its own."""
        self._thread.start()

    def wake(self) -> None:
        """End the current sleep; during a turn, let another one follow it."""
        self._awake.set()

    def stop(self) -> None:
        """Ask the loop to end after the current turn."""
        self._stopping.set()
        self._awake.set()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the thread; return whether it came."""
        return self._thread.join(seconds)

    @property
    def is_running(self) -> bool:
        return self._thread.is_running

    def run(self) -> None:
        """Run here until stopped."""
        while True:
            # Cleared before the turn: what is rung during it must not be slept through.
            self._awake.clear()
            if self._stopping.is_set():
                break
            began = time.monotonic()
            if not self._turn():
                self._awake.wait(self._every if self._rest is None else min(self._rest(), LONGEST_REST))
                self._stopping.wait(max(0.0, self._gather - (time.monotonic() - began)))
        release_connections(broken=True)

    def _turn(self) -> bool:
        """Return whether another turn should follow at once."""
        TURNS.labels(self.name).inc()
        with correlated():
            try:
                found = self._work()
            except Exception as error:  # noqa: BLE001  (whatever it is, the next turn may be better)
                FAILURES.labels(self.name).inc()
                self._pause_after(error)
                return True
        self._backoff.reset()
        return found

    def _work(self) -> bool:
        if self._backoff.count:
            # The last turn failed, perhaps for a broken connection: this one gets new ones.
            release_connections(broken=True)
        found = self._run_once()
        if not found:
            release_connections(broken=False)
        return found

    def _pause_after(self, error: Exception) -> None:
        """Pause whether or not someone rings: a ring must not turn a failure into a busy loop."""
        pause = self._backoff.note(error)
        # An engine that is away has an alert of its own.
        if not (is_database_away(error) or isinstance(error, OSError | AMQPError)):
            self._backoff.report(error)
        self._stopping.wait(pause)


_companions: list[Callable[[], Daemon]] = []


def accompany(make: Callable[[], Daemon]) -> None:
    """Have one more daemon run beside those of every command."""
    _companions.append(make)


def run_until_signalled(*own: Daemon, grace: float = 5.0) -> None:
    """Run the daemons of a command until SIGTERM or SIGINT; give their last turns `grace` seconds.

    The signals are blocked and waited for, in this thread and in those it starts: a handler that sets an Event could
    meet the main thread inside that same Event and wait for itself.
    """
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    daemons = (*own, *(make() for make in _companions))
    try:
        for daemon in daemons:
            daemon.start()
        # A process that was paused for longer is given a signal that nobody sent, of an arbitrary number.
        while (received := signal.sigtimedwait(STOP_SIGNALS, 1.0)) is None or received.si_signo not in STOP_SIGNALS:
            for daemon in daemons:
                if not daemon.is_running:
                    # Let the process fail, and be started again: nobody would miss a loop otherwise.
                    raise RuntimeError(f"The loop of {daemon.name} has ended by itself.")
    finally:
        stop_all(daemons, grace=grace)
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def stop_all(daemons: tuple[Daemon, ...], *, grace: float) -> None:
    """Stop the daemons together; one that is still busy after `grace` seconds is left to end with the process."""
    for daemon in daemons:
        daemon.stop()
    deadline = time.monotonic() + grace
    for daemon in daemons:
        if not daemon.join(max(0.0, deadline - time.monotonic())):
            log.warning("daemon.abandoned", daemon=daemon.name)


def release_connections(*, broken: bool) -> None:
    """Return idle connections to the pool; with `broken`, close them, so that the next turn opens new ones.

    A connection inside an atomic block belongs to a caller further up (a test), who still needs it.
    """
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            continue
        if broken:
            connection.close()
        else:
            connection.close_if_unusable_or_obsolete()
