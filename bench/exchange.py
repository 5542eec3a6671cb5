"""Messaging: whole exchanges a second against durable file writes; API_1 with a long queue; its memory.

One message's way is: the device's POST, its share of API_1, API_3 and API_4, the files' moves, the reply fetched. The
yardstick writes two files of the same size a message, each with fsync of file and folder, one after the other.
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Any

from bench.figure import ROUNDS, Figure, compare, report
from bench.ingest import wait_for
from config.access.keys import create_key
from config.common.files import write_durably
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem

BYTES, MESSAGES, CALLERS = 4096, 1000, 4
PER_PROCESS = 100
"""EXCHANGE_MAX_FILES of a busy installation: what a process costs is shared by its messages."""
FEW, MANY = 100, 100_000
MB = 1_048_576


def figures() -> list[Figure]:
    parties = _Parties()
    with _Product() as product:
        speed = compare(
            "exchange",
            "messages/s",
            ours=lambda: _exchange(product, parties),
            yardstick=_write_files,
            must=0.25,
            aims=0.5,
        )
        memory = _memory(product, parties)
        return [speed, memory, _growth(product, parties)]


class _Parties:
    """One enterprise with a database and a few devices, each with its key."""

    def __init__(self) -> None:
        enterprise = Enterprise.objects.create(id="bench", name="bench")
        subsystem = Subsystem.objects.create(id="bench-sales", enterprise=enterprise, name="sales")
        self.database = ExchangeDatabase.objects.create(id="bench-erp", enterprise=enterprise, name="ERP")
        self.devices = [
            Device.objects.create(id=f"bench-{number}", subsystem=subsystem, name="phone") for number in range(CALLERS)
        ]
        self.key = _key("database", self.database.pk)
        self.device_keys = [_key("device", device.pk) for device in self.devices]


def _key(kind: str, subject: str) -> str:
    return create_key(name=subject, actor="bench", kind=kind, subject=subject)[1]


def _exchange(product: "_Product", parties: _Parties) -> float:
    """Send from several devices at once while the ERP exchanges; end when every reply has been fetched."""
    run = uuid.uuid4().hex[:8]
    began = time.perf_counter()
    senders = [threading.Thread(target=_send, args=(product, parties, run, number)) for number in range(CALLERS)]
    for sender in senders:
        sender.start()
    _process(product, parties, MESSAGES)
    for sender in senders:
        sender.join()
    for number in range(CALLERS):
        _fetch(product, parties, number)
    return MESSAGES / (time.perf_counter() - began)


def _send(product: "_Product", parties: _Parties, run: str, number: int) -> None:
    calls = _Calls(product.port, parties.device_keys[number])
    payload = "x" * BYTES
    for index in range(number, MESSAGES, CALLERS):
        body = {"version": 1, "id": f"{run}-{index}", "to": parties.database.pk, "payload": payload}
        status, answer = calls.post("/messages/", body)
        assert status == 201, answer


def _process(product: "_Product", parties: _Parties, count: int) -> None:
    """What an ERP calls, without an ERP's own work."""
    calls = _Calls(product.port, parties.key)
    done = 0
    while done < count:
        _, started = calls.post("/exchange/processes/", {"version": 1})
        if started["status"] != "OK":
            time.sleep(0.02)
            continue
        messages = started["messages"]
        results = [{"message": each["id"], "status": "PROCESSED"} for each in messages]
        replies = [
            {"to": each["from"], "reply_to": each["id"], "id": f"r-{each['id']}", "payload": each["payload"]}
            for each in messages
        ]
        path = f"/exchange/processes/{started['process_id']}"
        assert (
            calls.post(f"{path}/prepare/", {"version": 1, "results": results, "replies": replies})[1]["status"] == "OK"
        )
        assert calls.post(f"{path}/commit/", {"version": 1})[1]["status"] == "OK"
        done += len(messages)


def _fetch(product: "_Product", parties: _Parties, number: int) -> None:
    """Fetch every reply; confirming them is not part of the figure, so the rows are put away directly."""
    calls = _Calls(product.port, parties.device_keys[number])
    expected, found = len(range(number, MESSAGES, CALLERS)), 0
    while found < expected:
        _, answer = calls.get("/messages/?limit=1000&max_mb=20")
        found = len(answer["messages"])
        if found < expected:
            time.sleep(0.01)
    Message.objects.filter(device=parties.devices[number], direction="reply").update(status="processed", folder="Log")


def _write_files() -> float:
    """Write two files a message durably."""
    content = b"x" * BYTES
    with tempfile.TemporaryDirectory(dir=os.environ["DATA_DIR"]) as folder:
        began = time.perf_counter()
        for index in range(2 * MESSAGES):
            write_durably(Path(folder) / f"{index}.json", [content])
        return MESSAGES / (time.perf_counter() - began)


