import os
import time
from collections.abc import Iterator

from notifications.sessions.handlers import SessionView
from notifications.sessions.operations import Append, Delete, Finish, Operation

LOG = "SCRIPT_LOG"
HANG_SECONDS = 3.0


class ScriptedHandler:
    """The first record names the script. Every repeat leaves a line with the id of its session.

    The script `tell` also leaves one with the negative id, when it hears that its end is durable.
    """

    def __init__(self, session: SessionView) -> None:
        self._session = session
        _note(session.id)
        self._operations: Iterator[Operation] = getattr(self, f"_{session.records[0]}")()

    def next_operation(self) -> Operation | None:
        return next(self._operations, None)

    def cancel(self) -> None: ...

    def _succeed(self) -> Iterator[Operation]:
        yield Delete()

    def _tell(self) -> Iterator[Operation]:
        yield _ToldDelete(self._session.id)

    def _fail(self) -> Iterator[Operation]:
        yield Finish()

    def _fail_once(self) -> Iterator[Operation]:
        yield Finish() if self._session.repeats == 0 else Delete()

    def _append(self) -> Iterator[Operation]:
        """Leave a record behind, fail, and succeed when it is found."""
        if len(self._session.records) > 1:
            yield Delete()
        yield Append(["found"])
        raise ConnectionError("lost after the append")

    def _overflow(self) -> Iterator[Operation]:
        """Succeed only if the append is refused."""
        operation = Append(["x" * 1000])
        yield operation
        is_refused = operation.verdict is not None and operation.verdict["session_code"] == 2000
        yield Delete() if is_refused else Finish()

    def _pause(self) -> Iterator[Operation]:
        """Take long enough, the first time, for the process to be paused; then write."""
        if self._session.repeats == 0:
            time.sleep(HANG_SECONDS)
            yield Append(["late"])
        yield Finish()

    def _hang(self) -> Iterator[Operation]:
        time.sleep(HANG_SECONDS)
        yield Delete()


class _ToldDelete(Delete):
    def __init__(self, session_id: int) -> None:
        super().__init__()
        self._session_id = session_id

    def acknowledge(self) -> None:
        super().acknowledge()
        _note(-self._session_id)


def _note(session_id: int) -> None:
    with open(os.environ[LOG], "a") as log:
        log.write(f"{session_id}\n")
