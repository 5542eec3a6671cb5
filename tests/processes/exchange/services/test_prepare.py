"""API_3: results and replies, on the disk before the ERP hears OK."""

import errno
import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from django.conf import settings as product

from config.common.correlation import correlated
from messaging.files.drafts import write_drafts
from messaging.models import Message
from processes.exchange.models import ExchangeProcess
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import drafts, file_of
from tests.processes.exchange.scene import Answer, Scene, move_files
from tests.processes.exchange.states import bring_to

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]
DONE = {"message": "m1", "status": "PROCESSED"}
BODY = (
    b'{"version":1,"results":[{"message":"m1","status":"PROCESSED"}],'
    b'"replies":[{"to":"acme-phone","id":"r1","payload":%s}]}'
)


@pytest.fixture
def process(scene: Scene) -> str:
    return bring_to(scene, "STARTED")


def prepare(scene: Scene, process: str, results: Any = None, replies: Any = None, **fields: Any) -> tuple[int, Answer]:
    body = {"version": 1, "results": [DONE] if results is None else results, "replies": replies or [], **fields}
    return scene.call("POST", f"/exchange/processes/{process}/prepare/", body)


def refused(answer: tuple[int, Answer]) -> tuple[int, str, list[str]]:
    return answer[0], answer[1]["code"], list(answer[1]["data"].get("fields", []))


def untouched(scene: Scene, process: str) -> bool:
    return (
        scene.process(process)["status"] == "STARTED"
        and scene.process(process)["messages"] == [{"id": "m1", "status": None}]
        and scene.folders() == {"Messages": ["m1"]}
        and drafts(scene) == []
        and Message.objects.count() == 1
    )


class TestPrepare:
    def test_answer_is_of_the_contract(self, scene: Scene, process: str) -> None:
        assert prepare(scene, process) == (200, {"version": 1, "status": "OK"})
        answer = scene.process(process)
        assert (answer["status"], answer["messages"]) == ("READY_TO_COMMIT", [{"id": "m1", "status": "PROCESSED"}])
        assert answer["ready_at"].endswith("Z")

    def test_replies_may_be_missing(self, scene: Scene, process: str) -> None:
        assert scene.step(process, "prepare", results=[DONE]) == "OK"

    def test_reply_lies_in_prepared_as_everyone_sees_it(self, scene: Scene, process: str) -> None:
        reply = {"to": "acme-phone", "id": "r1", "reply_to": "m1", "created_at": "2026-01-31T23:59:59.1239Z"}
        prepare(scene, process, replies=[{**reply, "payload": {"n": 1}}])
        name = "20260131T235959123Z_r1_acme-erp_acme-phone_acme-sales.json"
        assert list(json.loads(file_of(scene, "r1", "Prepared").read_bytes()).items()) == [
            ("version", 1),
            ("id", "r1"),
            ("name", name),
            ("from", "acme-erp"),
            ("to", "acme-phone"),
            ("subsystem", "acme-sales"),
            ("created_at", "2026-01-31T23:59:59.123Z"),
            ("reply_to", "m1"),
            ("correlation_id", ""),
            ("payload", {"n": 1}),
        ]
        assert file_of(scene, "r1", "Prepared").name == name

    def test_reply_carries_the_chain_of_what_it_answers(self, scene: Scene) -> None:
        with correlated("call-0001"):
            scene.send("m1")
        with correlated("call-0002"):
            process = scene.start()["process_id"]
        with correlated("call-0003"):
            prepare(scene, process, replies=[scene.reply("r1", reply_to="m1"), scene.reply("r2")])
        chains = dict(Message.objects.filter(direction="reply").values_list("public_id", "correlation_id"))
        assert chains == {"r1": "call-0001", "r2": "call-0002"}

    def test_reply_without_an_id_gets_one(self, scene: Scene, process: str) -> None:
        reply = {"to": "acme-phone", "payload": None}
        prepare(scene, process, replies=[reply, reply])
        assert len(set(scene.process(process)["replies"])) == 2
        assert scene.files("Prepared") == sorted(scene.process(process)["replies"])

    def test_payload_is_kept_byte_for_byte(self, scene: Scene, process: str) -> None:
        payload = b'{ "a" : 1.0E2, "b":\t"\\u00e9" }'
        assert scene.call("POST", f"/exchange/processes/{process}/prepare/", BODY % payload)[0] == 200
        assert file_of(scene, "r1", "Prepared").read_bytes().endswith(b'"payload":' + payload + b"}")

    def test_reply_to_an_inactive_device_waits_for_it(self, scene: Scene, process: str) -> None:
        type(scene.device).objects.update(active=False)
        assert prepare(scene, process, replies=[scene.reply("r1")])[0] == 200

    def test_errors_are_in_the_log(self, scene: Scene, process: str) -> None:
        prepare(scene, process, [{**DONE, "status": "PROCESSED_INCORRECT", "error_text": "no price", "error_code": 7}])
        text = " ".join(line["text"] for line in scene.process(process)["log"])
        assert "Message m1: incorrect 7 no price" in text
        assert "0 processed, 0 deadlocked, 1 incorrect; replies: 0" in text


