"""A disk that is full or fails, at each step of everything that is written: the caller hears it or the operator does,
nothing is lost, nothing happens twice, and once there is room again all goes on."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.conf import settings

from messaging.files.names import name_of
from messaging.files.paths import root
from messaging.files.volume import check_volume
from messaging.models import Message
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.operations import retry_process
from processes.exchange.services.timeouts import time_out_once
from tests.faults.exchange_scenario import Scenario
from tests.faults.fault_injection import FaultInjector
from tests.messaging.failing_disk import failing
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import alerts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(1800)]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
# What writes; what the reader makes of a disk that fails is told in its own tests.
WRITERS = ("config.common.files", "messaging.files.drafts", "messaging.files.placement")
REFUSAL = {errno.ENOSPC: 507, errno.EIO: 503}
FOR_EVER = 10**6


class Way(NamedTuple):
    error: int
    times: int


WAYS = [Way(error, times) for times in (1, FOR_EVER) for error in REFUSAL]


@pytest.fixture(autouse=True)
def _own_folders() -> Iterator[None]:
    yield
    shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


@dataclass(frozen=True)
class Trial:
    """Something that writes: what comes before it, what it answers when all is well, and when the disk refuses."""

    arrange: Callable[[Scene], str]
    act: Callable[[Scene, str], Any]
    well: Any
    refused: Callable[[int], Any]


def nothing(scene: Scene) -> str:
    """Begin without a folder on the volume: those are made as well."""
    check_volume()
    shutil.rmtree(root() / scene.database.pk, ignore_errors=True)
    return ""


def sent(scene: Scene, _: str = "") -> int:
    return scene.send("m1")[0]


def started(scene: Scene) -> str:
    scene.send("m1")
    return str(scene.start()["process_id"])


def prepared(scene: Scene, process: str) -> str:
    return scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r1", reply_to="m1"), scene.reply("r2"))


def ready(scene: Scene) -> str:
    process = started(scene)
    assert prepared(scene, process) == "OK"
    return process


def committed(scene: Scene) -> str:
    process = ready(scene)
    assert scene.step(process, "commit") == "OK"
    return process


def in_doubt(scene: Scene) -> str:
    process = ready(scene)
    ExchangeProcess.objects.filter(pk=process).update(due_at="2020-01-01T00:00:00Z")
    time_out_once()
    return process


def fetched(scene: Scene) -> str:
    committed(scene)
    move_files()
    return str(scene.fetch()[0]["id"])


def moved(scene: Scene, process: str) -> str:
    """Do what workers do, and say what became of the process: told to the operator, or never."""
    move_files()
    is_told = f"process/{process}" in alerts("exchange.failed")
    return f"{scene.process(process)['status']}{' and told' if is_told else ''}"


def confirmed(scene: Scene, message: str) -> int:
    return scene.call("POST", f"/messages/{message}/confirm/", of=scene.device.pk)[0]


def rolled_back(scene: Scene, process: str) -> str:
    return scene.step(process, "rollback", error_text="no")


TRIALS = {
    "a device sends": Trial(nothing, sent, 201, lambda error: REFUSAL[error]),
    "API_3": Trial(started, prepared, "OK", lambda error: "CANCELLED"),
    "moves of a commit": Trial(committed, moved, "DONE", lambda error: "FAILED and told"),
    "moves of a doubt": Trial(in_doubt, moved, "IN_DOUBT", lambda error: "IN_DOUBT"),
    "confirmation": Trial(fetched, confirmed, 204, lambda error: 204),
    "API_5": Trial(ready, rolled_back, "OK", lambda error: "OK"),
}


@pytest.mark.parametrize("trial", TRIALS.values(), ids=TRIALS)
class TestEachStep:
    def test_is_told_and_all_goes_on_when_there_is_room_again(self, trial: Trial) -> None:
        steps = count_steps(trial)
        for at, way in faults(steps, every=3):
            with _noted(f"step {at} of {steps}: {way}"):
                self.assert_it_goes_on(trial, at, way)

    def assert_it_goes_on(self, trial: Trial, at: int, way: Way) -> None:
        scene = Scene(f"s{at}-{WAYS.index(way)}")
        subject = trial.arrange(scene)
        with failing(way.error, at=at, times=way.times, modules=WRITERS) as disk:
            outcome = trial.act(scene, subject)
        assert disk.has_failed
        assert outcome in (trial.well, trial.refused(way.error))
        go_on(scene)
        check(scene)


def faults(steps: int, *, every: int) -> Iterator[tuple[int, Way]]:
    """At full size each step goes wrong in every way, else some of them in one way each."""
    for at in range(1, steps + 1, 1 if SCALE >= 1 else every):
        for way in WAYS if SCALE >= 1 else [WAYS[at // every % len(WAYS)]]:
            yield at, way


def count_steps(trial: Trial) -> int:
    scene = Scene("count")
    subject = trial.arrange(scene)
    with failing(at=FOR_EVER, modules=WRITERS) as disk:
        assert trial.act(scene, subject) == trial.well
    return disk.steps


def go_on(scene: Scene) -> None:
    """There is room again: the operator tries again, callers repeat, the ERP tells what it knows, and so to the end."""
    assert sent(scene) in (200, 201)
    for process in ExchangeProcess.objects.filter(database=scene.database):
        if process.status == "FAILED":
            retry_process(process_id=process.pk, actor="operator")
        if process.status in ("READY_TO_COMMIT", "IN_DOUBT"):
            assert scene.step(str(process.pk), "commit") == "OK"
        ExchangeProcess.objects.filter(pk=process.pk, due_at__isnull=False).update(due_at="2020-01-01T00:00:00Z")
    move_files()
    time_out_once()
    answer = scene.start()
    if answer["status"] == "OK":
        assert prepared(scene, answer["process_id"]) == "OK"
        assert scene.step(answer["process_id"], "commit") == "OK"
        move_files()
    for message in scene.fetch():
        assert confirmed(scene, message["id"]) == 204
    move_files()


def check(scene: Scene) -> None:
    """One message, processed once, its replies confirmed; beside them only such files as staff were told of."""
    assert {(row.public_id, row.status) for row in rows(scene)} == {(id, "processed") for id in ("m1", "r1", "r2")}
    assert not [row.public_id for row in rows(scene) if row.moving_from]
    belongs = {(row.folder, name_of(row)) for row in rows(scene)}
    lies = {(path.parent.name, path.name) for path in (root() / scene.database.pk).glob("*/*.json")}
    assert belongs <= lies
    told = alerts("message.file")
    assert all(any(f"_{subject.rpartition('/')[2]}_" in name for subject in told) for _, name in lies - belongs)


def rows(scene: Scene) -> list[Message]:
    return list(Message.objects.filter(database=scene.database))


@contextmanager
def _noted(text: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(text)
        raise


def fill_with_bytes(disk: Path) -> None:
    with (disk / "filler").open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def fill_with_names(disk: Path) -> None:
    names = disk / "names"
    names.mkdir()
    with suppress(OSError):
        for number in range(1000):
            (names / str(number)).touch()


class TestFromThenOn:
    """Whole exchanges with a device and an ERP of its own; the disk refuses from step N on, until all are done."""

    @pytest.mark.embedded
    def test_nothing_is_lost_and_nothing_twice(self, tmp_path: Path) -> None:
        with failing(at=FOR_EVER, modules=WRITERS) as disk:
            self.run("count", tmp_path)
        for at, way in faults(disk.steps - 1, every=disk.steps // 10):
            with _noted(f"from step {at} of {disk.steps} on: {way}"):
                with failing(way.error, at=at, times=FOR_EVER, modules=WRITERS):
                    scenario = self.run(f"w{at}-{WAYS.index(way)}", tmp_path)
                scenario.recover()
                scenario.check()
                scenario.close()

    def run(self, name: str, folder: Path) -> Scenario:
        scenario = Scenario(name, folder, FaultInjector())
        scenario.run()
        return scenario


class TestRealDisk:
    """A small file system of its own, filled up to the last byte, or to the last name."""

    @pytest.fixture
    def disk(self, tmp_path: Path, settings: Any) -> Iterator[Path]:
        place = tmp_path / "disk"
        place.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=60", "tmpfs", place], capture_output=True, text=True
        )
        if mounted.returncode:
            pytest.skip(f"no file system of its own may be mounted here: {mounted.stderr.strip()}")
        settings.DATA_DIR = place
        yield place
        subprocess.run(["umount", place], check=True)

    @pytest.mark.parametrize("fill", [fill_with_bytes, fill_with_names])
    def test_who_writes_is_refused_and_all_goes_on_when_there_is_room_again(
        self, disk: Path, fill: Callable[[Path], None]
    ) -> None:
        waiting, done = Scene("waiting"), Scene("done")
        process = started(waiting)
        last = committed(done)
        fill(disk)
        assert [scene.send("new")[0] for scene in (waiting, Scene("without-folders"))] == [507, 507]
        assert prepared(waiting, process) == "CANCELLED"
        assert moved(done, last) in ("DONE", "FAILED and told")
        (disk / "filler").unlink(missing_ok=True)
        shutil.rmtree(disk / "names", ignore_errors=True)
        for scene in (waiting, done):
            go_on(scene)
            check(scene)
