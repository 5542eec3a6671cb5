"""A message server on loopback that plays the contract from memory and loses calls or answers on demand."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Trouble = Literal["call lost", "answer lost", "unavailable", "cancelled", "refused"]
Json = dict[str, Any]
INSTEAD: dict[str, tuple[int, Json] | None] = {
    "call lost": None,
    "unavailable": (503, {"code": "unavailable", "message": "", "data": {}}),
    "cancelled": (200, {"version": 1, "status": "CANCELLED"}),
    "refused": (400, {"code": "invalid", "message": "", "data": {}}),
}
"""What is answered without carrying the call out."""


@dataclass
class Stored:
    message: Json
    body: bytes = b""
    place: Literal["Messages", "Prepared", "Log", "Error", "Unknown"] = "Messages"
    process_id: str = ""


@dataclass
class Process:
    id: str
    messages: list[str]
    status: str = "STARTED"
    request_id: str = ""
    prepared: bytes = b""
    results: list[Json] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    body: bytes

    @property
    def json(self) -> Json:
        decoded: Json = json.loads(self.body)
        return decoded


class Problem(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class FakeServer:
    """The key of a device or of the one database `erp` is its id."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.stored: dict[str, Stored] = {}
        self.processes: dict[str, Process] = {}
        self.inactive: set[str] = set()
        self._troubles: list[tuple[str, Trouble]] = []
        self._lock = threading.Lock()

    def put(self, *ids: str, amount: int = 10, sender: str = "d1", payload: Any = None) -> None:
        """Lay messages of a device into the queue of the ERP."""
        for id in ids:
            body = {"to": "erp", "payload": payload or {"account": "cash", "amount": amount}}
            self._store(id, sender, body, b"")

    def expect(self, verb: str, *troubles: Trouble) -> None:
        """Let the next calls whose path ends with the verb run into these troubles, one each."""
        self._troubles += [(verb, trouble) for trouble in troubles]

    def called(self, verb: str) -> list[Call]:
        return [call for call in self.calls if call.path.rstrip("/").endswith(verb)]

    def place(self, id: str) -> str:
        return self.stored[id].place

    def process(self) -> Process:
        """Return the only process."""
        [process] = self.processes.values()
        return process

    def time_out(self) -> None:
        """Let the time of every live process run out."""
        for process in self.processes.values():
            if process.status == "STARTED":
                self._end(process, "TIMED_OUT")
            elif process.status == "READY_TO_COMMIT":
                process.status = "IN_DOUBT"
                for id in [*process.messages, *process.replies]:
                    self.stored[id].place = "Unknown"

    def answer(self, call: Call, key: str) -> tuple[int, Json | None] | None:
        """Carry a call out and return status and body, or None where the caller is to get no answer."""
        with self._lock:
            self.calls.append(call)
            trouble = self._take_trouble(call.path)
            if trouble in INSTEAD:
                return INSTEAD[trouble]
            try:
                said = self._route(call, key)
            except Problem as problem:
                said = problem.status, {"code": problem.code, "message": "", "data": {}}
            return None if trouble == "answer lost" else said

    def _take_trouble(self, path: str) -> Trouble | None:
        for index, (verb, trouble) in enumerate(self._troubles):
            if path.split("?")[0].rstrip("/").endswith(verb):
                del self._troubles[index]
                return trouble
        return None

    def _route(self, call: Call, key: str) -> tuple[int, Json | None]:
        if not key or key in self.inactive:
            raise Problem(403, "forbidden")
        parts = [part for part in re.split(r"[/?]", call.path) if part][2:]
        if call.method == "POST" and call.json.get("version") != 1:
            raise Problem(400, "unsupported_version")
        match (call.method, *parts[:2], *parts[2:4]):
            case ("POST", "messages"):
                return self._accept_message(call, key)
            case ("GET", "messages", *rest) if not rest or "=" in rest[0]:
                return 200, {"version": 1, "messages": self._waiting(key)}
            case ("POST", "messages", id, "confirm"):
                return self._confirm(id, key)
            case ("GET", "messages", id, "receipt"):
                return 200, self._receipt(id)
            case ("POST", "exchange", "processes"):
                return 200, self._start(call.json)
            case ("GET", "exchange", "processes", id):
                return 200, {"version": 1, "id": id, "status": self._find(id).status}
            case ("POST", "exchange", "processes", id, *_):
                return 200, {"version": 1, "status": self._step(parts[-1], self._find(id), call)}
        raise Problem(404, "not_found")

    def _accept_message(self, call: Call, sender: str) -> tuple[int, Json]:
        id, known = call.json["id"], self.stored.get(call.json["id"])
        if known and (known.body != call.body or known.message["from"] != sender):
            raise Problem(409, "id_taken")
        if not known:
            self._store(id, sender, call.json, call.body)
        return (200 if known else 201), {"version": 1, "id": id, "name": f"{id}.json", "accepted_at": "…"}

    def _store(self, id: str, sender: str, body: Json, raw: bytes) -> Stored:
        message = {
            "version": 1,
            "id": id,
            "name": f"{id}.json",
            "from": sender,
            "to": body["to"],
            "subsystem": "shop",
            "created_at": body.get("created_at", "2026-01-01T00:00:00.000Z"),
            "correlation_id": "c0ffee00",
            "payload": body["payload"],
        } | ({"reply_to": body["reply_to"]} if "reply_to" in body else {})
        self.stored[id] = Stored(message, raw)
        return self.stored[id]

    def _waiting(self, recipient: str) -> list[Json]:
        stored = [s for s in self.stored.values() if s.place == "Messages" and not s.process_id]
        return [s.message for s in stored if s.message["to"] == recipient]

    def _confirm(self, id: str, device: str) -> tuple[int, None]:
        if id not in self.stored or self.stored[id].message["to"] != device:
            raise Problem(404, "message_not_found")
        self.stored[id].place = "Log"
        return 204, None

    def _receipt(self, id: str) -> Json:
        names = {"Messages": "waiting", "Log": "processed", "Error": "incorrect", "Unknown": "in_doubt"}
        replies = [s.message["id"] for s in self.stored.values() if s.message.get("reply_to") == id]
        return {"version": 1, "status": names[self.place(id)], "replies": replies}

    def _start(self, asked: Json) -> Json:
        for id in asked.get("committed", []):
            if id in self.processes and self.processes[id].status in ("READY_TO_COMMIT", "IN_DOUBT"):
                self._finish(self.processes[id])
        for process in self.processes.values():
            if process.status == "STARTED" and process.request_id == asked.get("request_id"):
                messages = [self.stored[id].message for id in process.messages]
                return {"version": 1, "status": "OK", "process_id": process.id, "messages": messages}
        for process in self.processes.values():
            if process.status in ("STARTED", "READY_TO_COMMIT", "CLEANUP", "FAILED"):
                return {"version": 1, "status": "BUSY", "process_id": process.id}
        messages = self._waiting("erp")[: asked.get("max_files", 10)]
        if not messages:
            return {"version": 1, "status": "IDLE"}
        process = Process(f"p{len(self.processes) + 1}", [message["id"] for message in messages])
        process.request_id = asked.get("request_id", "-")
        self.processes[process.id] = process
        for id in process.messages:
            self.stored[id].process_id = process.id
        return {"version": 1, "status": "OK", "process_id": process.id, "messages": messages}

    def _find(self, id: str) -> Process:
        if id not in self.processes:
            raise Problem(404, "process_not_found")
        return self.processes[id]

    def _step(self, verb: str, process: Process, call: Call) -> str:
        said = call.json
        match verb, process.status:
            case "accept", "STARTED":
                self._narrow(process, said["messages"])
            case "prepare", "STARTED":
                self._prepare(process, call)
            case "prepare", ("READY_TO_COMMIT" | "CLEANUP" | "DONE"):
                if process.prepared != call.body:
                    raise Problem(409, "different_repeat")
            case ("commit", ("READY_TO_COMMIT" | "IN_DOUBT")):
                self._finish(process)
            case ("rollback", ("READY_TO_COMMIT" | "IN_DOUBT")):
                process.log.append(said["error_text"])
                self._end(process, "ROLLED_BACK")
            case "interrupt", "STARTED":
                process.log.append(said["text"])
                self._end(process, "INTERRUPTED")
            case ("abandon", ("STARTED" | "READY_TO_COMMIT")):
                process.log.append(said["text"])
                self._end(process, "INTERRUPTED" if process.status == "STARTED" else "ROLLED_BACK")
            case ("abandon", ("INTERRUPTED" | "ROLLED_BACK")):
                pass
            case ("resolve", ("READY_TO_COMMIT" | "IN_DOUBT")):
                self._finish(process) if said["committed"] else self._end(process, "ROLLED_BACK")
            case ("commit", "DONE") | ("rollback", "ROLLED_BACK") | ("interrupt", "INTERRUPTED"):
                pass
            case "resolve", ("DONE" | "ROLLED_BACK") if said["committed"] == (process.status == "DONE"):
                pass
            case _:
                return "CANCELLED"
        return "OK"

    def _narrow(self, process: Process, accepted: list[str]) -> None:
        for id in process.messages:
            if id not in accepted:
                self.stored[id].process_id = ""
        process.messages = accepted
        if not accepted:
            self._end(process, "INTERRUPTED")

    def _prepare(self, process: Process, call: Call) -> None:
        if sorted(result["message"] for result in call.json["results"]) != sorted(process.messages):
            raise Problem(400, "invalid")
        if any(reply["id"] in self.stored for reply in call.json["replies"]):
            raise Problem(400, "invalid")
        for reply in call.json["replies"]:
            self._store(reply["id"], "erp", reply, b"").place = "Prepared"
            process.replies.append(reply["id"])
        process.results, process.prepared, process.status = call.json["results"], call.body, "READY_TO_COMMIT"

    def _finish(self, process: Process) -> None:
        for result in process.results:
            stored = self.stored[result["message"]]
            stored.process_id = ""
            places = {"PROCESSED": "Log", "PROCESSED_INCORRECT": "Error", "PROCESSED_DEADLOCK": "Messages"}
            stored.place = places[result["status"]]  # type: ignore[assignment]
        for id in process.replies:
            self.stored[id].place = "Messages"
        process.status = "DONE"

    def _end(self, process: Process, status: str) -> None:
        for id in process.messages:
            self.stored[id].place, self.stored[id].process_id = "Messages", ""
        for id in process.replies:
            del self.stored[id]
        process.status = status


@contextmanager
def serving() -> Iterator[tuple[FakeServer, str]]:
    """Yield the server and its URL."""
    server = FakeServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads, http.block_on_close = True, False
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join(60)


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            key = self.headers.get("Authorization", "").removeprefix("Bearer ")
            said = server.answer(Call(self.command, self.path, body), key)
            if said is None:
                self.close_connection = True
                return
            encoded = b"" if said[1] is None else json.dumps(said[1]).encode()
            self.send_response(said[0])
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


def wait_for(condition: Any, seconds: float = 10) -> None:
    """Wait until the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
