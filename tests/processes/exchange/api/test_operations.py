"""What operators decide by REST: a message set aside and brought back, a process ended."""

import json
from typing import Any

import pytest
from django.test import Client

from config.access.keys import create_key
from config.records.models import ChangeRecord
from messaging.protocol import REASON_LENGTH
from tests.processes.exchange.scene import Scene
from tests.processes.exchange.states import bring_to

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

UNKNOWN = "0d6f6c1e-6f5b-4a52-9b55-6a3f3d0f7c11"


@pytest.fixture
def key() -> str:
    return create_key(name="desk", actor="test", scopes=["operations"])[1]


def decide(key: str, path: str, *, once: str = "", **fields: Any) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}", **({"Idempotency-Key": once} if once else {})}
    body = json.dumps({"version": 1, "reason": "it kills", **fields})
    answer = Client().post(f"/api/v1{path}", body, content_type="application/json", headers=headers)
    return answer.status_code, answer.json()


class TestMessages:
    def test_is_set_aside_and_brought_back(self, scene: Scene, key: str) -> None:
        scene.send("m1")
        status, answer = decide(key, "/messages/m1/set-aside/", enterprise="acme")
        expected = {"version": 1, "id": "m1", "enterprise": "acme", "database": "acme-erp", "status": "waiting"}
        assert (status, answer) == (200, {**expected, "set_aside_at": answer["set_aside_at"]})
        assert answer["set_aside_at"].endswith("Z")
        assert (scene.start()["status"], "it kills" in scene.receipt()["error_text"]) == ("IDLE", True)
        assert decide(key, "/messages/m1/bring-back/", enterprise="acme") == (200, {**expected, "set_aside_at": None})
        assert [message["id"] for message in scene.start()["messages"]] == ["m1"]

    def test_says_who_and_why(self, scene: Scene, key: str) -> None:
        scene.send("m1")
        decide(key, "/messages/m1/set-aside/", enterprise="acme")
        change = ChangeRecord.objects.get(kind="message")
        assert (change.after["reason"], "desk" in change.actor) == ("it kills", True)

    def test_conflicts_say_which(self, scene: Scene, key: str) -> None:
        scene.send("m1")
        assert decide(key, "/messages/m1/bring-back/", enterprise="acme")[1]["code"] == "not_set_aside"
        assert decide(key, "/messages/m1/set-aside/", enterprise="acme")[0] == 200
        status, answer = decide(key, "/messages/m1/set-aside/", enterprise="acme")
        assert (status, answer["code"]) == (409, "already_set_aside")

    def test_what_a_process_holds_stays_there(self, scene: Scene, key: str) -> None:
        bring_to(scene, "STARTED")
        status, answer = decide(key, "/messages/m1/set-aside/", enterprise="acme")
        assert (status, answer["code"]) == (409, "not_waiting")

    def test_a_repeat_with_its_key_has_the_first_answer(self, scene: Scene, key: str) -> None:
        scene.send("m1")
        first, second = (decide(key, "/messages/m1/set-aside/", enterprise="acme", once="k1") for _ in range(2))
        assert first == second
        assert first[0] == 200
        assert ChangeRecord.objects.filter(kind="message").count() == 1

    def test_the_same_id_of_another_enterprise_is_left_alone(self, scene: Scene, key: str) -> None:
        other = Scene("other")
        scene.send("m1")
        other.send("m1")
        assert decide(key, "/messages/m1/set-aside/", enterprise="other")[0] == 200
        assert (scene.start()["status"], other.start()["status"]) == ("OK", "IDLE")

    @pytest.mark.parametrize("call", ["set-aside", "bring-back"])
    def test_unknown_ones_are_not_there(self, scene: Scene, key: str, call: str) -> None:
        scene.send("m1")
        paths = [("m2", "acme"), ("m1", "nowhere"), ("x" * 400, "acme")]
        assert {decide(key, f"/messages/{id}/{call}/", enterprise=it)[0] for id, it in paths} == {404}


class TestProcesses:
    def test_is_ended_and_its_messages_offered_again(self, scene: Scene, key: str) -> None:
        process = bring_to(scene, "STARTED")
        status, answer = decide(key, f"/exchange/processes/{process}/end/")
        assert (status, answer["status"], answer["id"]) == (200, "INTERRUPTED", process)
        assert answer == scene.process(process)
        assert scene.prepare(process, {"m1": "PROCESSED"}) == "CANCELLED"
        assert [message["id"] for message in scene.start()["messages"]] == ["m1"]

    @pytest.mark.parametrize("status", ["READY_TO_COMMIT", "FAILED", "DONE", "IN_DOUBT"])
    def test_no_other_than_a_started_one(self, scene: Scene, key: str, status: str) -> None:
        process = bring_to(scene, status)
        code, answer = decide(key, f"/exchange/processes/{process}/end/")
        assert (code, answer["code"]) == (409, "process_not_started")
        assert scene.process(process)["status"] == status

    def test_unknown_one_is_not_there(self, key: str) -> None:
        assert decide(key, f"/exchange/processes/{UNKNOWN}/end/")[0] == 404

    def test_a_repeat_with_its_key_has_the_first_answer(self, scene: Scene, key: str) -> None:
        path = f"/exchange/processes/{bring_to(scene, 'STARTED')}/end/"
        first, second = (decide(key, path, once="k1") for _ in range(2))
        assert first == second
        assert first[0] == 200


@pytest.mark.parametrize(
    "path", ["/messages/m1/set-aside/", "/messages/m1/bring-back/", f"/exchange/processes/{UNKNOWN}/end/"]
)
class TestBodies:
    @pytest.mark.parametrize(
        ("fields", "code", "field"),
        [
            ({"reason": "r" * (REASON_LENGTH + 1)}, "invalid", "reason"),
            ({"reason": ""}, "invalid", "reason"),
            ({"reason": None}, "invalid", "reason"),
            ({"resaon": "r"}, "invalid", "resaon"),
            ({"version": 2}, "unsupported_version", ""),
            ({"version": "1"}, "unsupported_version", ""),
            ({"version": True}, "unsupported_version", ""),
        ],
    )
    def test_a_wrong_one_is_named(self, key: str, path: str, fields: dict[str, Any], code: str, field: str) -> None:
        named = {} if "exchange" in path else {"enterprise": "acme"}
        status, answer = decide(key, path, **{**named, **fields})
        assert (status, answer["code"]) == (400, code)
        assert list(answer["data"].get("fields", {})) == ([field] if field else [])

    def test_the_longest_reason_is_taken(self, key: str, path: str) -> None:
        named = {} if "exchange" in path else {"enterprise": "acme"}
        assert decide(key, path, reason="r" * REASON_LENGTH, **named)[0] == 404