class TestResults:
    @pytest.mark.parametrize(
        "results",
        [
            [],
            [DONE, DONE],
            [DONE, {"message": "m2", "status": "PROCESSED"}],
            [{"message": "m2", "status": "PROCESSED"}],
        ],
    )
    def test_every_message_exactly_once(self, scene: Scene, process: str, results: Any) -> None:
        assert refused(prepare(scene, process, results, [scene.reply()])) == (400, "invalid", ["results"])
        assert untouched(scene, process)

    @pytest.mark.parametrize("text", [None, "", "  "])
    def test_incorrect_says_why(self, scene: Scene, process: str, text: str | None) -> None:
        result = {"message": "m1", "status": "PROCESSED_INCORRECT", "error_text": text}
        assert refused(prepare(scene, process, [result])) == (400, "invalid", ["results[0].error_text"])
        assert untouched(scene, process)

    @pytest.mark.parametrize(
        "result",
        [
            {"message": "m1"},
            {"message": "m1", "status": "DONE"},
            {"message": "m1", "status": "PROCESSED", "error_code": "7"},
            {"message": "m1", "status": "PROCESSED", "error_code": 1.5},
            {"message": "m1", "status": "PROCESSED", "error_code": 2**63},
            {"message": "m1", "status": "PROCESSED", "colour": "red"},
            {"status": "PROCESSED"},
            "m1",
        ],
    )
    def test_wrong_result_is_refused(self, scene: Scene, process: str, result: Any) -> None:
        assert refused(prepare(scene, process, [result]))[:2] == (400, "invalid")
        assert untouched(scene, process)

    def test_results_are_required(self, scene: Scene, process: str) -> None:
        path = f"/exchange/processes/{process}/prepare/"
        assert refused(scene.call("POST", path, {"version": 1})) == (400, "invalid", ["results"])

    @pytest.mark.parametrize("text", ["\0", "a\0b"])
    def test_nul_is_refused_on_every_database(self, scene: Scene, process: str, text: str) -> None:
        result = {"message": "m1", "status": "PROCESSED_INCORRECT", "error_text": text}
        assert refused(prepare(scene, process, [result]))[:2] == (400, "bad_json")
        assert untouched(scene, process)


