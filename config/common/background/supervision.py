"""Threads and tasks that live as long as their process: an error ends none of them for good.

What fails is started again after a growing pause; what keeps failing is reported to whoever has registered
(`report_failures`), which in the product raises an alert: nothing down here knows alerts.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import structlog
from prometheus_client import Counter

from config.common.text import clean_error

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0
"""What has run for so long starts with the shortest pause again, and its failures are counted anew."""
REPORTED_FAILURES = 3
"""So many in a row are more than bad luck."""
ERROR_LENGTH = 300

FAILURES = Counter("postern_thread_failures", "Long-lived threads and tasks that ended in an error", ["name"])

Reporter: TypeAlias = Callable[[str, str, int], None]
"""Takes the name of what keeps failing, the newest error and the count of failures in a row."""

log = structlog.get_logger(__name__)


def set_failure_reporter(reporter: Reporter | None) -> None:
    """Register the reporter of what keeps failing, one for the process; None unregisters it."""
    global _reporter
    _reporter = reporter


_reporter: Reporter | None = None


class FailureBackoff:
    """The failures in a row of one thread, task or loop, and the pause after each."""

    def __init__(
        self,
        name: str,
        *,
        first: float = FIRST_PAUSE,
        longest: float = LONGEST_PAUSE,
        patience: int = REPORTED_FAILURES,
    ) -> None:
        self.name = name
        self._first, self._longest, self._patience = first, longest, patience
        self.count = 0
        self.pause = first

    def note(self, error: BaseException, *, lived: float = 0.0) -> float:
        """Log and count a failure of what has run for `lived` seconds; return how long to pause."""
        if lived >= STEADY_SECONDS:
            self.reset()
        self.count += 1
        pause, self.pause = self.pause, min(self.pause * 2, self._longest)
        FAILURES.labels(self.name).inc()
        log.error("supervision.failed", name=self.name, failures=self.count, pause_seconds=pause, exc_info=error)
        return pause

    def report(self, error: BaseException) -> None:
        """Call the reporter about failures that go on; it may take a while, and fail itself."""
        if self.count < self._patience or _reporter is None:
            return
        try:
            _reporter(self.name, clean_error(error, ERROR_LENGTH), self.count)
        except Exception as failure:  # noqa: BLE001  (what is supervised is started again, told of or not)
            log.warning("supervision.not_reported", name=self.name, error=clean_error(failure, ERROR_LENGTH))

    def reset(self) -> None:
        self.count, self.pause = 0, self._first


class SupervisedThread:
    """A thread whose target is called again when it ends in an error; a target that returns has ended on purpose.

    A fork inherits the object, not the thread: `start` makes a new one there.
    """

    def __init__(self, name: str, target: Callable[[], None]) -> None:
        self.name = name
        self._target = target
        self._thread: threading.Thread | None = None
        self._process = 0
        self._stopping = threading.Event()

    def start(self) -> "SupervisedThread":
        """Start the thread unless it runs."""
        if not self.is_running:
            self._stopping = threading.Event()  # a fork may have inherited its lock taken
            self._process = os.getpid()
            self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """Call the target no more; what runs ends by itself."""
        self._stopping.set()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the thread; return whether it came."""
        if self._thread is not None and self._process == os.getpid():
            self._thread.join(seconds)
        return not self.is_running

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._process == os.getpid() and self._thread.is_alive()

    def _run(self) -> None:
        backoff = FailureBackoff(self.name)
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._target()
            except BaseException as error:  # noqa: BLE001  (SystemExit too would end the thread and nothing else)
                pause = backoff.note(error, lived=time.monotonic() - began)
                backoff.report(error)
                self._stopping.wait(pause)
            else:
                return


async def supervise(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Await `run` until it returns; when it fails, again after a pause. Cancelling ends it."""
    backoff = FailureBackoff(name)
    while True:
        began = time.monotonic()
        try:
            await run()
        except Exception as error:  # noqa: BLE001  (nobody awaits a task in the background)
            pause = backoff.note(error, lived=time.monotonic() - began)
            # A reporter talks to the database, which the loop must not wait for.
            await asyncio.to_thread(backoff.report, error)
            await asyncio.sleep(pause)
        else:
            return
