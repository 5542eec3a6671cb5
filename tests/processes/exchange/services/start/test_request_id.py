"""API_1 with an id of the caller's own: a lost answer is asked for again."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError

from processes.exchange.models import ExchangeProcess
from processes.exchange.services.decisions import end_undelivered
from tests.messaging.raw_calls import file_of
from tests.processes.exchange.scene import Scene
from tests.processes.exchange.states import let_time_pass

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestSameId:
    def test_while_started_the_answer_is_the_same(self, scene: Scene) -> None:
        for id in ("m1", "m2"):
            scene.send(id)
        first = scene.start(request_id="a.1")
        scene.send("m3")
        assert scene.start(request_id="a.1") == first
        assert ExchangeProcess.objects.count() == 1

    def test_gives_no_more_time(self, scene: Scene) -> None:
        scene.send()
        scene.start(request_id="a")
        due_at = ExchangeProcess.objects.get().due_at
        scene.start(request_id="a")
        assert ExchangeProcess.objects.get().due_at == due_at

    def test_after_api_2_it_brings_what_was_accepted(self, scene: Scene) -> None:
        for id in ("m1", "m2"):
            scene.send(id)
        process = scene.start(request_id="a")["process_id"]
        scene.step(process, "accept", messages=["m2"])
        again = scene.start(request_id="a")
        assert (again["process_id"], [message["id"] for message in again["messages"]]) == (process, ["m2"])

    def test_after_it_has_ended_another_begins(self, scene: Scene) -> None:
        scene.send()
        first = scene.start(request_id="a")["process_id"]
        let_time_pass(first)
        second = scene.start(request_id="a")
        assert (second["status"], second["process_id"] == first) == ("OK", False)

    def test_once_prepared_the_lane_is_busy(self, scene: Scene) -> None:
        scene.send()
        process = scene.start(request_id="a")["process_id"]
        scene.prepare(process, {"m1": "PROCESSED"})
        assert scene.start(request_id="a") == {"version": 1, "status": "BUSY", "process_id": process}

    def test_files_that_are_gone_meanwhile_are_left_out(self, scene: Scene) -> None:
        for id in ("m1", "m2"):
            scene.send(id)
        process = scene.start(request_id="a")["process_id"]
        file_of(scene, "m1").unlink()
        assert [message["id"] for message in scene.start(request_id="a")["messages"]] == ["m2"]
        file_of(scene, "m2").unlink()
        assert scene.start(request_id="a") == {"version": 1, "status": "IDLE"}
        assert scene.process(process)["status"] == "INTERRUPTED"

    def test_an_answer_before_it_that_is_found_cut_ends_nothing(self, scene: Scene) -> None:
        scene.send()
        process = ExchangeProcess.objects.get(pk=scene.start(request_id="a")["process_id"])
        scene.start(request_id="a")
        end_undelivered(process_id=process.pk, fence=process.fence, was_silent=True, at=process.started_at)
        assert scene.process(str(process.pk))["status"] == "STARTED"


class TestOtherId:
    @pytest.mark.parametrize("fields", [{}, {"request_id": "b"}, {"request_id": None}])
    def test_is_busy(self, scene: Scene, fields: dict[str, Any]) -> None:
        scene.send()
        process = scene.start(request_id="a")["process_id"]
        assert scene.start(**fields) == {"version": 1, "status": "BUSY", "process_id": process}

    def test_of_another_database_says_nothing(self, scene: Scene) -> None:
        other = Scene("other")
        other.send()
        other.start(request_id="a")
        assert scene.start(request_id="a") == {"version": 1, "status": "IDLE"}

    @pytest.mark.parametrize("id", ["", "a b", "x" * 65, "é", 7, "a\n"])
    def test_malformed_is_refused(self, scene: Scene, id: object) -> None:
        scene.send()
        status, answer = scene.call("POST", "/exchange/processes/", {"version": 1, "request_id": id})
        assert (status, answer["code"], list(answer["data"]["fields"])) == (400, "invalid", ["request_id"])
        assert not ExchangeProcess.objects.exists()

    def test_two_at_once_are_kept_apart_by_the_database(self, scene: Scene) -> None:
        scene.send()
        scene.start(request_id="a")
        process = ExchangeProcess.objects.get()
        process.pk = uuid4()
        with pytest.raises(IntegrityError):
            process.save(force_insert=True)
