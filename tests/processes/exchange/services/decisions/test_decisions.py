"""API_4 to API_7: what becomes of messages and replies of each result."""

import errno
from collections.abc import Callable
from typing import Any

import pytest

from notifications.models import Event
from processes.exchange.models import ExchangeProcess
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import drafts
from tests.processes.exchange.scene import Answer, Scene, move_files
from tests.processes.exchange.states import alerts, bring_to, let_time_pass

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]
RESULTS = {"m1": "PROCESSED", "m2": "PROCESSED_INCORRECT", "m3": "PROCESSED_DEADLOCK"}
DOUBTFUL = {"Messages": ["m3"], "Unknown": ["m1", "r1"], "Error": ["m2"]}
COMMITTED = {"Messages": ["m3", "r1"], "Log": ["m1"], "Error": ["m2"]}
AS_BEFORE = {"Messages": ["m1", "m2", "m3"]}


@pytest.fixture
def process(scene: Scene) -> str:
    """A process that is ready to commit, with a message of each result and a reply."""
    for id in RESULTS:
        scene.send(id)
    process = str(scene.start()["process_id"])
    assert scene.prepare(process, RESULTS, scene.reply("r1", reply_to="m1")) == "OK"
    return process


def statuses(scene: Scene) -> list[str]:
    return [scene.receipt(id)["status"] for id in RESULTS]


def call(scene: Scene, process: str, name: str, body: Any) -> tuple[int, Answer]:
    return scene.call("POST", f"/exchange/processes/{process}/{name}/", body)


class TestCommit:
    def test_answer_is_of_the_contract(self, scene: Scene, process: str) -> None:
        assert call(scene, process, "commit", {"version": 1}) == (200, {"version": 1, "status": "OK"})

    def test_decision_comes_first_and_the_files_follow(self, scene: Scene, process: str) -> None:
        scene.step(process, "commit")
        assert statuses(scene) == ["processed", "incorrect", "waiting"]
        assert scene.folders() == {"Messages": ["m1", "m2", "m3"], "Prepared": ["r1"]}
        assert scene.start()["status"] == "BUSY"
        move_files()
        assert scene.folders() == COMMITTED
        assert scene.process(process)["status"] == "DONE"

    def test_done_is_told(self, scene: Scene, process: str) -> None:
        scene.step(process, "commit")
        move_files()
        assert Event.objects.get(type="exchange.done").subject == f"process/{process}"
        answer = scene.process(process)
        assert answer["started_at"] <= answer["ready_at"] <= answer["ended_at"]

    def test_deadlocked_one_is_offered_again(self, scene: Scene, process: str) -> None:
        scene.step(process, "commit")
        move_files()
        assert [message["id"] for message in scene.start()["messages"]] == ["m3"]

    @pytest.mark.parametrize("body", [b"", b"{}", b'{"version":2}'])
    def test_has_a_version(self, scene: Scene, process: str, body: bytes) -> None:
        assert call(scene, process, "commit", body)[1]["code"] == "unsupported_version"
        assert scene.process(process)["status"] == "READY_TO_COMMIT"

    def test_unknown_field_is_refused(self, scene: Scene, process: str) -> None:
        assert call(scene, process, "commit", {"version": 1, "really": True})[0] == 400


class TestRollBack:
    def test_everything_is_as_before_with_the_text(self, scene: Scene, process: str) -> None:
        assert scene.step(process, "rollback", error_text="lock conflict") == "OK"
        assert scene.folders() == AS_BEFORE
        assert statuses(scene) == ["waiting"] * 3
        assert {scene.receipt(id)["error_text"] for id in RESULTS} == {"lock conflict"}
        assert scene.process(process)["status"] == "ROLLED_BACK"
        assert "lock conflict" in scene.process(process)["log"][-1]["text"]

    def test_what_it_wrote_stays_readable(self, scene: Scene, process: str) -> None:
        scene.step(process, "rollback", error_text="no")
        assert scene.process(process)["replies"] == ["r1"]
        assert scene.receipt()["replies"] == []

    @pytest.mark.parametrize("error", [errno.EACCES, errno.EIO])
    def test_stands_though_a_file_cannot_be_deleted(self, scene: Scene, process: str, error: int) -> None:
        with failing(error, names=["link"]):
            assert scene.step(process, "rollback", error_text="no") == "OK"
        assert statuses(scene) == ["waiting"] * 3
        assert alerts("message.file") == ["message/acme/r1"]

    @pytest.mark.parametrize(
        "body", [{}, {"error_text": None}, {"error_text": 5}, {"error_text": "x" * 10_001}, {"text": "x"}]
    )
    def test_wrong_body_is_refused(self, scene: Scene, process: str, body: Answer) -> None:
        status, answer = call(scene, process, "rollback", {"version": 1, **body})
        assert (status, answer["code"]) == (400, "invalid")
        assert scene.process(process)["status"] == "READY_TO_COMMIT"

    def test_nul_in_the_text_is_refused_on_every_database(self, scene: Scene, process: str) -> None:
        status, answer = call(scene, process, "rollback", {"version": 1, "error_text": "a\0b"})
        assert (status, answer["code"]) == (400, "bad_json")

    def test_empty_text_is_a_text(self, scene: Scene, process: str) -> None:
        assert scene.step(process, "rollback", error_text="") == "OK"
        assert scene.receipt()["error_text"] is None


