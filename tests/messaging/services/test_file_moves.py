"""Moves that rows owe and no process does: after a confirmation, a rollback out of doubt, an unreadable file."""

import errno

import pytest

from messaging.models import Message
from messaging.services import file_moves
from messaging.services.file_moves import move_message, move_pending_once
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import file_of, write_replies
from tests.processes.exchange.scene import Scene
from tests.processes.exchange.states import alerts

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def owe(scene: Scene, *ids: str) -> None:
    """Let the device confirm replies while the disk refuses to move them."""
    write_replies(scene, *(scene.reply(id) for id in ids))
    with failing(errno.EIO, names=["link"], times=len(ids)):
        for id in ids:
            assert scene.call("POST", f"/messages/{id}/confirm/", of=scene.device.pk)[0] == 204
    assert scene.files("Messages") == list(ids)


class TestMoveOwedOnce:
    def test_does_them_all_and_records_each(self, scene: Scene) -> None:
        owe(scene, "r1", "r2")
        assert move_pending_once()
        assert scene.folders() == {"Log": ["q1", "r1", "r2"]}
        assert not Message.objects.exclude(moving_from="").exists()
        assert not move_pending_once()

    def test_one_that_fails_is_told_and_stays_owed(self, scene: Scene) -> None:
        owe(scene, "r1", "r2")
        with failing(errno.EIO, names=["link"]):
            assert move_pending_once()
        assert (scene.files("Messages"), alerts("message.file")) == (["r1"], ["message/acme/r1"])
        assert move_pending_once()
        assert scene.folders() == {"Log": ["q1", "r1", "r2"]}

    def test_all_failing_is_nothing_done(self, scene: Scene) -> None:
        owe(scene, "r1", "r2")
        with failing(errno.EIO, names=["link"], times=2):
            assert not move_pending_once()

    def test_those_that_fail_keep_no_others_waiting(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        owe(scene, "r1", "r2", "r3")
        monkeypatch.setattr(file_moves, "BATCH", 1)
        with failing(errno.EIO, names=["link"], times=2):
            assert move_pending_once()
        assert scene.files("Messages") == ["r1", "r2"]

    def test_file_that_is_nowhere_is_given_up(self, scene: Scene) -> None:
        owe(scene, "r1")
        file_of(scene, "r1").unlink()
        assert move_pending_once()
        message = Message.objects.get(public_id="r1")
        assert (message.status, message.moving_from, bool(message.file_gone_at)) == ("processed", "", True)
        assert alerts("message.file") == ["message/acme/r1"]
        assert not move_pending_once()

    def test_leaves_those_of_processes_to_their_processes(self, scene: Scene) -> None:
        scene.step(scene.ready(), "commit")
        assert not move_pending_once()
        assert scene.folders() == {"Messages": ["m1"], "Prepared": ["r-m1"]}


class TestMoveMessage:
    def test_what_is_not_owed_is_not_touched(self, scene: Scene) -> None:
        scene.send("m1")
        with failing() as disk:
            move_message(Message.objects.get().pk)
        assert disk.steps == 0

    def test_unknown_row_is_nothing_to_do(self, scene: Scene) -> None:
        with failing() as disk:
            move_message(1)
        assert disk.steps == 0
