"""What several threads ask for at the same time, done by one of them for all: one round trip, one commit."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from django.db import OperationalError

AskedT = TypeVar("AskedT")
AnswerT = TypeVar("AnswerT")

MOST_AT_ONCE = 200
GATHER_SECONDS = 0.0002


class GroupCommit(Generic[AskedT, AnswerT]):
    """What is asked while one round trip is under way makes up the next; who is alone waits for nobody.

    One of the threads leads: it does all that waits, in the order of asking, by its own connection. When it is done it
    lets the first of those who came meanwhile lead.
    """

    _waiting: "list[_Asked[AskedT, AnswerT]]"
    _is_led: bool
    _is_busy: bool
    """The last round trip was for several."""

    def __init__(self, do: Callable[[Sequence[AskedT]], Sequence[AnswerT]]) -> None:
        self._do = do
        self._start_anew()
        # A fork inherits a lock that nobody there will open.
        os.register_at_fork(after_in_child=self._start_anew)

    def ask(self, asked: AskedT) -> AnswerT:
        """Return the answer; what fails, fails for all of a round trip, and it may have been committed."""
        mine: _Asked[AskedT, AnswerT] = _Asked(asked)
        with self._lock:
            self._waiting.append(mine)
            mine.leads = not self._is_led
            self._is_led = True
        if not mine.leads:
            self._wait(mine)
        if mine.leads:
            self._lead(mine)
        if mine.error is not None:
            raise OperationalError(f"asked together with others: {mine.error}") from mine.error
        return mine.answer[0]

    def _wait(self, mine: "_Asked[AskedT, AnswerT]") -> None:
        try:
            mine.news.acquire()
        except BaseException:
            # Interrupted: its caller will be gone, and must neither be served later nor keep the others waiting.
            with self._lock:
                if mine in self._waiting:
                    self._waiting.remove(mine)
                if mine.leads:
                    self._appoint()
            raise

    def _lead(self, mine: "_Asked[AskedT, AnswerT]") -> None:
        batch: list[_Asked[AskedT, AnswerT]] = []
        try:
            batch = self._gather()
            for each, answer in zip(batch, self._do([each.asked for each in batch]), strict=True):
                each.answer.append(answer)
        except BaseException as error:
            for each in batch:
                each.error = error
            raise
        finally:
            # The next to lead comes last: what those who are done ask for at once can go with it.
            for each in batch:
                if each is not mine:
                    each.news.release()
            with self._lock:
                self._is_busy = len(batch) > 1
                self._appoint()

    def _gather(self) -> "list[_Asked[AskedT, AnswerT]]":
        if self._is_busy:
            # Those who were done with the last one are about to ask again, and most would come too late.
            time.sleep(GATHER_SECONDS)
        with self._lock:
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        return batch

    def _appoint(self) -> None:
        self._is_led = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].news.release()

    def _start_anew(self) -> None:
        self._lock = threading.Lock()
        self._waiting = []
        self._is_led, self._is_busy = False, False


class _Asked(Generic[AskedT, AnswerT]):
    def __init__(self, asked: AskedT) -> None:
        self.asked = asked
        self.answer: list[AnswerT] = []
        self.error: BaseException | None = None
        self.leads = False
        self.news = threading.Lock()
        """Open once it is over, or its turn to lead."""
        self.news.acquire()