class TestInterrupt:
    def test_messages_are_offered_again_and_the_text_is_in_the_log(self, scene: Scene) -> None:
        process = bring_to(scene, "STARTED")
        assert scene.step(process, "interrupt", text="breakpoint") == "OK"
        assert "breakpoint" in scene.process(process)["log"][-1]["text"]
        assert [message["id"] for message in scene.start()["messages"]] == ["m1"]

    @pytest.mark.parametrize("body", [{}, {"text": None}, {"error_text": "x"}])
    def test_wrong_body_is_refused(self, scene: Scene, body: Answer) -> None:
        process = bring_to(scene, "STARTED")
        assert call(scene, process, "interrupt", {"version": 1, **body})[0] == 400
        assert scene.process(process)["status"] == "STARTED"


class TestDoubt:
    @pytest.fixture
    def doubtful(self, scene: Scene, process: str) -> str:
        let_time_pass(process)
        move_files()
        return process

    def test_files_are_put_aside_by_their_results(self, scene: Scene, doubtful: str) -> None:
        assert scene.folders() == DOUBTFUL
        assert statuses(scene) == ["in_doubt", "in_doubt", "waiting"]
        assert scene.receipt("r1", of=scene.database.pk)["status"] == "in_doubt"

    def test_staff_are_told_and_the_lane_is_free(self, scene: Scene, doubtful: str) -> None:
        assert alerts("exchange.in_doubt") == [f"process/{doubtful}"]
        assert Event.objects.filter(type="exchange.in_doubt").count() == 1
        assert [message["id"] for message in scene.start()["messages"]] == ["m3"]

    @pytest.mark.parametrize(("name", "fields"), [("commit", {}), ("resolve", {"committed": True})])
    def test_committed_after_all(self, scene: Scene, doubtful: str, name: str, fields: Answer) -> None:
        assert scene.step(doubtful, name, **fields) == "OK"
        move_files()
        assert scene.folders() == COMMITTED
        assert statuses(scene) == ["processed", "incorrect", "waiting"]
        assert (scene.process(doubtful)["status"], alerts("exchange.in_doubt")) == ("DONE", [])
        assert [message["id"] for message in scene.fetch()] == ["r1"]

    @pytest.mark.parametrize(
        ("name", "fields"), [("rollback", {"error_text": "no"}), ("resolve", {"committed": False})]
    )
    def test_not_committed_after_all(self, scene: Scene, doubtful: str, name: str, fields: Answer) -> None:
        assert scene.step(doubtful, name, **fields) == "OK"
        move_files()
        assert scene.folders() == AS_BEFORE
        assert statuses(scene) == ["waiting"] * 3
        assert (scene.process(doubtful)["status"], alerts("exchange.in_doubt")) == ("ROLLED_BACK", [])
        assert [message["id"] for message in scene.start()["messages"]] == ["m1", "m2", "m3"]

    def test_deadlocked_one_is_left_to_the_process_that_has_it_now(self, scene: Scene, doubtful: str) -> None:
        other = scene.start()["process_id"]
        scene.step(doubtful, "resolve", committed=False)
        move_files()
        assert statuses(scene) == ["waiting", "waiting", "in_process"]
        assert scene.process(other)["messages"] == [{"id": "m3", "status": None}]

    @pytest.mark.parametrize("committed", [True, False])
    def test_resolved_before_the_files_were_put_aside(self, scene: Scene, process: str, committed: bool) -> None:
        let_time_pass(process)
        scene.step(process, "resolve", committed=committed)
        move_files()
        assert scene.folders() == (COMMITTED if committed else AS_BEFORE)

    def test_file_that_cannot_be_put_aside_is_tried_again_by_itself(self, scene: Scene, process: str) -> None:
        let_time_pass(process)
        with failing(errno.EIO, names=["link"]):
            move_files()
        assert (scene.process(process)["status"], alerts("exchange.failed")) == ("IN_DOUBT", [])
        ExchangeProcess.objects.update(due_at="2020-01-01T00:00:00Z")
        move_files()
        assert scene.folders() == DOUBTFUL

    @pytest.mark.parametrize("body", [{}, {"committed": None}, {"committed": 1}, {"committed": "true"}])
    def test_resolve_wants_yes_or_no(self, scene: Scene, doubtful: str, body: Answer) -> None:
        assert call(scene, doubtful, "resolve", {"version": 1, **body})[0] == 400
        assert scene.process(doubtful)["status"] == "IN_DOUBT"


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_opposite_decisions_are_one_and_a_contradiction(self, scene: Scene, in_threads: Threads) -> None:
        process = bring_to(scene, "IN_DOUBT")
        answers = in_threads(lambda number: scene.step(process, "resolve", committed=bool(number % 2)), 4)
        assert sorted(answers) == ["CANCELLED", "CANCELLED", "OK", "OK"]
        assert alerts("exchange.contradiction") == [f"process/{process}"]
        move_files()
        expected = {"DONE": {"Messages": ["r-m1"], "Log": ["m1"]}, "ROLLED_BACK": {"Messages": ["m1"]}}
        assert scene.folders() == expected[scene.process(process)["status"]]
        assert drafts(scene) == []

    def test_commit_and_time_out_at_once_end_in_one_way(self, scene: Scene, in_threads: Threads) -> None:
        process = bring_to(scene, "READY_TO_COMMIT")

        def act(number: int) -> Any:
            return let_time_pass(process) if number % 2 else scene.step(process, "commit")

        assert set(in_threads(act, 4)) == {"OK", None}
        move_files()
        assert scene.process(process)["status"] == "DONE"
        assert scene.folders() == {"Messages": ["r-m1"], "Log": ["m1"]}