def _memory(product: "_Product", parties: _Parties) -> Figure:
    """Let the server answer API_1 with 20 MB once to warm up, then watch its peak."""
    peaks = []
    for _ in range(ROUNDS + 1):
        calls = _Calls(product.port, parties.device_keys[0])
        for _ in range(5):
            body = {"version": 1, "to": parties.database.pk, "payload": "x" * (4 * MB - 1024)}
            assert calls.post("/messages/", body)[0] == 201
        time.sleep(1)
        before = product.reset_peak()
        erp = _Calls(product.port, parties.key)
        _, started = erp.post("/exchange/processes/", {"version": 1})
        peaks.append(product.peak() - before)
        assert len(started["messages"]) == 5
        results = [{"message": each["id"], "status": "PROCESSED"} for each in started["messages"]]
        path = f"/exchange/processes/{started['process_id']}"
        erp.post(f"{path}/prepare/", {"version": 1, "results": results})
        erp.post(f"{path}/commit/", {"version": 1})
        wait_for(partial(_is_idle, erp))
    return report("exchange memory", "MB", statistics.median(peaks[1:]), 20.0, must=0.5, aims=0.1)


def _is_idle(erp: "_Calls") -> bool:
    return bool(erp.post("/exchange/processes/", {"version": 1})[1]["status"] == "IDLE")


def _growth(product: "_Product", parties: _Parties) -> Figure:
    calls = _Calls(product.port, parties.device_keys[0])
    for _ in range(FEW):
        calls.post("/messages/", {"version": 1, "to": parties.database.pk, "payload": "x" * 100})
    few = _start_often(product, parties)
    _copy_rows(parties, MANY)
    many = _start_often(product, parties)
    return report("exchange growth", "ms", many, few, must=1.5, aims=1.1)


def _start_often(product: "_Product", parties: _Parties) -> float:
    """Time API_1; each process is interrupted, so that the queue stays as long as it is."""
    calls, times = _Calls(product.port, parties.key), []
    for _ in range(40):
        began = time.perf_counter()
        _, started = calls.post("/exchange/processes/", {"version": 1})
        times.append((time.perf_counter() - began) * 1000)
        assert started["status"] == "OK"
        calls.post(f"/exchange/processes/{started['process_id']}/interrupt/", {"version": 1, "text": "bench"})
    return statistics.median(times)


def _copy_rows(parties: _Parties, count: int) -> None:
    """Lengthen the queue behind the messages that have files: API_1 never comes to these."""
    last = Message.objects.filter(direction="request", status="waiting").latest("created_at", "id")
    rows = (
        Message(
            **{
                field.attname: getattr(last, field.attname)
                for field in Message._meta.concrete_fields
                if field.attname not in ("id", "public_id", "token")
            },
            public_id=f"many-{number}",
        )
        for number in range(count)
    )
    Message.objects.bulk_create(rows, batch_size=5000)


class _Calls:
    def __init__(self, port: int, key: str) -> None:
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        return self._call("POST", path, json.dumps(body))

    def get(self, path: str) -> tuple[int, Any]:
        return self._call("GET", path, "")

    def _call(self, method: str, path: str, body: str) -> tuple[int, Any]:
        self._link.request(method, f"/api/v1{path}", body, self._headers)
        answer = self._link.getresponse()
        return answer.status, json.loads(answer.read())


class _Product:
    """The web process and one worker, as `manage.py up` starts them, and the scheduler beside them."""

    def __init__(self) -> None:
        self.port = 18081

    def __enter__(self) -> "_Product":
        commands = ("run_web", "run_worker", "run_scheduler")
        environment = os.environ | {"PORT": str(self.port), "EXCHANGE_MAX_FILES": str(PER_PROCESS)}
        self._processes = [
            subprocess.Popen([sys.executable, "manage.py", command], env=environment) for command in commands
        ]
        wait_for(self._answers)
        return self

    def __exit__(self, *args: object) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(20)

    def reset_peak(self) -> float:
        """Forget the highest memory use so far; return the present one in MB."""
        Path(f"/proc/{self._processes[0].pid}/clear_refs").write_text("5")
        return self._status("VmRSS")

    def peak(self) -> float:
        return self._status("VmHWM")

    def _status(self, name: str) -> float:
        lines = Path(f"/proc/{self._processes[0].pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) / 1024

    def _answers(self) -> bool:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            link.request("GET", "/healthz")
            return link.getresponse().status == 200
        except OSError:
            return False
        finally:
            link.close()
