"""A mover that was paused in mid-move and lost its lock meanwhile: what others have decided and done since stands."""

import errno
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections

from messaging.files.names import name_of
from messaging.files.paths import folder_path
from messaging.models import Message
from messaging.services.requeue import requeue_message
from messaging.services.retention import expire_files
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.cleanup import move_files_once
from processes.exchange.services.timeouts import time_out_once
from tests.faults.paused_thread import PausedThread
from tests.faults.wait import wait_until
from tests.messaging.failing_disk import failing
from tests.processes.exchange.outcomes import put_into_error
from tests.processes.exchange.scene import Scene, move_files

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_folders() -> Iterator[None]:
    yield
    shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


def in_doubt(scene: Scene) -> str:
    """Let the ERP prepare a message and fall silent; its files are to be put aside, and still lie where they were."""
    process = scene.ready()
    ExchangeProcess.objects.filter(pk=process).update(due_at="2020-01-01T00:00:00Z")
    time_out_once()
    return process


def end_session(late: PausedThread) -> None:
    """End the session as an operator or a server that restarts does; its lock is free."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [late.session])
    assert wait_until(lambda: not _has_session(late), 60)


def _has_session(late: PausedThread) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [late.session])
        return cursor.fetchone() is not None


def check_places(scene: Scene) -> None:
    """Every row has its file where it says, no move is owed, and there is no other file."""
    rows = list(Message.objects.filter(database=scene.database))
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


class TestResolvedMeanwhile:
    """Paused at each step on the disk in turn, until it has no more of them."""

    @pytest.mark.parametrize("goes_on_first", [True, False])
    @pytest.mark.parametrize("committed", [True, False])
    def test_no_file_is_misplaced(self, committed: bool, goes_on_first: bool) -> None:
        for nth in count(1):
            scene = Scene(f"s{nth}")
            process = in_doubt(scene)
            late = PausedThread(move_files_once, nth=nth)
            with late.paused() as is_late:
                if is_late:
                    end_session(late)
                assert scene.step(process, "resolve", committed=committed) == "OK"
                move_files()
                if goes_on_first:
                    go_on(scene)
            assert late.error is None, nth
            move_files()
            check_places(scene)
            go_on(scene)
            assert scene.folders() == {"Log": ["m1", "r-m1" if committed else "r-again"]}, nth
            assert scene.process(process)["status"] == ("DONE" if committed else "ROLLED_BACK")
            if not is_late:
                break
        assert nth > 6


class TestHungTooLong:
    @pytest.mark.parametrize("committed", [True, False])
    def test_the_database_ends_its_session_and_no_file_is_misplaced(self, committed: bool) -> None:
        scene = Scene()
        process = in_doubt(scene)
        late = PausedThread(_impatiently(move_files_once), nth=1)
        with late.paused():
            assert wait_until(lambda: not _has_session(late), 60)
            assert scene.step(process, "resolve", committed=committed) == "OK"
            move_files()
        assert late.error is None
        move_files()
        check_places(scene)


class TestStillHolding:
    @pytest.mark.parametrize("committed", [True, False])
    def test_a_resolve_waits_and_no_file_is_misplaced(self, committed: bool) -> None:
        for nth in count(1):
            scene = Scene(f"s{nth}")
            process = in_doubt(scene)
            late = PausedThread(move_files_once, nth=nth)
            with ThreadPoolExecutor(1) as threads, late.paused() as is_late:
                resolving = threads.submit(_closing(partial(scene.step, process, "resolve", committed=committed)))
                if is_late:
                    assert not wait_until(resolving.done, 0.1), "nobody decides over a file that is being moved"
            assert resolving.result() == "OK"
            assert late.error is None, nth
            move_files()
            check_places(scene)
            go_on(scene)
            assert scene.folders() == {"Log": ["m1", "r-m1" if committed else "r-again"]}, nth
            if not is_late:
                break
        assert nth > 6


class TestLateStart:
    def test_api_1_that_lost_its_lock_takes_no_file_back(self) -> None:
        """It was about to give the draft of an accepted message its name."""
        scene = Scene()
        with failing(errno.EIO, names=["rename"], modules=["messaging.files.drafts"]):
            scene.send("m1")
        late = PausedThread(scene.start, nth=1, steps=("link",))
        with late.paused():
            end_session(late)
            go_on(scene)
        check_places(scene)
        assert scene.folders() == {"Log": ["m1", "r-again"]}


class TestLateDeletion:
    def test_takes_nothing_that_was_put_back_into_the_queue(self) -> None:
        for nth in count(1):
            scene = Scene(f"s{nth}")
            put_into_error(scene)
            old = Message.objects.filter(database=scene.database, public_id="m1")
            old.update(arrived_at="2020-01-01T00:00:00Z")
            late = PausedThread(expire_files, nth=nth)
            with late.paused() as is_late:
                if not is_late or old.get().file_gone_at is not None:
                    break
                end_session(late)
                requeue_message(message_id=old.get().pk, reason="again", actor="operator")
                move_files()
            assert [message["id"] for message in scene.start()["messages"]] == ["m1"]
        assert nth > 4
        assert scene.folders() == {"Messages": ["r-m1"]}, "the last one came too late"


def _impatiently(work: Callable[[], Any]) -> Callable[[], None]:
    """Let the database end a transaction in which nothing happens for a moment."""

    def run() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET idle_in_transaction_session_timeout = '200ms'")
        work()

    return run


def _closing(work: Callable[[], str]) -> Callable[[], str]:
    def run() -> str:
        try:
            return work()
        finally:
            connections.close_all()

    return run
