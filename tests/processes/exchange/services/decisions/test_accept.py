"""API_2: narrow the list."""

from typing import Any

import pytest

from messaging.models import Message
from processes.exchange.models import ExchangeProcess
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import alerts

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def process(scene: Scene) -> str:
    """A process with three messages."""
    for id in ("m1", "m2", "m3"):
        scene.send(id)
    return str(scene.start()["process_id"])


def statuses(scene: Scene) -> list[str]:
    return [scene.receipt(id)["status"] for id in ("m1", "m2", "m3")]


def accept(scene: Scene, process: str, body: Any) -> tuple[int, Any]:
    return scene.call("POST", f"/exchange/processes/{process}/accept/", body)


class TestAccept:
    def test_answer_is_of_the_contract(self, scene: Scene, process: str) -> None:
        answer = accept(scene, process, {"version": 1, "messages": ["m1", "m2", "m3"]})
        assert answer == (200, {"version": 1, "status": "OK"})

    def test_what_is_left_out_is_free_at_once(self, scene: Scene, process: str) -> None:
        scene.step(process, "accept", messages=["m2"])
        assert statuses(scene) == ["waiting", "in_process", "waiting"]
        assert scene.process(process)["messages"] == [{"id": "m2", "status": None}]

    def test_may_be_narrowed_again(self, scene: Scene, process: str) -> None:
        assert scene.step(process, "accept", messages=["m2", "m1"]) == "OK"
        assert scene.step(process, "accept", messages=["m2"]) == "OK"
        assert statuses(scene) == ["waiting", "in_process", "waiting"]

    def test_the_same_again_changes_nothing(self, scene: Scene, process: str) -> None:
        for _ in range(2):
            assert scene.step(process, "accept", messages=["m1", "m1"]) == "OK"
        assert Message.objects.get(public_id="m2").setbacks == 1

    @pytest.mark.parametrize("wanted", [["m1", "mx"], ["mx"], ["m1", "m2", "m3", "m4"]])
    def test_unknown_id_changes_nothing(self, scene: Scene, process: str, wanted: list[str]) -> None:
        scene.send("m4")
        status, answer = accept(scene, process, {"version": 1, "messages": wanted})
        assert (status, answer["code"], list(answer["data"]["fields"])) == (400, "invalid", ["messages"])
        assert statuses(scene) == ["in_process"] * 3

    def test_what_was_left_out_cannot_come_back(self, scene: Scene, process: str) -> None:
        scene.step(process, "accept", messages=["m1"])
        assert accept(scene, process, {"version": 1, "messages": ["m1", "m2"]})[0] == 400

    @pytest.mark.parametrize("body", [{}, {"messages": None}, {"messages": "m1"}, {"messages": [1]}])
    def test_wrong_body_is_refused(self, scene: Scene, process: str, body: dict[str, Any]) -> None:
        status, answer = accept(scene, process, {"version": 1, **body})
        assert (status, answer["code"]) == (400, "invalid")
        assert statuses(scene) == ["in_process"] * 3

    def test_empty_list_ends_the_process(self, scene: Scene, process: str) -> None:
        assert scene.step(process, "accept", messages=[]) == "OK"
        assert scene.process(process)["status"] == "INTERRUPTED"
        assert statuses(scene) == ["waiting"] * 3
        assert scene.start()["status"] == "OK"

    def test_results_are_of_the_accepted_ones_alone(self, scene: Scene, process: str) -> None:
        scene.step(process, "accept", messages=["m2"])
        assert scene.prepare(process, {"m2": "PROCESSED"}) == "OK"
        scene.step(process, "commit")
        move_files()
        assert scene.folders() == {"Messages": ["m1", "m3"], "Log": ["m2"]}

    def test_the_left_out_go_into_another_process(self, scene: Scene, process: str) -> None:
        scene.step(process, "accept", messages=["m2"])
        scene.prepare(process, {"m2": "PROCESSED"})
        scene.step(process, "commit")
        move_files()
        assert [message["id"] for message in scene.start()["messages"]] == ["m1", "m3"]


class TestSetbacks:
    def leave_out(self, scene: Scene, times: int) -> None:
        for _ in range(times):
            scene.step(scene.start(max_files=1)["process_id"], "accept", messages=[])

    def deadlock(self, scene: Scene, times: int) -> None:
        for _ in range(times):
            process = scene.start(max_files=1)["process_id"]
            scene.prepare(process, {"m1": "PROCESSED_DEADLOCK"})
            scene.step(process, "commit")
            move_files()

    @pytest.mark.parametrize("set_back", [leave_out, deadlock])
    def test_fifth_time_running_it_stands_behind_the_others(self, scene: Scene, set_back: Any) -> None:
        for id in ("m1", "m2"):
            scene.send(id)
        set_back(self, scene, 4)
        assert alerts("message.setbacks") == []
        assert scene.start(max_files=1)["messages"][0]["id"] == "m1"
        scene.step(str(ExchangeProcess.objects.first().pk), "interrupt", text="no matter")
        set_back(self, scene, 1)
        assert alerts("message.setbacks") == ["message/acme/m1"]
        assert [message["id"] for message in scene.start()["messages"]] == ["m2", "m1"]

    def test_left_out_and_deadlocked_count_together(self, scene: Scene) -> None:
        scene.send("m1")
        self.leave_out(scene, 2)
        self.deadlock(scene, 3)
        assert alerts("message.setbacks") == ["message/acme/m1"]

    @pytest.mark.parametrize("result", ["PROCESSED", "PROCESSED_INCORRECT"])
    def test_alert_is_over_when_it_is_settled(self, scene: Scene, result: str) -> None:
        scene.send("m1")
        self.leave_out(scene, 5)
        process = scene.start()["process_id"]
        scene.prepare(process, {"m1": result})
        scene.step(process, "commit")
        assert alerts("message.setbacks") == []
