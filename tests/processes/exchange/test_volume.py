"""The volume of the messages is away for a while: callers hear it, and nothing is given up."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from messaging.files.paths import root
from messaging.models import Message
from messaging.services.retention import expire_files, report_foreign_files, sweep_drafts
from notifications.models import Alert
from processes.exchange.models import ExchangeProcess
from processes.exchange.reindex.walk import reindex
from tests.messaging.raw_calls import file_of, write_replies
from tests.processes.exchange.scene import Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@contextmanager
def unmounted(*, with_folder: bool = True) -> Iterator[None]:
    """Take the volume away; what is left is the folder that it was mounted on, or nothing."""
    place, away = root(), root().with_name("away")
    place.rename(away)
    if with_folder:
        place.mkdir()
    yield
    shutil.rmtree(place, ignore_errors=True)
    away.rename(place)


@contextmanager
def folder_away(*names: str, with_folder: bool) -> Iterator[None]:
    """Take a folder below the root of the volume away, as when it is a mount of its own."""
    place, away = root().joinpath(*names), root().with_name("away")
    place.rename(away)
    if with_folder:
        place.mkdir()
    yield
    if with_folder:
        place.rmdir()  # nothing was written there
    assert not place.exists()
    away.rename(place)


AWAY = {
    "empty volume": lambda: unmounted(),
    "no volume": lambda: unmounted(with_folder=False),
    "no folder of the database": lambda: folder_away("acme-erp", with_folder=False),
    "empty folder of the database": lambda: folder_away("acme-erp", with_folder=True),
    "no folder of the queue": lambda: folder_away("acme-erp", "Messages", with_folder=False),
}


def rows() -> list[tuple[str, str, str, object]]:
    return list(Message.objects.order_by("pk").values_list("public_id", "status", "folder", "file_gone_at"))


class TestCalls:
    @pytest.mark.parametrize("away", AWAY)
    def test_queue_survives_api_1(self, scene: Scene, away: str) -> None:
        for number in range(40):
            scene.send(f"m{number}")
        before = rows()
        with AWAY[away]():
            status, answer = scene.call("POST", "/exchange/processes/", {"version": 1})
            assert (status, answer["code"]) == (503, "volume_away")
            assert str(root()) not in str(answer)
            move_files()
            assert scene.send("later")[0] == 503
            assert rows() == before
        assert len(scene.start(max_files=40)["messages"]) == 10
        assert not Alert.objects.filter(kind="message.file").exists()

    def test_device_neither_sends_nor_fetches_nor_confirms(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        before = rows()
        with unmounted():
            calls = [("POST", "/messages/r1/confirm/"), ("GET", "/messages/")]
            answers = [scene.call(method, path, of=scene.device.pk)[0] for method, path in calls]
            assert [*answers, scene.send("m2")[0]] == [503, 503, 503]
            assert rows() == before
        assert [message["id"] for message in scene.fetch()] == ["r1"]

    def test_process_waits_for_its_replies_to_be_written(self, scene: Scene) -> None:
        scene.send("m1")
        process = scene.start()["process_id"]
        body = {"version": 1, "results": [{"message": "m1", "status": "PROCESSED"}], "replies": [scene.reply("r1")]}
        with unmounted():
            assert scene.call("POST", f"/exchange/processes/{process}/prepare/", body)[0] == 503
        assert scene.call("POST", f"/exchange/processes/{process}/prepare/", body)[1]["status"] == "OK"

    def test_replies_are_not_taken_back_while_their_files_cannot_be(self, scene: Scene) -> None:
        process = scene.ready()
        body = {"version": 1, "error_text": "no"}
        with unmounted():
            assert scene.call("POST", f"/exchange/processes/{process}/rollback/", body)[0] == 503
        assert scene.step(process, "rollback", error_text="no") == "OK"
        assert scene.folders() == {"Messages": ["m1"]}


class TestWork:
    def test_committed_process_has_not_failed(self, scene: Scene) -> None:
        process = scene.ready()
        scene.step(process, "commit")
        with unmounted():
            move_files()
            assert scene.process(process)["status"] == "CLEANUP"
        ExchangeProcess.objects.update(due_at="2020-01-01T00:00:00Z")
        move_files()
        assert scene.process(process)["status"] == "DONE"

    def test_owed_moves_stay_owed(self, scene: Scene) -> None:
        scene.send("m1")
        Message.objects.update(status="processed", folder="Log", moving_from="Messages")
        with unmounted():
            move_files()
            assert (Message.objects.get().moving_from, Message.objects.get().file_gone_at) == ("Messages", None)
        assert not Alert.objects.filter(kind="message.file").exists()
        move_files()
        assert scene.folders() == {"Log": ["m1"]}

    def test_folder_to_move_to_is_not_made_anew_where_another_file_system_was(self, scene: Scene) -> None:
        scene.send("m1")
        Message.objects.update(status="processed", folder="Log", moving_from="Messages")
        with folder_away("acme-erp", "Log", with_folder=False):
            move_files()
            assert Message.objects.get().moving_from == "Messages"
        move_files()
        assert scene.folders() == {"Log": ["m1"]}

    def test_old_files_are_not_taken_for_deleted(self, scene: Scene) -> None:
        scene.send("m1")
        file_of(scene, "m1").rename(root() / scene.database.pk / "Log" / file_of(scene, "m1").name)
        long_ago = timezone.now() - timedelta(days=1000)
        Message.objects.update(status="processed", folder="Log", arrived_at=long_ago)
        with unmounted():
            for upkeep in (expire_files, report_foreign_files, sweep_drafts):
                upkeep()
            assert Message.objects.get().file_gone_at is None
        expire_files()
        assert (scene.folders(), bool(Message.objects.get().file_gone_at)) == ({}, True)


class TestReindex:
    def test_refuses_and_says_why(self, scene: Scene) -> None:
        scene.ready()
        with unmounted():
            for option in ([], ["--after-restore"]):
                with pytest.raises(CommandError, match="not available: there is no marker in"):
                    call_command("reindex_messages", *option, stdout=StringIO(), stderr=StringIO())
            assert len(rows()) == 2

    def test_new_volume_is_adopted_on_request(self, scene: Scene) -> None:
        scene.send("m1")
        with unmounted():
            call_command("reindex_messages", "--adopt-volume", stdout=StringIO(), stderr=(said := StringIO()))
            assert "missing: " in said.getvalue()
            assert scene.start()["status"] == "IDLE"

    def test_folder_lost_for_good_is_made_anew_on_request(self, scene: Scene) -> None:
        scene.send("m1")
        shutil.rmtree(root() / scene.database.pk)
        assert scene.send("m2")[0] == 503
        call_command("reindex_messages", "--adopt-volume", stdout=StringIO(), stderr=StringIO())
        assert scene.send("m2")[0] == 201

    def test_leaves_what_was_given_up_to_staff(self, scene: Scene) -> None:
        give_up(scene, "m1")
        report = reindex()
        assert (report.moved, len(report.returned)) == (0, 1)
        assert scene.folders() == {"Messages": ["m1"]}

    def test_after_a_restore_what_was_brought_back_and_processed_is_not_offered(self, scene: Scene) -> None:
        give_up(scene, "m1")
        file_of(scene, "m1").rename(root() / scene.database.pk / "Log" / file_of(scene, "m1").name)
        reindex(after_restore=True)
        message = Message.objects.get()
        assert (message.status, message.file_missing_at) == ("processed", None)


def give_up(scene: Scene, id: str) -> None:
    """Have a message given up for its file, which is there again."""
    scene.send(id)
    file = file_of(scene, id)
    content = file.read_bytes()
    file.unlink()
    assert scene.start()["status"] == "IDLE"
    file.write_bytes(content)
