"""A whole exchange, and every way it can end."""

import pytest
from django.db import OperationalError

from processes.exchange.models import ExchangeProcess
from processes.exchange.services import settlement
from processes.exchange.services.timeouts import time_out_once
from tests.processes.exchange.scene import Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestWholeExchange:
    def test_message_is_processed_and_the_reply_reaches_the_device(self, scene: Scene) -> None:
        scene.send("m1", {"count": 3})
        started = scene.start()
        assert started["status"] == "OK"
        assert [message["payload"] for message in started["messages"]] == [{"count": 3}]
        process = started["process_id"]
        assert scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r1", reply_to="m1")) == "OK"
        assert scene.folders() == {"Messages": ["m1"], "Prepared": ["r1"]}
        assert scene.step(process, "commit") == "OK"
        move_files()
        assert scene.folders() == {"Messages": ["r1"], "Log": ["m1"]}
        assert scene.process(process)["status"] == "DONE"
        assert [message["id"] for message in scene.fetch()] == ["r1"]
        assert scene.call("POST", "/messages/r1/confirm/", of=scene.device.pk)[0] == 204
        assert scene.folders() == {"Log": ["m1", "r1"]}
        assert scene.receipt()["status"] == "processed"
        assert scene.receipt()["replies"] == ["r1"]

    def test_rollback_offers_the_messages_again_with_the_text(self, scene: Scene) -> None:
        process = scene.ready()
        assert scene.step(process, "rollback", error_text="no space") == "OK"
        assert scene.folders() == {"Messages": ["m1"]}
        assert scene.receipt() | {"status": "waiting", "error_text": "no space", "replies": []} == scene.receipt()
        assert scene.start()["status"] == "OK"

    def test_incorrect_message_goes_to_error(self, scene: Scene) -> None:
        process = scene.ready("PROCESSED_INCORRECT")
        scene.step(process, "commit")
        move_files()
        assert scene.folders() == {"Messages": ["r-m1"], "Error": ["m1"]}
        assert scene.receipt()["status"] == "incorrect"
        assert scene.receipt()["error_text"] == "bad"

    def test_deadlocked_message_stays_and_is_offered_again(self, scene: Scene) -> None:
        process = scene.ready("PROCESSED_DEADLOCK")
        scene.step(process, "commit")
        move_files()
        assert scene.folders() == {"Messages": ["m1", "r-m1"]}
        assert scene.start()["messages"][0]["id"] == "m1"


class TestDoubt:
    def doubtful(self, scene: Scene, result: str = "PROCESSED") -> str:
        process = scene.ready(result)
        _let_time_pass(process)
        time_out_once()
        move_files()
        return process

    def test_files_are_put_aside(self, scene: Scene) -> None:
        process = self.doubtful(scene)
        assert scene.process(process)["status"] == "IN_DOUBT"
        assert scene.folders() == {"Unknown": ["m1", "r-m1"]}
        assert scene.receipt()["status"] == "in_doubt"

    def test_commit_after_all_finishes_it(self, scene: Scene) -> None:
        process = self.doubtful(scene)
        assert scene.step(process, "commit") == "OK"
        move_files()
        assert scene.folders() == {"Messages": ["r-m1"], "Log": ["m1"]}
        assert scene.process(process)["status"] == "DONE"

    def test_resolved_as_not_committed_offers_again(self, scene: Scene) -> None:
        process = self.doubtful(scene, "PROCESSED_INCORRECT")
        assert scene.folders() == {"Unknown": ["r-m1"], "Error": ["m1"]}
        assert scene.step(process, "resolve", committed=False) == "OK"
        move_files()
        assert scene.folders() == {"Messages": ["m1"]}
        assert scene.process(process)["status"] == "ROLLED_BACK"
        assert scene.receipt()["status"] == "waiting"

    def test_committed_in_the_next_start_finishes_it(self, scene: Scene) -> None:
        process = self.doubtful(scene)
        assert scene.start(committed=[process, "nonsense"])["status"] == "BUSY"
        move_files()
        assert scene.process(process)["status"] == "DONE"
        assert scene.start()["status"] == "IDLE"


def _let_time_pass(process: str) -> None:
    ExchangeProcess.objects.filter(pk=process).update(due_at="2020-01-01T00:00:00Z")


class TestCutOff:
    def test_replies_are_there_after_a_rollback_that_failed(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        process = scene.ready()

        def fail(process: ExchangeProcess) -> None:
            raise OperationalError("the connection was cut")

        with monkeypatch.context() as patch:
            patch.setattr(settlement, "_close_doubt", fail)
            status, _ = scene.call(
                "POST", f"/exchange/processes/{process}/rollback/", {"version": 1, "error_text": "no"}
            )
        assert (status, scene.process(process)["status"]) == (503, "READY_TO_COMMIT")
        assert scene.step(process, "commit") == "OK"
        move_files()
        assert [message["id"] for message in scene.fetch()] == ["r-m1"]
