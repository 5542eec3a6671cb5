"""Somebody puts things into the message folders: under the names of messages, beside them, while they are read.
Nobody waits for them, nothing of what they lead to is given away or touched, and others go on."""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from messaging.files.paths import draft_of, root
from messaging.files.reader import Unreadable
from messaging.files.scan import scan_files
from messaging.models import Message
from messaging.services.retention import expire_files, report_foreign_files, sweep_drafts
from tests.messaging.raw_calls import file_of, write_replies
from tests.processes.exchange.conftest import _own_folders, scene
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import alerts

__all__ = ["_own_folders", "scene"]

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]

SECRET = "nobody must see this"
OLD = "2020-01-01T00:00:00Z"
HOSTILE_NAMES = (
    b"\xff\xfe.json",
    b"a\nb",
    b"%(name)s",
    b" ",
    b"x" * 255,
    b".draft-",
    b".draft-\xff",
    b"..json",
    b"-rf",
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    return file


def to_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def to_dead_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside.with_name("nowhere"))


def to_link_to_itself(path: Path, outside: Path) -> None:
    path.symlink_to(path)


def to_pipe(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def to_folder(path: Path, outside: Path) -> None:
    path.mkdir()
    (path / "inner").write_text(SECRET)


def to_socket(path: Path, outside: Path) -> None:
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{here}/{path.name}")  # a path of its own would be too long
    os.close(here)


def to_huge_file(path: Path, outside: Path) -> None:
    path.touch()
    os.truncate(path, 2**40)


THINGS = (to_link, to_dead_link, to_link_to_itself, to_pipe, to_folder, to_socket, to_huge_file)
Thing = Callable[[Path, Path], None]


@pytest.fixture(params=THINGS, ids=lambda thing: thing.__name__)
def thing(request: pytest.FixtureRequest) -> Thing:
    made: Thing = request.param
    return made


@contextmanager
def unharmed(outside: Path) -> Iterator[None]:
    """See that it takes no time, leaves nothing open and leaves what lies outside as it was."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 60
    assert not _open_files(outside.parent)
    assert outside.read_text() == SECRET
    assert sorted(path.name for path in outside.parent.iterdir()) == ["secret"]


def _open_files(outside: Path) -> list[str]:
    """List what this process has open in the message folders or outside."""
    names = []
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return [name for name in names if name.startswith((str(root()), str(outside)))]


class TestInPlaceOfAMessage:
    def test_api_1_and_fetch_pass_it_over(self, scene: Scene, outside: Path, thing: Thing) -> None:
        write_replies(scene, scene.reply("r1"), scene.reply("r2"))
        for id in ("m1", "m2"):
            scene.send(id, {"is": "fine"})
        for file in (file_of(scene, "m1"), file_of(scene, "r1")):
            file.unlink()
            thing(file, outside)
        with unharmed(outside):
            answer = scene.start()
            assert [message["id"] for message in answer["messages"]] == ["m2"]
            fetched = scene.fetch()
            assert [message["id"] for message in fetched] == ["r2"]
            move_files()
        assert SECRET not in json.dumps([answer, fetched])
        assert scene.receipt("m1")["error_code"] == "unreadable"

    def test_only_its_own_process_is_held_up_by_one_that_cannot_be_moved(
        self, scene: Scene, outside: Path, thing: Thing
    ) -> None:
        other = Scene("other")
        processes = {each: each.ready() for each in (scene, other)}
        for each, process in processes.items():
            assert each.step(process, "commit") == "OK"
        file = file_of(scene, "m1")
        file.unlink()
        thing(file, outside)
        with unharmed(outside):
            move_files()
        assert other.process(processes[other])["status"] == "DONE"
        assert scene.process(processes[scene])["status"] == ("DONE" if thing is to_huge_file else "FAILED")


class TestInTheWay:
    def test_nothing_is_written_through_it_or_lost_in_it(self, scene: Scene, outside: Path, thing: Thing) -> None:
        """The thing has the name in Log that the message is about to have."""
        process, other = scene.ready(), Scene("other")
        thing(root() / scene.database.pk / "Log" / file_of(scene, "m1").name, outside)
        assert scene.step(process, "commit") == "OK"
        assert other.step(other.ready(), "commit") == "OK"
        content = file_of(scene, "m1").read_bytes()
        with unharmed(outside):
            move_files()
        assert other.folders() == {"Messages": ["r-m1"], "Log": ["m1"]}
        is_stuck = thing is to_folder  # anything else is replaced: the name is the message's
        assert alerts("exchange.failed") == ([f"process/{process}"] if is_stuck else [])
        assert file_of(scene, "m1", "Messages" if is_stuck else "Log").read_bytes() == content


class TestUpkeep:
    def test_retention_goes_on_with_the_others(self, scene: Scene, outside: Path, thing: Thing) -> None:
        for id in ("m1", "m2", "m3"):
            scene.step(scene.ready(id=id), "commit")
            move_files()
        file = file_of(scene, "m2", "Log")
        file.unlink()
        thing(file, outside)
        Message.objects.filter(direction="request").update(arrived_at=OLD)
        with unharmed(outside):
            expire_files()
        left = set(scene.files("Log"))
        assert left <= {"m2"}

    def test_sweeping_drafts_goes_on_with_the_others(self, scene: Scene, outside: Path, thing: Thing) -> None:
        scene.send("m1")
        folder = file_of(scene, "m1").parent
        drafts = [folder / f".draft-{name}" for name in ("a", "0" * 32, "z")]
        for draft in drafts:
            thing(draft, outside) if draft == drafts[1] else draft.touch()
        message = Message.objects.get()
        file_of(scene, "m1").rename(draft_of(message))
        for path in (*drafts, draft_of(message)):
            os.utime(path, (0, 0), follow_symlinks=False)
        with unharmed(outside):
            sweep_drafts()
        assert scene.files("Messages") == ["m1"]
        assert [path.name for path in folder.glob(".draft-*")] in ([], [drafts[1].name])

    def test_hostile_names_are_told_and_left_alone(self, scene: Scene, outside: Path, thing: Thing) -> None:
        scene.send("m1")
        folder = file_of(scene, "m1").parent
        for name in HOSTILE_NAMES:
            path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
            path.touch()
            os.utime(path, (2**40, 2**40))
        thing(folder / f"{file_of(scene, 'm1').name[:-5]}x.json", outside)
        before = sorted(os.listdir(os.fsencode(folder)))
        with unharmed(outside):
            report_foreign_files()
            call_command("reindex_messages", "--after-restore")
        assert sorted(os.listdir(os.fsencode(folder))) == before
        assert alerts("message.foreign_files") == ["messages"]
        assert [message["id"] for message in scene.start()["messages"]] == ["m1"]


class TestScan:
    def test_what_goes_meanwhile_is_passed_over(self, scene: Scene) -> None:
        for id in ("m1", "m2", "m3"):
            scene.send(id)
        walk = scan_files()
        first = next(walk)
        for id in {"m1", "m2", "m3"} - {first.name.id}:
            file_of(scene, id).unlink()
        assert list(walk) == []


class TestWhileItIsRead:
    """Somebody writes to the files all the while; each answer is whole and right, or there is none."""

    @pytest.mark.parametrize("change", ["grow", "shrink"])
    def test_answers_are_right_or_cut(self, scene: Scene, outside: Path, change: str) -> None:
        payload = {"filler": "x" * 300_000}
        for number in range(4):
            scene.send(f"m{number}", payload)
        with unharmed(outside), _changing(file_of(scene, "m1"), change):
            for _ in range(5):
                self.read(scene, payload)
        move_files()
        assert {"m0", "m2", "m3"} == {message["id"] for message in scene.start()["messages"]} - {"m1"}

    def read(self, scene: Scene, payload: Any) -> None:
        try:
            answer = scene.start()
        except Unreadable:
            return  # the line was cut, and the process ended with it
        assert all(message["payload"] == payload for message in answer.get("messages", []))
        if answer["status"] == "OK":
            assert scene.step(answer["process_id"], "interrupt", text="once more") == "OK"


@contextmanager
def _changing(file: Path, change: str) -> Iterator[None]:
    """Let the file grow, or lose its end and get it back, all the while."""
    content, stop = file.read_bytes(), threading.Event()
    kept = len(content) - 100_000 if change == "shrink" else len(content)

    def run() -> None:
        descriptor = os.open(file, os.O_RDWR)
        while not stop.wait(0.0005):
            os.ftruncate(descriptor, kept)
            os.pwrite(descriptor, content[kept:] or b"y" * 70_000, kept)
        os.close(descriptor)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