class TestReplies:
    @pytest.mark.parametrize("to", ["nobody", "other-phone", "acme-erp"])
    def test_go_to_devices_of_the_enterprise(self, scene: Scene, process: str, to: str) -> None:
        Scene("other")
        replies = [scene.reply("r1"), scene.reply("r2", to=to)]
        assert refused(prepare(scene, process, replies=replies)) == (400, "invalid", ["replies[1].to"])
        assert untouched(scene, process)

    def test_id_in_use_is_refused(self, scene: Scene, process: str) -> None:
        assert refused(prepare(scene, process, replies=[scene.reply("m1")])) == (400, "invalid", ["replies"])
        assert untouched(scene, process)

    def test_one_id_twice_is_refused(self, scene: Scene, process: str) -> None:
        replies = [scene.reply("r1"), scene.reply("r1", payload=2)]
        assert refused(prepare(scene, process, replies=replies)) == (400, "invalid", ["replies"])
        assert untouched(scene, process)

    def test_id_of_another_enterprise_is_free(self, scene: Scene, process: str) -> None:
        Scene("other").send("r1")
        assert prepare(scene, process, replies=[scene.reply("r1")])[0] == 200

    @pytest.mark.parametrize(
        "changes",
        [
            {"id": "a_b"},
            {"reply_to": "a b"},
            {"created_at": "2019-01-01T00:00:00Z"},
            {"created_at": "now"},
            {"colour": "red"},
            {"to": 5},
        ],
    )
    def test_wrong_field_is_refused(self, scene: Scene, process: str, changes: Answer) -> None:
        assert refused(prepare(scene, process, replies=[scene.reply(**{"id": "r1", **changes})]))[:2] == (
            400,
            "invalid",
        )
        assert untouched(scene, process)

    def test_payload_is_required(self, scene: Scene, process: str) -> None:
        assert refused(prepare(scene, process, replies=[{"to": "acme-phone"}]))[:2] == (400, "invalid")

    @pytest.mark.parametrize("payload", [b"[" * 201 + b"]" * 201, b"1e999", b'"\\u0000"'])
    def test_what_a_device_cannot_take_is_refused(self, scene: Scene, process: str, payload: bytes) -> None:
        path = f"/exchange/processes/{process}/prepare/"
        assert refused(scene.call("POST", path, BODY % payload))[:2] == (400, "bad_json")
        assert untouched(scene, process)

    def test_too_large_is_413(self, scene: Scene, process: str, settings: Any) -> None:
        settings.MESSAGE_MAX_MB = 1
        replies = [scene.reply("r1"), scene.reply("r2", payload="x" * product.MB)]
        assert refused(prepare(scene, process, replies=replies)) == (413, "too_large", [])
        assert untouched(scene, process)


