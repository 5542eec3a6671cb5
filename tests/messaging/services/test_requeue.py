from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from config.records.models import ChangeRecord, LogEntry
from messaging.errors import FileStillMissing, MessageNotFound, NotRequeuable
from messaging.models import Message
from messaging.services.requeue import requeue_message, restore_message
from notifications.models import Alert, Event
from tests.messaging.raw_calls import file_of, write_replies
from tests.processes.exchange.outcomes import put_in_doubt, put_into_error
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.test_volume import give_up

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def requeue(id: str = "m1") -> None:
    message = Message.objects.get(public_id=id)
    requeue_message(message_id=message.pk, reason="the price is right now", actor="staff:olga")


class TestRequeue:
    def test_the_message_is_offered_again_as_if_it_were_new(self, scene: Scene) -> None:
        put_into_error(scene)
        Message.objects.update(setbacks=4, is_postponed=True)
        requeue()
        move_files()
        message = Message.objects.get(public_id="m1")
        assert scene.files("Messages") == ["m1", "r-m1"]
        assert (message.settled_at, message.error_text, message.error_code, message.setbacks) == (None, "", "", 0)
        assert [each["id"] for each in scene.start()["messages"]] == ["m1"]

    def test_it_is_not_offered_before_its_file_is_back(self, scene: Scene) -> None:
        put_into_error(scene)
        requeue()
        assert scene.start()["status"] == "IDLE"

    def test_a_file_that_had_not_left_yet_is_offered_at_once(self, scene: Scene) -> None:
        scene.send()
        Message.objects.update(status="incorrect", folder="Error", moving_from="Messages", settled_at=timezone.now())
        requeue()
        assert scene.start()["status"] == "OK"

    def test_a_repaired_file_can_go_back_and_ends_its_alert(self, scene: Scene) -> None:
        scene.send("m1", {"a": 1})
        file = next((settings.DATA_DIR / "messages" / scene.database.pk / "Messages").glob("*_m1_*"))
        whole = file.read_bytes()
        file.write_bytes(b"{")
        assert scene.start()["status"] == "IDLE"
        move_files()
        assert Message.objects.get(public_id="m1").error_code == "unreadable"
        next((settings.DATA_DIR / "messages" / scene.database.pk / "Error").glob("*_m1_*")).write_bytes(whole)
        requeue()
        move_files()
        assert Alert.objects.get(kind="message.file").status == "resolved"
        assert scene.start()["messages"][0]["payload"] == {"a": 1}

    def test_says_who_did_it_and_why_everywhere(self, scene: Scene) -> None:
        put_into_error(scene)
        requeue()
        change = ChangeRecord.objects.get(kind="message")
        assert (change.actor, change.before["status"], change.before["error_text"]) == (
            "staff:olga",
            "incorrect",
            "bad",
        )
        assert (change.after["status"], change.after["reason"]) == ("waiting", "the price is right now")
        entry = LogEntry.objects.get(subject="message/acme/m1")
        assert entry.text.endswith("into the queue by olga: the price is right now")
        assert Event.objects.filter(type="message.requeued", subject="message/acme/m1").count() == 1

    def test_what_did_not_end_in_error_stays(self, scene: Scene) -> None:
        scene.send()
        with pytest.raises(NotRequeuable):
            requeue()

    def test_what_a_process_in_doubt_holds_stays(self, scene: Scene) -> None:
        put_in_doubt(scene, "PROCESSED_INCORRECT")
        assert scene.files("Error") == ["m1"]
        with pytest.raises(NotRequeuable):
            requeue()

    def test_what_its_process_still_moves_stays(self, scene: Scene) -> None:
        scene.step(scene.ready("PROCESSED_INCORRECT"), "commit")
        with pytest.raises(NotRequeuable):
            requeue()

    def test_a_message_without_its_file_stays(self, scene: Scene) -> None:
        put_into_error(scene)
        Message.objects.filter(public_id="m1").update(file_gone_at=timezone.now())
        with pytest.raises(NotRequeuable):
            requeue()
        assert not ChangeRecord.objects.filter(kind="message").exists()

    def test_an_unknown_one_is_not_found(self) -> None:
        with pytest.raises(MessageNotFound):
            requeue_message(message_id=7, reason="why", actor="staff:olga")


@pytest.mark.django_db(transaction=True)
class TestRace:
    def test_of_many_who_put_it_back_one_does(
        self,
        scene: Scene,
        in_threads: Callable[[Callable[[int], Any], int], list[Any]],
    ) -> None:
        put_into_error(scene)

        def put_back(number: int) -> bool:
            try:
                requeue()
            except NotRequeuable:
                return False
            return True

        assert sorted(in_threads(put_back, 4)) == [False, False, False, True]
        assert ChangeRecord.objects.filter(kind="message").count() == 1


class TestRestore:
    """A message was given up for its missing file, which is there again."""

    @pytest.mark.parametrize("folder", ["Messages", "Error", "Log"])
    def test_request_is_offered_again_wherever_its_file_lies(self, scene: Scene, folder: str) -> None:
        give_up(scene, "m1")
        file = file_of(scene, "m1")
        file.rename(file.parent.parent / folder / file.name)
        restore()
        move_files()
        assert scene.start()["messages"][0]["id"] == "m1"
        assert Alert.objects.get(kind="message.file").status == "resolved"

    def test_reply_is_fetched_again(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        file = file_of(scene, "r1")
        content = file.read_bytes()
        file.unlink()
        assert scene.fetch() == []
        file.write_bytes(content)
        restore("r1")
        assert [message["id"] for message in scene.fetch()] == ["r1"]

    def test_of_a_message_that_was_settled_only_the_file_comes_back(self, scene: Scene) -> None:
        scene.send("m1")
        content, file = file_of(scene, "m1").read_bytes(), file_of(scene, "m1")
        file.unlink()
        Message.objects.update(status="processed", folder="Log", moving_from="Messages")
        move_files()
        file.write_bytes(content)
        restore()
        move_files()
        message = Message.objects.get(public_id="m1")
        assert (message.status, message.file_gone_at, message.file_missing_at) == ("processed", None, None)
        assert scene.files("Log") == ["m1"]

    def test_nothing_comes_back_without_its_file(self, scene: Scene) -> None:
        give_up(scene, "m1")
        file_of(scene, "m1").unlink()
        with pytest.raises(FileStillMissing):
            restore()

    def test_nor_what_was_never_missed(self, scene: Scene) -> None:
        put_into_error(scene)
        with pytest.raises(NotRequeuable):
            restore()


def restore(id: str = "m1") -> None:
    message = Message.objects.get(public_id=id)
    restore_message(message_id=message.pk, reason="mounted again", actor="staff:olga")
