"""The message server as the ERP sees it: one method for each call of the exchange, API_1 to API_7."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

from messaging.simulation.calls import Calls, Message, NoAnswer, Refused, encode

__all__ = ["Message", "NoAnswer", "Refused", "Reply", "Result", "Server", "Started"]


class Result(TypedDict):
    """What became of one message."""

    message: str
    status: Literal["PROCESSED", "PROCESSED_DEADLOCK", "PROCESSED_INCORRECT"]
    error_text: NotRequired[str]
    error_code: NotRequired[int]


class Reply(TypedDict):
    """A message of the ERP to a device."""

    id: str
    to: str
    reply_to: str
    payload: Any


@dataclass(frozen=True)
class Started:
    """The answer to API_1; with OK there are a process and its messages, oldest first."""

    status: Literal["OK", "IDLE", "BUSY"]
    process_id: str = ""
    messages: list[Message] = field(default_factory=list)


class Server:
    """Calls with a database's key. A method that returns a bool says True for OK and False for CANCELLED.

    Every method may raise `NoAnswer` (nobody knows whether it was carried out) and `Refused` (a mistake of the
    caller's). API_2 is called once, as the document has it; the others are repeated with the same body, because the
    server recognises a repeat of them: API_1 by its `request_id`.
    """

    def __init__(self, url: str, key: str, *, timeout: float = 30.0, repeats: int = 5, pause: float = 0.2) -> None:
        self._calls = Calls(url, key, timeout=timeout)
        self._repeats, self._pause = repeats, pause

    def start(
        self,
        *,
        subsystems: Sequence[str] = (),
        senders: Sequence[str] = (),
        max_files: int | None = None,
        max_mb: int | None = None,
        committed: Sequence[str] = (),
    ) -> Started:
        """API_1: begin a process and take its messages; where the answer is lost, the same one is asked for again."""
        asked = {
            "request_id": str(uuid.uuid4()),
            "subsystems": list(subsystems),
            "senders": list(senders),
            "max_files": max_files,
            "max_mb": max_mb,
            "committed": list(committed),
        }
        body = encode({"version": 1} | {name: value for name, value in asked.items() if value})
        path = "/exchange/processes/"
        said = self._calls.repeat("POST", path, body, times=self._repeats, pause=self._pause).json
        return Started(said["status"], said.get("process_id", ""), said.get("messages", []))

    def accept(self, process_id: str, messages: Sequence[str]) -> bool:
        """API_2: say which of the messages will be processed; the others are free at once."""
        body = encode({"version": 1, "messages": list(messages)})
        return _is_ok(self._calls.call("POST", f"/exchange/processes/{process_id}/accept/", body).json)

    def prepare(self, process_id: str, results: Sequence[Result], replies: Sequence[Reply]) -> bool:
        """API_3: hand over the results and the replies before the commit."""
        return self._post(process_id, "prepare", {"results": list(results), "replies": list(replies)})

    def commit(self, process_id: str) -> bool:
        """API_4: the ERP's transaction is committed."""
        return self._post(process_id, "commit", {})

    def rollback(self, process_id: str, error_text: str) -> bool:
        """API_5: the commit failed."""
        return self._post(process_id, "rollback", {"error_text": error_text})

    def interrupt(self, process_id: str, text: str) -> bool:
        """API_6: give up a process that has not come to API_3."""
        return self._post(process_id, "interrupt", {"text": text})

    def abandon(self, process_id: str, text: str) -> bool:
        """Give up a process of which nothing was committed here, whether the server has had its API_3 or not."""
        return self._post(process_id, "abandon", {"text": text})

    def resolve(self, process_id: str, *, committed: bool) -> bool:
        """API_7: say afterwards what became of the ERP's transaction."""
        return self._post(process_id, "resolve", {"committed": committed})

    def find_status(self, process_id: str) -> str | None:
        """Ask for the status of a process; None when the server has none of that id."""
        try:
            path = f"/exchange/processes/{process_id}/"
            said = self._calls.repeat("GET", path, times=self._repeats, pause=self._pause).json
        except Refused as refused:
            if refused.status == 404:
                return None
            raise
        return str(said["status"])

    def close(self) -> None:
        self._calls.close()

    def _post(self, process_id: str, verb: str, body: dict[str, Any]) -> bool:
        """Encode the body once and repeat the same bytes until there is an answer."""
        path = f"/exchange/processes/{process_id}/{verb}/"
        encoded = encode({"version": 1} | body)
        return _is_ok(self._calls.repeat("POST", path, encoded, times=self._repeats, pause=self._pause).json)


def _is_ok(said: dict[str, Any]) -> bool:
    return bool(said["status"] == "OK")
