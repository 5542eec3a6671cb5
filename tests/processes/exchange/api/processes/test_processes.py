"""GET /exchange/processes/: what became of the processes."""

from typing import Any

import pytest

from config.common.correlation import correlated
from processes.exchange.models import ExchangeProcess
from tests.api_document import document
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import bring_to

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NAMES = [
    "version",
    "id",
    "database",
    "status",
    "started_at",
    "ready_at",
    "ended_at",
    "messages",
    "replies",
    "log",
    "correlation_id",
]


def several(scene: Scene, count: int) -> list[str]:
    """Begin and interrupt some processes; return them, newest first."""
    scene.send("m1")
    processes = []
    for _ in range(count):
        processes.append(scene.start()["process_id"])
        scene.step(processes[-1], "interrupt", text="next")
    return processes[::-1]


class TestDetail:
    def test_answer_is_of_the_contract(self, scene: Scene) -> None:
        for id in ("m1", "m2", "m3"):
            scene.send(id)
        with correlated("call-0001"):
            process = scene.start()["process_id"]
        scene.step(process, "accept", messages=["m1", "m2"])
        scene.prepare(process, {"m2": "PROCESSED_DEADLOCK", "m1": "PROCESSED"}, scene.reply("r1"))
        scene.step(process, "commit")
        move_files()
        answer = scene.process(process)
        assert list(answer) == NAMES
        assert (answer["version"], answer["id"], answer["database"]) == (1, process, "acme-erp")
        assert (answer["status"], answer["correlation_id"]) == ("DONE", "call-0001")
        assert answer["messages"] == [
            {"id": "m1", "status": "PROCESSED"},
            {"id": "m2", "status": "PROCESSED_DEADLOCK"},
        ]
        assert answer["replies"] == ["r1"]
        times = [answer[name] for name in ("started_at", "ready_at", "ended_at")] + [
            line["at"] for line in answer["log"]
        ]
        assert all(len(at) == 24 and at.endswith("Z") for at in times)
        assert [list(line) for line in answer["log"]] == [["at", "text"]] * len(answer["log"])

    def test_what_is_not_yet_is_null(self, scene: Scene) -> None:
        answer = scene.process(bring_to(scene, "STARTED"))
        assert (answer["ready_at"], answer["ended_at"], answer["replies"]) == (None, None, [])
        assert answer["messages"] == [{"id": "m1", "status": None}]

    @pytest.mark.parametrize("status", ["DONE", "TIMED_OUT", "INTERRUPTED", "ROLLED_BACK", "IN_DOUBT"])
    def test_ended_ones_stay_readable(self, scene: Scene, status: str) -> None:
        answer = scene.process(bring_to(scene, status))
        assert (answer["status"], answer["ended_at"] is not None) == (status, True)
        assert [message["id"] for message in answer["messages"]] == ["m1"]

    def test_log_is_in_the_callers_language(self, scene: Scene) -> None:
        process = bring_to(scene, "INTERRUPTED")
        texts = [line["text"] for line in scene.process(process)["log"]]
        assert texts[0].startswith("Started. Messages: 1")
        assert texts[1] == "Interrupted by the ERP: no"


class TestList:
    def test_newest_first_in_pages(self, scene: Scene) -> None:
        processes = several(scene, 3)
        _, first = scene.call("GET", "/exchange/processes/?limit=2")
        assert ([process["id"] for process in first["results"]], list(first)) == (processes[:2], ["results", "next"])
        _, second = scene.call("GET", first["next"].partition("/api/v1")[2])
        assert [process["id"] for process in second["results"]] == processes[2:]
        assert second["next"] is None

    def test_each_is_as_its_own_page_shows_it(self, scene: Scene) -> None:
        process = bring_to(scene, "DONE")
        assert scene.call("GET", "/exchange/processes/")[1]["results"] == [scene.process(process)]

    @pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "cursor=x"])
    def test_wrong_page_is_refused(self, scene: Scene, query: str) -> None:
        status, answer = scene.call("GET", f"/exchange/processes/?{query}")
        assert (status, list(answer["data"]["fields"])) == (400, [query.partition("=")[0]])

    def test_queries_do_not_grow_with_the_processes(self, scene: Scene, django_assert_num_queries: Any) -> None:
        several(scene, 5)
        with django_assert_num_queries(5):  # the key, the database, processes, messages, logs
            scene.call("GET", "/exchange/processes/")
        assert ExchangeProcess.objects.count() == 5


@pytest.fixture(scope="module")
def paths() -> Any:
    return document()["paths"]


class TestDocument:
    @pytest.mark.parametrize("step", ["accept", "prepare", "commit", "rollback", "interrupt", "resolve"])
    def test_describes_the_steps(self, paths: Any, step: str) -> None:
        operation = paths[f"/api/v1/exchange/processes/{{process_id}}/{step}/"]["post"]
        assert "application/json" in operation["requestBody"]["content"]
        assert "200" in operation["responses"]
        assert not any(field["name"] == "Idempotency-Key" for field in operation.get("parameters", []))

    def test_describes_the_messages(self, paths: Any) -> None:
        assert set(paths["/api/v1/messages/"]) == {"get", "post"}
        assert {"200", "201"} <= set(paths["/api/v1/messages/"]["post"]["responses"])
        assert {field["name"] for field in paths["/api/v1/messages/"]["get"]["parameters"]} >= {"limit", "max_mb"}
        assert "204" in paths["/api/v1/messages/{message_id}/confirm/"]["post"]["responses"]

    def test_describes_the_reads(self, paths: Any) -> None:
        assert set(paths["/api/v1/exchange/processes/"]) == {"get", "post"}
        assert set(paths["/api/v1/exchange/processes/{process_id}/"]) == {"get"}


class TestBytes:
    def test_a_page_ends_when_messages_and_logs_weigh_enough(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        processes = several(scene, 3)
        monkeypatch.setattr("config.common.web.pagination.PAGE_BYTES", 100)
        seen, path = [], "/exchange/processes/"
        while path:
            _, found = scene.call("GET", path.removeprefix("http://testserver/api/v1"), of=scene.database.id)
            seen.append([row["id"] for row in found["results"]])
            path = found["next"]
        assert seen == [[process] for process in processes]
