"""What `manage.py up` does before it serves; that it serves is shown by the drills."""

import gc
import signal
import socket
import sys
from collections.abc import Iterator

import pytest
import uvicorn

from config.runtime import web
from config.runtime.management.commands import up


@pytest.fixture
def _interpreter() -> Iterator[None]:
    before = sys.getswitchinterval()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    sys.setswitchinterval(before)


class Quiet:
    """Stands in for what runs beside the server."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def join(self, seconds: float) -> bool:
        return False


@pytest.mark.usefixtures("_interpreter")
def test_all_in_one_no_call_waits_for_a_look_at_the_whole_program_or_for_a_long_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Garbage is not looked for in what was loaded, and threads take short turns: from the first call on."""
    found: list[object] = []
    monkeypatch.setattr(gc, "freeze", lambda: found.append("frozen"))
    monkeypatch.setattr(up, "Scheduler", Quiet)
    monkeypatch.setattr(web, "Daemon", lambda *_: Quiet())
    monkeypatch.setattr(up, "watch_daemon", Quiet)
    monkeypatch.setattr(up, "has_recipient", lambda: False)
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: found.append(sys.getswitchinterval()))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        up._be_all_in_one(listener)
    assert found == ["frozen", web.SWITCH_SECONDS]
