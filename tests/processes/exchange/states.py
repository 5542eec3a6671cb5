"""A process in each of its statuses, brought there by the calls, the clock and the disk."""

import errno
from collections.abc import Callable

from notifications.models import Alert
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.timeouts import time_out_once
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import file_of
from tests.processes.exchange.scene import Scene, move_files

Status = ExchangeProcess.Status


def let_time_pass(process: str) -> None:
    """Let the process's patience be over, and the sweep notice it."""
    ExchangeProcess.objects.filter(pk=process).update(due_at="2020-01-01T00:00:00Z")
    time_out_once()


def bring_to(scene: Scene, status: str) -> str:
    """Return a process in this status; `NEVER_READY` is one rolled back before it was ready to commit."""
    process = _WAYS[status](scene)
    expected = "ROLLED_BACK" if status == "NEVER_READY" else status
    assert scene.process(process)["status"] == expected
    return process


def alerts(kind: str) -> list[str]:
    """List whom the open alerts of a kind are about."""
    return list(Alert.objects.filter(kind=kind).exclude(status="resolved").values_list("subject", flat=True))


def _started(scene: Scene) -> str:
    scene.send("m1")
    return str(scene.start()["process_id"])


def _after(call: str, **fields: object) -> Callable[[Scene], str]:
    def act(scene: Scene) -> str:
        process = scene.ready()
        assert scene.step(process, call, **fields) == "OK"
        return process

    return act


def _done(scene: Scene) -> str:
    process = _after("commit")(scene)
    move_files()
    return process


def _failed(scene: Scene) -> str:
    process = _after("commit")(scene)
    file_of(scene, "m1").unlink()
    move_files()
    return process


def _in_doubt(scene: Scene) -> str:
    process = scene.ready()
    let_time_pass(process)
    move_files()
    return process


def _timed_out(scene: Scene) -> str:
    process = _started(scene)
    let_time_pass(process)
    return process


def _interrupted(scene: Scene) -> str:
    process = _started(scene)
    assert scene.step(process, "interrupt", text="no") == "OK"
    return process


def _never_ready(scene: Scene) -> str:
    process = _started(scene)
    with failing(errno.ENOSPC, names=["write"]):
        assert scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r-m1")) == "CANCELLED"
    return process


_WAYS: dict[str, Callable[[Scene], str]] = {
    "STARTED": _started,
    "READY_TO_COMMIT": lambda scene: scene.ready(),
    "CLEANUP": _after("commit"),
    "FAILED": _failed,
    "DONE": _done,
    "TIMED_OUT": _timed_out,
    "INTERRUPTED": _interrupted,
    "ROLLED_BACK": _after("rollback", error_text="no space"),
    "NEVER_READY": _never_ready,
    "IN_DOUBT": _in_doubt,
}
