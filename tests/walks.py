"""Count the files of the five walks of docs/architecture.md: `python -m tests.walks`, with `files` to see their names.

Each walk is gone on SQLite, once to warm up (imports, caches, compiled definitions) and once more while every function
that begins, in any thread, is noted by `sys.setprofile` and `threading.setprofile`. A file of the product counts if one
of its functions ran: what stands in a file alone, constants and classes, is not on the way. The table has the number of
all such files and that without `config/`, which every walk shares: the frame of a REST call alone is about 18 of them.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[1]
PRODUCT = ("config", "notifications", "sensors", "messaging", "processes")
DATABASES = ["default", "reader_main"]
FILES = "WALKS_FILES"

Walk = tuple[Callable[[], Any], Callable[[Any], None]]
"""What prepares it, and is not counted; and the walk itself, which is given what was prepared."""


class Recorder:
    """Notes the files whose functions begin, while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self._names: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.is_on and event == "call" and frame.f_code.co_name != "<module>":
            self._names.add(frame.f_code.co_filename)

    @contextmanager
    def record(self) -> Iterator[list[str]]:
        """Fill the list, at the end, with the files of the product, by their paths."""
        found: list[str] = []
        self._names, self.is_on = set(), True
        sys.setprofile(self)
        try:
            yield found
        finally:
            sys.setprofile(None)
            self.is_on = False
            paths = {Path(name) for name in self._names if name.startswith(f"{TOP}{os.sep}")}
            places = {path.relative_to(TOP) for path in paths}
            found += sorted(str(place) for place in places if place.parts[0] in PRODUCT)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """One that threads take along which the walk starts."""
    recorder = Recorder()
    threading.setprofile(recorder)
    yield recorder
    threading.setprofile(None)


@pytest.mark.django_db(transaction=True, databases=DATABASES)
def test_five_walks(recorder: Recorder, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.1")]
    lines = [f"{'walk':<20} {'files':>6} {'without config':>15}"]
    longer: list[str] = []
    for name, (begin, most) in WALKS.items():
        with begin(settings) as (prepare, walk):
            walk(prepare())
            prepared = prepare()
            with recorder.record() as files:
                walk(prepared)
        own = [file for file in files if not file.startswith("config/")]
        lines.append(f"{name:<20} {len(files):>6} {len(own):>15}")
        if len(own) > most:
            longer.append(f"{name}: at most {most} without config")
        if os.environ.get(FILES):
            lines += [f"    {file}" for file in files]
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert longer == []


@contextmanager
def signal_to_sent(settings: Any) -> Iterator[Walk]:
    """A signal by REST changes a state, and the webhook of the client has been answered."""
    from notifications.models import Attempt
    from sensors.models import Client
    from tests.notifications.sending.deliveries import make_endpoint
    from tests.sensors.api.callers import service
    from tests.sensors.registry import link, make_sensor
    from tests.webhook_receiver import run_receiver

    caller = service("signals:write")
    make_sensor("0xA")

    def walk(gone: int) -> None:
        answer = caller("POST", "/signals/", {"sensor_id": "0xA", "data": (gone + 1) % 2})
        assert answer.status_code == 202, answer.content
        send(lambda: Attempt.objects.count() > gone)

    with run_receiver() as receiver:
        link("0xA", Client.objects.create(name="watch", endpoint=make_endpoint(receiver.url("/200/a"))))
        yield Attempt.objects.count, walk


def send(is_over: Callable[[], bool]) -> None:
    """Let a sender of its own send what is due, so that its threads begin while they are looked at."""
    from notifications.sending.sender import Sender
    from tests.faults.wait import wait_until

    sender = Sender(slots=5)
    sender.wake()
    try:
        assert wait_until(is_over, 60)
    finally:
        sender.stop(grace=15)


@contextmanager
def commit_of_an_exchange(settings: Any) -> Iterator[Walk]:
    """API_4 alone: what it decides is ready, with a reply."""
    from tests.processes.exchange.scene import Scene, move_files

    scene, numbers = Scene(), count()

    def prepare() -> str:
        move_files()
        return scene.ready(id=f"m{next(numbers)}")

    def walk(process: str) -> None:
        assert scene.step(process, "commit") == "OK"

    yield prepare, walk


@contextmanager
def workflow_command(settings: Any) -> Iterator[Walk]:
    """A person's task is completed by REST, and the next one is there."""
    from tests.processes.workflows.process_files import chain, user
    from tests.sensors.api.callers import service

    caller = service("workflows:read", "workflows:write")
    source = chain("order", user("check"), user("ship")).decode()
    assert caller("POST", "/workflows/definitions/", {"source": source}).status_code == 201

    def prepare() -> Any:
        return caller("POST", "/workflows/instances/", {"definition": "order", "variables": {"sum": 5}}).json()

    def walk(instance: Any) -> None:
        body = {"command": "complete_task", "task": instance["tasks"][0]["id"], "variables": {"sum": 6}}
        answer = caller("POST", f"/workflows/instances/{instance['id']}/commands/", body)
        assert answer.status_code == 200, answer.content

    yield prepare, walk


@contextmanager
def change_set(settings: Any) -> Iterator[Walk]:
    """A row is created by REST and committed in the reader's database; the roles share a bus in memory."""
    from tests.processes.coordination.in_memory_roles import InMemoryRoles
    from tests.sensors.api.callers import service

    caller, roles = service("coordination"), InMemoryRoles()
    roles.live()

    def walk(_: None) -> None:
        answer = caller("POST", "/coordination/writer/dummy-items/", {"name": "door"})
        assert answer.status_code == 202, answer.content
        roles.settle()

    yield lambda: None, walk


@contextmanager
def alert(settings: Any) -> Iterator[Walk]:
    """An alert is raised, its first rung is due, and the mail of it has gone."""
    from notifications.models import Attempt, Delivery
    from tests.mail_server import mail_server
    from tests.notifications.alerts import escalate, make_alert, set_ladder
    from tests.notifications.sending.deliveries import make_due

    set_ladder((0, "email", "ops@example.org"))
    subjects = count()

    def walk(gone: int) -> None:
        make_alert(subject=f"engine/{next(subjects)}")
        escalate()
        make_due(*Delivery.objects.filter(status="pending"))
        send(lambda: Attempt.objects.count() > gone)

    with mail_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 5
        yield Attempt.objects.count, walk


WALKS = {
    "signal, to sent": (signal_to_sent, 26),
    "API_4": (commit_of_an_exchange, 8),
    "workflow command": (workflow_command, 20),
    "change set": (change_set, 32),
    "alert, to sent": (alert, 31),
}
"""Each with the most files that it may have without `config/`: whoever makes one longer sees it here."""

if __name__ == "__main__":
    os.environ |= {"TEST_PROFILE": "embedded", FILES: "1" if "files" in sys.argv[1:] else ""}
    sys.exit(pytest.main(["-q", "-p", "no:randomly", __file__]))