class TestRepeat:
    @pytest.mark.parametrize("status", ["READY_TO_COMMIT", "CLEANUP", "DONE"])
    def test_another_body_is_a_conflict(self, scene: Scene, status: str) -> None:
        process = bring_to(scene, status)
        before = scene.process(process), scene.folders()
        assert refused(prepare(scene, process)) == (409, "different_repeat", [])
        assert (scene.process(process), scene.folders()) == before

    @pytest.mark.parametrize("status", ["FAILED", "ROLLED_BACK", "TIMED_OUT", "IN_DOUBT"])
    def test_elsewhere_another_body_is_just_late(self, scene: Scene, status: str) -> None:
        process = bring_to(scene, status)
        assert prepare(scene, process) == (200, {"version": 1, "status": "CANCELLED"})


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    @pytest.mark.parametrize("id", [{"id": "r1"}, {}])
    def test_same_body_from_four_places_is_ok_once(self, scene: Scene, in_threads: Threads, id: Answer) -> None:
        process = bring_to(scene, "STARTED")
        replies = [{"to": "acme-phone", "payload": 1, **id}]
        answers = in_threads(lambda number: prepare(scene, process, replies=replies), 4)
        assert answers == [(200, {"version": 1, "status": "OK"})] * 4
        assert (len(scene.files("Prepared")), drafts(scene)) == (1, [])
        assert Message.objects.filter(direction="reply").count() == 1

    def test_different_bodies_are_one_and_conflicts(self, scene: Scene, in_threads: Threads) -> None:
        process = bring_to(scene, "STARTED")
        answers = in_threads(lambda number: prepare(scene, process, replies=[scene.reply(f"r{number}")])[0], 4)
        assert sorted(answers) == [200, 409, 409, 409]
        assert (len(scene.files("Prepared")), drafts(scene)) == (1, [])

    def test_one_id_in_two_processes_is_taken_once(self, scene: Scene, in_threads: Threads) -> None:
        scene.add_device("van", scene.add_subsystem("stock"))
        scene.send("m1")
        scene.send("m2", of="acme-van")
        lanes = ["acme-sales", "acme-stock"]
        processes = [scene.start(subsystems=[lane])["process_id"] for lane in lanes]

        def act(number: int) -> int:
            results = [{"message": f"m{number + 1}", "status": "PROCESSED"}]
            return prepare(scene, processes[number], results, [scene.reply("r1")])[0]

        assert sorted(in_threads(act, 2)) == [200, 400]
        assert (scene.files("Prepared"), drafts(scene)) == (["r1"], [])

    def test_narrowed_meanwhile_it_is_refused(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        """Otherwise the ERP would process what another process already has."""
        for id in ("m1", "m2"):
            scene.send(id)
        process = scene.start()["process_id"]

        def narrow(messages: Any) -> None:
            scene.step(process, "accept", messages=["m1"])
            write_drafts(messages)

        monkeypatch.setattr("processes.exchange.services.prepare.write_drafts", narrow)
        results = [{"message": id, "status": "PROCESSED"} for id in ("m1", "m2")]
        assert refused(prepare(scene, process, results, [scene.reply()])) == (400, "invalid", ["results"])
        assert (scene.process(process)["status"], drafts(scene)) == ("STARTED", [])


class TestDisk:
    @pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS])
    def test_replies_that_cannot_be_written_end_the_process(self, scene: Scene, error: int) -> None:
        for step in count(1):
            scene.send("m1")
            process = scene.start()["process_id"]
            with failing(error, at=step, modules=["config.common.files"]) as disk:
                answer = scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r1"), scene.reply("r2"))
            if not disk.has_failed:
                break
            assert (answer, scene.process(process)["status"]) == ("CANCELLED", "ROLLED_BACK")
            assert scene.folders() == {"Messages": ["m1"]}
            assert (drafts(scene), Message.objects.count()) == ([], 1)
            assert scene.receipt()["status"] == "waiting"
        assert step > 10
        assert (answer, scene.files("Prepared")) == ("OK", ["r1", "r2"])

    def test_without_its_name_a_reply_still_reaches_the_device(self, scene: Scene, process: str) -> None:
        with failing(errno.EIO, names=["rename"], times=9):
            assert scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r1")) == "OK"
        assert scene.files("Prepared") == []
        scene.step(process, "commit")
        move_files()
        assert [message["id"] for message in scene.fetch()] == ["r1"]
        assert drafts(scene) == []

    def test_killed_before_the_commit_it_has_not_happened(
        self, scene: Scene, process: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def die(*arguments: Any, **options: Any) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr("processes.exchange.services.prepare._write", die)
            with pytest.raises(SystemExit):
                scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r1"))
        assert ExchangeProcess.objects.get().status == "STARTED"
        assert (scene.folders(), len(drafts(scene))) == ({"Messages": ["m1"]}, 1)
        assert scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r1")) == "OK"


@pytest.mark.django_db(transaction=True)
class TestTakenBack:
    """Files go when the rollback is committed."""

    @pytest.mark.slow
    def test_many_are_kept(self, scene: Scene, process: str) -> None:
        replies = [scene.reply(f"r{n}", payload=n) for n in range(1000)]
        assert prepare(scene, process, replies=replies)[0] == 200
        assert len(scene.files("Prepared")) == 1000
        assert scene.step(process, "rollback", error_text="no") == "OK"
        assert (scene.folders(), drafts(scene)) == ({"Messages": ["m1"]}, [])

    def test_more_than_a_thousand_are_refused(self, scene: Scene, process: str) -> None:
        status, answer = prepare(scene, process, replies=[scene.reply(f"r{n}", payload=n) for n in range(1001)])
        assert (status, list(answer["data"]["fields"])) == (400, ["replies"])

    def test_id_of_a_reply_is_free_again_after_a_rollback(self, scene: Scene, process: str) -> None:
        at = "2026-01-01T00:00:00Z"
        for _ in range(3):
            assert prepare(scene, process, replies=[scene.reply("r1", created_at=at)])[0] == 200
            assert scene.step(process, "rollback", error_text="again") == "OK"
            assert drafts(scene) == []
            process = scene.start()["process_id"]
        prepare(scene, process, replies=[scene.reply("r1", created_at=at, payload="last")])
        scene.step(process, "commit")
        move_files()
        assert [message["payload"] for message in scene.fetch()] == ["last"]

    def test_without_its_name_a_reply_can_be_taken_back(self, scene: Scene, process: str) -> None:
        with failing(errno.EIO, names=["rename"], times=9):
            scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r1"))
        assert scene.step(process, "rollback", error_text="no") == "OK"
        assert (scene.folders(), drafts(scene)) == ({"Messages": ["m1"]}, [])
