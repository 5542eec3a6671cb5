"""The ERP's side of the exchange, step by step: the example for those who write a real client.

The order of four things makes every message take effect exactly once, whatever dies in between:
the attempt is noted (durable) → the transaction, with the process id in it → API_3 → COMMIT → API_4.
The numbers of the steps are those of the exchange document, whose count starts again at 10 after step 12;
the second ones are written 10b, 11b.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from processes.exchange.reference import ledger
from processes.exchange.reference.client import Message, NoAnswer, Refused, Reply, Result, Server, Started
from processes.exchange.reference.hooks import Hooks, Point
from processes.exchange.reference.ledger import Deadlock, IncorrectMessage
from processes.exchange.reference.store import (
    STORE_ERRORS,
    Store,
    find_error_code,
    is_about_the_data,
    is_deadlock,
)

_REPLIES = uuid.UUID("6f0c1d2e-5b7a-4c39-9d51-2a4e8f60b713")


class Ending(StrEnum):
    """How one exchange ended on the ERP's side."""

    IDLE = "IDLE"
    BUSY = "BUSY"
    NO_ANSWER = "NO_ANSWER"
    """The network failed before the commit: rolled back, settled at the next exchange."""
    CANCELLED = "CANCELLED"
    INTERRUPTED = "INTERRUPTED"
    ROLLED_BACK = "ROLLED_BACK"
    """The commit failed."""
    COMMITTED = "COMMITTED"
    """Committed, but API_4 had no answer: the next API_1 names it."""
    DONE = "DONE"
    DISPUTED = "DISPUTED"
    """The server believes the opposite, because somebody told it so: people must look at it."""
    STORE_FAILED = "STORE_FAILED"
    """The ERP's own database is away: all is settled once it is back."""


@dataclass(frozen=True)
class Options:
    subsystems: Sequence[str] = ()
    senders: Sequence[str] = ()
    max_files: int | None = None
    max_mb: int | None = None
    worker: str = "erp"
    """Whose unfinished processes are settled: one name for each ERP that runs beside others on the same store."""
    take_over: bool = False
    """Interrupt the process that BUSY names: only where no other ERP works for this database."""
    reply_bytes: int = 0


@dataclass(frozen=True)
class Outcome:
    ending: Ending
    process_id: str = ""
    results: Sequence[Result] = ()
    replies: Sequence[Reply] = ()
    text: str = ""

    def count(self, status: str) -> int:
        return sum(result["status"] == status for result in self.results)


class Cancelled(Exception):
    """The server no longer holds the process for this ERP."""


class Stopped(Exception):
    """The operator stopped the exchange."""


