"""GET /messages/{id}/receipt/: what became of a message."""

import os
from typing import Any

import pytest

from config.common.correlation import correlated
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.timeouts import time_out_once
from tests.messaging.raw_calls import file_of, write_replies
from tests.processes.exchange.scene import Answer, Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def told(receipt: Answer) -> tuple[Any, ...]:
    return receipt["status"], receipt["error_text"], receipt["error_code"], receipt["replies"]


def prepare(scene: Scene, result: Answer, *replies: Answer) -> str:
    scene.send("m1")
    process = str(scene.start()["process_id"])
    scene.step(process, "prepare", results=[{"message": "m1", **result}], replies=list(replies))
    return process


def let_time_pass(process: str) -> None:
    ExchangeProcess.objects.filter(pk=process).update(due_at="2020-01-01T00:00:00Z")
    time_out_once()


class TestReceipt:
    def test_answer_is_of_the_contract(self, scene: Scene) -> None:
        with correlated("call-0001"):
            scene.send("m1")
        receipt = scene.receipt()
        names = ["version", "status", "error_text", "error_code", "replies", "updated_at", "correlation_id"]
        assert list(receipt) == names
        assert (receipt["version"], receipt["correlation_id"]) == (1, "call-0001")
        assert receipt["updated_at"].endswith("Z")
        assert len(receipt["updated_at"]) == 24

    def test_waiting_then_in_process_then_processed_with_its_replies(self, scene: Scene) -> None:
        scene.send("m1")
        assert told(scene.receipt()) == ("waiting", None, None, [])
        process = scene.start()["process_id"]
        assert told(scene.receipt()) == ("in_process", None, None, [])
        replies = [scene.reply(id, reply_to="m1") for id in ("r1", "r2")]
        scene.prepare(process, {"m1": "PROCESSED"}, *replies, scene.reply("r3"))
        assert told(scene.receipt()) == ("in_process", None, None, [])
        scene.step(process, "commit")
        assert told(scene.receipt()) == ("processed", None, None, ["r1", "r2"])
        move_files()
        assert told(scene.receipt()) == ("processed", None, None, ["r1", "r2"])

    @pytest.mark.parametrize("code", [335544347, 0, -1, 2**63 - 1, -(2**63), None])
    def test_incorrect_with_the_erps_text_and_code(self, scene: Scene, code: int | None) -> None:
        result = {"status": "PROCESSED_INCORRECT", "error_text": "плохо", "error_code": code}
        scene.step(prepare(scene, result), "commit")
        assert told(scene.receipt()) == ("incorrect", "плохо", code, [])

    def test_unreadable_has_a_word_for_a_code(self, scene: Scene) -> None:
        scene.send("m1")
        os.truncate(file_of(scene, "m1"), 3)
        assert scene.start()["status"] == "IDLE"
        receipt = scene.receipt()
        assert (receipt["status"], receipt["error_code"]) == ("incorrect", "unreadable")
        assert receipt["error_text"]

    def test_in_doubt_then_as_the_erp_says(self, scene: Scene) -> None:
        result = {"status": "PROCESSED_INCORRECT", "error_text": "bad", "error_code": 7}
        process = prepare(scene, result, scene.reply("r1", reply_to="m1"))
        let_time_pass(process)
        assert told(scene.receipt()) == ("in_doubt", "bad", 7, [])
        scene.step(process, "resolve", committed=True)
        assert told(scene.receipt()) == ("incorrect", "bad", 7, ["r1"])

    def test_out_of_doubt_and_not_committed_it_waits_with_nothing_said(self, scene: Scene) -> None:
        process = prepare(scene, {"status": "PROCESSED_INCORRECT", "error_text": "bad", "error_code": 7})
        let_time_pass(process)
        scene.step(process, "resolve", committed=False)
        assert told(scene.receipt()) == ("waiting", None, None, [])

    def test_rolled_back_it_waits_with_the_text(self, scene: Scene) -> None:
        process = prepare(scene, {"status": "PROCESSED"}, scene.reply("r1", reply_to="m1"))
        scene.step(process, "rollback", error_text="no space")
        assert told(scene.receipt()) == ("waiting", "no space", None, [])

    def test_processed_after_a_rollback_has_no_text(self, scene: Scene) -> None:
        scene.step(scene.ready(), "rollback", error_text="no space")
        process = scene.start()["process_id"]
        scene.prepare(process, {"m1": "PROCESSED"})
        scene.step(process, "commit")
        assert told(scene.receipt()) == ("processed", None, None, [])

    @pytest.mark.parametrize("end", ["interrupt", "time"])
    def test_given_up_it_waits(self, scene: Scene, end: str) -> None:
        scene.send("m1")
        process = scene.start()["process_id"]
        if end == "time":
            let_time_pass(process)
        else:
            scene.step(process, "interrupt", text="no")
        assert told(scene.receipt()) == ("waiting", None, None, [])


class TestWhose:
    def test_a_database_asks_about_its_replies(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        assert scene.receipt("r1", of=scene.database.pk)["status"] == "waiting"
        scene.call("POST", "/messages/r1/confirm/", of=scene.device.pk)
        assert scene.receipt("r1", of=scene.database.pk)["status"] == "processed"

    def test_other_peoples_are_not_there(self, scene: Scene) -> None:
        scene.add_device("tablet")
        other = Scene("other")
        write_replies(scene, scene.reply("r1"))
        asked = [("q1", "acme-tablet"), ("q1", "acme-erp"), ("r1", "acme-phone"), ("nothing", "acme-phone")]
        statuses = [scene.call("GET", f"/messages/{id}/receipt/", of=of)[0] for id, of in asked]
        assert statuses == [404] * 4
        assert other.call("GET", "/messages/q1/receipt/", of="other-phone")[1]["code"] == "message_not_found"

    def test_each_enterprise_has_its_own_ids(self, scene: Scene) -> None:
        other = Scene("other")
        scene.send("m1")
        other.send("m1")
        scene.start()
        assert (scene.receipt()["status"], other.receipt()["status"]) == ("in_process", "waiting")

    def test_takes_few_queries(self, scene: Scene, django_assert_num_queries: Any) -> None:
        write_replies(scene, *(scene.reply(f"r{n}", reply_to="q1") for n in range(5)))
        with django_assert_num_queries(4):  # the key, the device, the message, its replies
            scene.receipt("q1")
