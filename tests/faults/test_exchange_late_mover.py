"""A mover that was paused in mid-move and lost its lock meanwhile: what others have decided and done since stands."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.db import connection, connections

from messaging.files.names import name_of
from messaging.files.places import folder_path
from messaging.models import Message
from messaging.services import moving
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.cleanup import move_files_once
from processes.exchange.services.timeouts import time_out_once
from tests.faults.patience import eventually
from tests.faults.pausing import Late
from tests.processes.exchange.scene import Scene, move_files

pytestmark = pytest.mark.django_db(transaction=True)

# Before and within the move of the request, then of the reply.
POINTS = [
    ("link", 1),
    ("fsync", 1),
    ("unlink", 1),
    ("fsync", 2),
    ("link", 2),
    ("fsync", 3),
    ("unlink", 2),
    ("fsync", 4),
]


@pytest.fixture
def scene() -> Iterator[Scene]:
    yield Scene()
    shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


def in_doubt(scene: Scene) -> str:
    """Let the ERP prepare a message and fall silent; its files are to be put aside, and still lie where they were."""
    process = scene.ready()
    ExchangeProcess.objects.filter(pk=process).update(due_at="2020-01-01T00:00:00Z")
    time_out_once()
    return process


def end_session(late: Late) -> None:
    """End the session as an operator or a server that restarts does; its lock is free."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [late.session])
    assert eventually(lambda: not _has_session(late))


def let_session_end(late: Late) -> None:
    """Wait until the database has had enough of it."""
    assert eventually(lambda: not _has_session(late))


def _has_session(late: Late) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [late.session])
        return cursor.fetchone() is not None


def check_places(scene: Scene) -> None:
    """Every row has its file where it says, no move is owed, and there is no other file."""
    rows = list(Message.objects.all())
    assert not [row.public_id for row in rows if row.moving_from]
    lies = {
        (folder, path.name)
        for folder in Message.Folder.values
        for path in folder_path(scene.database.pk, folder).iterdir()
    }
    assert lies == {(row.folder, name_of(row)) for row in rows}


def go_on(scene: Scene) -> None:
    """Do what remains by the document: the message is processed if it waits, the reply is confirmed."""
    answer = scene.start()
    if answer["status"] == "OK":
        process = str(answer["process_id"])
        assert scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r-again", reply_to="m1")) == "OK"
        assert scene.step(process, "commit") == "OK"
        move_files()
    for message in scene.fetch():
        assert scene.call("POST", f"/messages/{message['id']}/confirm/", of=scene.device.pk)[0] == 204


@pytest.mark.parametrize("goes_on_first", [True, False])
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(("at", "nth"), POINTS)
class TestResolvedMeanwhile:
    def test_no_file_is_misplaced(self, scene: Scene, at: str, nth: int, committed: bool, goes_on_first: bool) -> None:
        process = in_doubt(scene)
        late = Late(move_files_once, at=at, nth=nth)
        with late.paused():
            end_session(late)
            assert scene.step(process, "resolve", committed=committed) == "OK"
            move_files()
            if goes_on_first:
                go_on(scene)
        assert late.error is None
        move_files()
        go_on(scene)
        check_places(scene)
        reply = "r-m1" if committed else "r-again"
        assert scene.folders() == {"Log": ["m1", reply]}
        assert scene.process(process)["status"] == ("DONE" if committed else "ROLLED_BACK")


class TestHungTooLong:
    @pytest.mark.parametrize("committed", [True, False])
    def test_the_database_ends_its_session_and_no_file_is_misplaced(
        self, scene: Scene, committed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(moving, "PATIENCE", "300ms")
        process = in_doubt(scene)
        late = Late(move_files_once, at="link")
        with late.paused():
            let_session_end(late)
            assert scene.step(process, "resolve", committed=committed) == "OK"
            move_files()
        assert late.error is None
        move_files()
        check_places(scene)


class TestStillHolding:
    @pytest.mark.parametrize("committed", [True, False])
    @pytest.mark.parametrize(("at", "nth"), POINTS)
    def test_a_resolve_waits_and_no_file_is_misplaced(self, scene: Scene, at: str, nth: int, committed: bool) -> None:
        process = in_doubt(scene)
        late = Late(move_files_once, at=at, nth=nth)
        with ThreadPoolExecutor(1) as threads, late.paused():
            resolving = threads.submit(_in_thread(lambda: scene.step(process, "resolve", committed=committed)))
            assert not eventually(resolving.done, 0.2), "nobody decides over a file that is being moved"
        assert resolving.result() == "OK"
        assert late.error is None
        move_files()
        check_places(scene)
        go_on(scene)
        assert scene.folders() == {"Log": ["m1", "r-m1" if committed else "r-again"]}


def _in_thread(work: Callable[[], str]) -> Callable[[], str]:
    def run() -> str:
        try:
            return work()
        finally:
            connections.close_all()

    return run
