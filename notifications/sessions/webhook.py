"""The handler of a theme with a URL: it gets operations from the receiver, sends the verdicts, and calls again."""

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from django.conf import settings

from config.common.correlation import correlation_id
from config.common.ids import new_id
from config.common.web.json_codec import BadJson, decode_json
from notifications.sending.webhook import Answer, ClaimLapsed, call_webhook, open_http_session
from notifications.sessions.operations import Append, Delete, Finish, Operation, Rewrite, Verdict

MOST_CALLS = 100
ANSWER_BYTES = 65_536


class WebhookFailed(Exception):
    """The receiver answered with an error, too late, or with anything but a list of operations."""


class WebhookHandler:
    """One repeat: at most `MOST_CALLS` calls. `describe` returns the session as it is at the time of a call."""

    def __init__(
        self,
        *,
        url: str,
        secrets: Sequence[str],
        timeout: float,
        fence: int,
        describe: Callable[[], Any],
        held_until: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._url, self._secrets, self._timeout = url, secrets, timeout
        self._fence, self._describe, self._held_until = fence, describe, held_until
        # The id of a session and its fence come again when a database is restored: this id does not.
        self._run = new_id()
        self._calls = 0
        self._to_do: deque[Operation] = deque()
        self._asked: list[Operation] = []
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._call: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    def next_operation(self) -> Operation | None:
        """Return the next operation of the last answer, else call again; an empty list ends the repeat with success."""
        if not self._to_do:
            self._asked = self._ask()
            self._to_do.extend(self._asked)
        return self._to_do.popleft() if self._to_do else None

    def cancel(self) -> None:
        """Cancel the call that is under way."""
        with self._lock:
            self._is_cancelled = True
            if self._loop is not None and self._call is not None:
                self._loop.call_soon_threadsafe(self._call.cancel)

    def _ask(self) -> list[Operation]:
        if self._calls >= MOST_CALLS:
            raise WebhookFailed(f"no end after {MOST_CALLS} calls")
        self._calls += 1
        verdicts = [operation.verdict for operation in self._asked if operation.verdict is not None]
        answer, body = self._post(msgspec.json.encode(self._body(verdicts)))
        if not answer.ok or answer.error:
            raise WebhookFailed(answer.error)
        return read_operations(body)

    def _body(self, verdicts: list[Verdict]) -> dict[str, Any]:
        return {"version": 1, "session": self._describe(), "fence": self._fence, "verdicts": verdicts}

    def _post(self, body: bytes) -> tuple[Answer, bytes]:
        try:
            return asyncio.run(self._exchange(body))
        except asyncio.CancelledError as error:
            raise WebhookFailed("the call was cancelled") from error
        except ClaimLapsed as error:
            raise WebhookFailed("the session was held for longer than its lease: nothing was sent") from error

    async def _exchange(self, body: bytes) -> tuple[Answer, bytes]:
        with self._lock:
            if self._is_cancelled:
                raise asyncio.CancelledError
            self._loop, self._call = asyncio.get_running_loop(), asyncio.current_task()
        message_id = f"session-{self._run}-{self._calls}"
        try:
            async with open_http_session(settings.WEBHOOK_ALLOWED_NETWORKS) as session:
                return await call_webhook(
                    session,
                    self._url,
                    message_id,
                    body,
                    self._secrets,
                    correlation_id=correlation_id(),
                    timeout_seconds=self._timeout,
                    most_bytes=ANSWER_BYTES,
                    until=self._held_until(),
                )
        finally:
            with self._lock:
                self._loop = self._call = None


def read_operations(body: bytes) -> list[Operation]:
    """Parse `{"operations": […]}`; anything else fails the repeat."""
    try:
        answer = decode_json(body)
    except BadJson as error:
        raise WebhookFailed(f"the answer is not JSON: {error}") from error
    listed = answer.get("operations") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise WebhookFailed("the answer holds no list of operations")
    return [_read_operation(each) for each in listed]


def _read_operation(each: Any) -> Operation:
    match each:
        case {"op": "append", "records": list(records)}:
            return Append(records)
        case {"op": "rewrite", "records": list(records)}:
            return Rewrite(records)
        case {"op": "delete"}:
            return Delete(waits_for_answer=False)
        case {"op": "finish"}:
            return Finish()
    raise WebhookFailed("the answer holds something that is no operation")