def exchange_once(
    server: Server,
    store: Store,
    options: Options | None = None,
    hooks: Hooks | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Carry out one exchange from API_1 to API_4; a failure of the network is an outcome, not an error."""
    options, hooks = options or Options(), hooks or Hooks()
    try:
        settle_rolled_back(server, store, options.worker)
        started = start(server, store, options)
    except NoAnswer as error:
        return Outcome(Ending.NO_ANSWER, text=str(error))
    if started.status != "OK":
        return Outcome(Ending(started.status), started.process_id)
    hooks.reached(Point.AFTER_API_1, started.process_id)
    return Exchange(server, store, options, hooks, stopped, started.process_id).run(started.messages)


def start(server: Server, store: Store, options: Options) -> Started:
    """Steps 1, 3 and 5: ask for messages, and name the commits of which the server does not know yet."""
    committed = store.committed_untold()
    started = server.start(
        subsystems=options.subsystems,
        senders=options.senders,
        max_files=options.max_files,
        max_mb=options.max_mb,
        committed=committed,
    )
    # Any answer, BUSY as well, means that the server has noted them.
    store.mark_settled(committed, Ending.DONE)
    if started.status == "BUSY" and options.take_over and started.process_id not in committed:
        settle(server, store, started.process_id)
    return started


@dataclass(frozen=True)
class Exchange:
    """One process between the answer to API_1 and its end."""

    server: Server
    store: Store
    options: Options
    hooks: Hooks
    stopped: Callable[[], bool]
    process_id: str

    def run(self, messages: Sequence[Message]) -> Outcome:
        """Steps 4 to 14."""
        try:
            self.store.record_attempt(self.process_id, self.options.worker)
            accepted = self.check(messages)
            results, replies = self.process(accepted)
            self.prepare(results, replies)
        except (Cancelled, NoAnswer, Stopped, Refused, *STORE_ERRORS) as error:
            return self.roll_back(error)
        except Exception as bug:
            self.roll_back(bug)
            raise
        return self.commit(results, replies)

    def check(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Step 4: say by API_2 which messages will be processed, if it is not all of them."""
        accepted = [
            message
            for message in messages
            if ledger.can_process(message) and not self.hooks.leaves_out(self.process_id, message)
        ]
        if len(accepted) == len(messages):
            return accepted
        if not self.server.accept(self.process_id, [message["id"] for message in accepted]):
            raise Cancelled("API_2")
        if not accepted:
            raise Cancelled("nothing to process")  # An empty list has ended the process.
        return accepted

    def process(self, messages: Sequence[Message]) -> tuple[list[Result], list[Reply]]:
        """Steps 6 and 7: begin the transaction and process the messages one by one, the oldest first."""
        self.store.begin()
        self.store.record_process(self.process_id)
        results: list[Result] = []
        replies: list[Reply] = []
        for message in messages:
            if self.stopped():
                raise Stopped("stopped by the operator")
            self.process_message(message, results, replies)
            self.hooks.reached(Point.IN_PROCESSING, self.process_id)
        return results, replies

    def process_message(self, message: Message, results: list[Result], replies: list[Reply]) -> None:
        """Step 8: a savepoint around each message, so that a bad one takes nothing of the others with it."""
        self.store.savepoint()
        try:
            said = ledger.apply(self.store, self.process_id, message)
            self.hooks.applied(self.process_id, message)
        except (Deadlock, IncorrectMessage, *STORE_ERRORS) as error:
            result = describe_failure(message, error)
            self.store.rollback_to_savepoint()
            results.append(result)
            return
        self.store.release()
        results.append({"message": message["id"], "status": "PROCESSED"})
        replies.append(self.write_reply(message, {**said, "filler": "x" * self.options.reply_bytes}))

    def write_reply(self, message: Message, payload: object) -> Reply:
        """Step 11: the reply's id follows from process and message, so that a repeated API_3 has the same body."""
        reply_id = str(uuid.uuid5(_REPLIES, f"{self.process_id}/{message['id']}"))
        return {"id": reply_id, "to": message["from"], "reply_to": message["id"], "payload": payload}

    def prepare(self, results: list[Result], replies: list[Reply]) -> None:
        """Steps 11 and 12: hand over results and replies before the commit; only OK allows it."""
        if not self.server.prepare(self.process_id, results, replies):
            raise Cancelled("API_3")

    def roll_back(self, error: Exception) -> Outcome:
        """Steps 10b and 14: not OK, no answer, or a stop: undo everything; nothing of this process has happened."""
        self.store.rollback()
        if isinstance(error, Cancelled):
            self.store.mark_settled([self.process_id], Ending.CANCELLED)
            return Outcome(Ending.CANCELLED, self.process_id, text=str(error))
        if isinstance(error, NoAnswer):
            # Whether the server has it as STARTED or READY_TO_COMMIT is asked at the next exchange.
            return Outcome(Ending.NO_ANSWER, self.process_id, text=str(error))
        return self.interrupt(f"{type(error).__name__}: {error}")

    def interrupt(self, text: str) -> Outcome:
        """Step 14: tell the server by API_6 that this process is given up, so that its messages are free at once."""
        try:
            if self.server.interrupt(self.process_id, text):
                self.store.mark_settled([self.process_id], Ending.INTERRUPTED)
        except NoAnswer as error:
            text = f"{text}; API_6: {error}"
        return Outcome(Ending.INTERRUPTED, self.process_id, text=text)

    def commit(self, results: list[Result], replies: list[Reply]) -> Outcome:
        """Step 11b: commit. An error does not prove that nothing was committed, so the database is asked."""
        self.hooks.reached(Point.BEFORE_COMMIT, self.process_id)
        try:
            self.hooks.committing(self.process_id, self.store)
            self.store.commit()
        except STORE_ERRORS as error:
            self.store.rollback()
            if not self.store.was_committed(self.process_id):
                return self.report_failure(str(error))
        self.hooks.reached(Point.AFTER_COMMIT, self.process_id)
        return Outcome(self.report_commit(), self.process_id, results, replies)

    def report_commit(self) -> Ending:
        """Step 11b: API_4. Without an answer the next API_1 names the process in `committed`."""
        try:
            ending = Ending.DONE if self.server.commit(self.process_id) else Ending.DISPUTED
        except NoAnswer:
            return Ending.COMMITTED
        self.hooks.reached(Point.AFTER_API_4, self.process_id)
        self.store.mark_settled([self.process_id], ending)
        return ending

    def report_failure(self, error_text: str) -> Outcome:
        """Step 11b: API_5. Without an answer the next exchange resolves the process as not committed."""
        try:
            self.server.rollback(self.process_id, error_text)
        except NoAnswer as error:
            return Outcome(Ending.ROLLED_BACK, self.process_id, text=f"{error_text}; API_5: {error}")
        self.store.mark_settled([self.process_id], Ending.ROLLED_BACK)
        return Outcome(Ending.ROLLED_BACK, self.process_id, text=error_text)


def describe_failure(message: Message, error: Exception) -> Result:
    """Step 7: a deadlock is tried again later, an error of the message is final; anything else ends the process."""
    if isinstance(error, Deadlock) or is_deadlock(error):
        return {"message": message["id"], "status": "PROCESSED_DEADLOCK"}
    if not isinstance(error, IncorrectMessage) and not is_about_the_data(error):
        raise error
    code = error.code if isinstance(error, IncorrectMessage) else find_error_code(error)
    result: Result = {"message": message["id"], "status": "PROCESSED_INCORRECT", "error_text": str(error)}
    if code is not None:
        result["error_code"] = code
    return result


def recover(server: Server, store: Store, worker: str = "erp") -> list[str]:
    """Settle at start all that an earlier life of this ERP left open; return the ids. May raise `NoAnswer`."""
    return [process_id for process_id in store.unsettled(worker) if settle(server, store, process_id)]


def settle_rolled_back(server: Server, store: Store, worker: str) -> None:
    """Settle what was begun and not committed; of the committed ones API_1 tells the server."""
    committed = set(store.committed_untold())
    for process_id in store.unsettled(worker):
        if process_id not in committed:
            settle(server, store, process_id)


def settle(server: Server, store: Store, process_id: str) -> bool:
    """Tell the server by API_7, or `abandon` before its API_3, what became of the process here; say whether it heard.

    An API_3 that was thought lost may arrive after the status was asked for: `abandon` is right then as well.
    """
    status = server.find_status(process_id)
    committed = store.was_committed(process_id)
    if status in ("READY_TO_COMMIT", "IN_DOUBT"):
        heard = server.resolve(process_id, committed=committed)
    elif status == "STARTED" and not committed:
        heard = server.abandon(process_id, "given up by the ERP after a failure")
    else:
        heard = True  # Ended, being cleaned up, or unknown to the server: nothing waits for the ERP's word.
    if heard:
        store.mark_settled([process_id], _name_ending(status, committed))
    return heard


def _name_ending(status: str | None, committed: bool) -> Ending:
    wrong = ("STARTED", "TIMED_OUT", "INTERRUPTED", "ROLLED_BACK") if committed else ("CLEANUP", "FAILED", "DONE")
    if status in wrong:
        return Ending.DISPUTED
    return Ending.DONE if committed else Ending.ROLLED_BACK
