"""One scenario for every verdict about a message, through the calls of device and ERP."""

from typing import Any

import pytest

from config.common.times import format_time
from messaging.models import Device, ExchangeDatabase, LastRequest, Message
from processes.exchange.explanation.verdict import Case, Verdict, decide
from processes.exchange.models import ExchangeProcess
from tests.messaging.raw_calls import file_of
from tests.processes.exchange.outcomes import put_in_doubt, put_into_error
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import bring_to, let_time_pass
from tests.sensors.api.callers import service
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def ask(id: str = "m1") -> Any:
    found = service("operations")("GET", f"/explain/?message={id}&enterprise=acme")
    assert found.status_code == 200, found.content
    return found.json()


class TestRequest:
    def test_not_asked(self, scene: Scene) -> None:
        scene.send("m1")
        found = ask()
        assert (found["verdict"], [row["kind"] for row in found["evidence"]]) == (Verdict.NOT_ASKED, ["message"])
        assert found["question"] == "Why has “ERP” not received message m1?"
        assert found["text"].endswith("No request for messages is on record.")

    def test_not_asked_says_when_the_erp_asked_last(self, scene: Scene) -> None:
        scene.start()
        scene.send("m1")
        found = ask()
        asked_at = format_time(LastRequest.objects.get().asked_at)
        assert found["verdict"] == Verdict.NOT_ASKED
        assert found["text"].endswith(f"It last asked for messages at {asked_at}; the answer: no messages waiting.")
        assert found["evidence"][1] == {
            "at": asked_at,
            "kind": "request",
            "id": "acme-erp",
            "summary": "Last request for messages: no messages waiting",
            "data": {"answer": "IDLE", "lane": []},
        }

    def test_of_one_that_has_been_handed_out_the_request_says_nothing(self, scene: Scene) -> None:
        scene.start()
        bring_to(scene, "TIMED_OUT")
        assert [row["kind"] for row in ask()["evidence"]][:2] == ["message", "process"]
        assert "request" not in [row["kind"] for row in ask()["evidence"]]

    def test_not_asked_for_this_subsystem(self, scene: Scene) -> None:
        other = scene.add_subsystem("stock")
        scene.send("m1")
        scene.start(subsystems=[other.pk])
        found = ask()
        assert found["verdict"] == Verdict.NOT_ASKED
        assert "but for messages of other subsystems; the answer: no messages waiting." in found["text"]

    def test_processed(self, scene: Scene) -> None:
        bring_to(scene, "DONE")
        found = ask()
        assert found["verdict"] == Verdict.PROCESSED
        assert "process" in [row["kind"] for row in found["evidence"]]

    def test_handed_out(self, scene: Scene) -> None:
        process = ExchangeProcess.objects.get(pk=bring_to(scene, "STARTED"))
        found = ask()
        assert found["verdict"] == Verdict.HANDED_OUT
        assert found["until"] > found["since"]
        assert found["evidence"][1]["id"] == str(process.pk)

    @pytest.mark.parametrize(
        ("status", "verdict"),
        [
            ("READY_TO_COMMIT", Verdict.PREPARED),
            ("TIMED_OUT", Verdict.TIMED_OUT),
            ("INTERRUPTED", Verdict.INTERRUPTED),
            ("ROLLED_BACK", Verdict.ROLLED_BACK),
        ],
    )
    def test_of_each_process(self, scene: Scene, status: str, verdict: Verdict) -> None:
        bring_to(scene, status)
        assert ask()["verdict"] == verdict

    def test_moving(self, scene: Scene) -> None:
        assert scene.step(scene.ready(), "rollback", error_text="no") == "OK"
        Message.objects.filter(public_id="m1").update(moving_from="Unknown")
        assert ask()["verdict"] == Verdict.MOVING

    def test_in_doubt(self, scene: Scene) -> None:
        put_in_doubt(scene)
        assert ask()["verdict"] == Verdict.IN_DOUBT

    def test_incorrect(self, scene: Scene) -> None:
        put_into_error(scene)
        found = ask()
        assert (found["verdict"], found["text"]) == (
            Verdict.INCORRECT,
            "“ERP” received it and found it incorrect: bad",
        )

    def test_unreadable(self, scene: Scene) -> None:
        scene.send("m1")
        file_of(scene, "m1").write_bytes(b"short")
        assert scene.start()["status"] == "IDLE"
        assert ask()["verdict"] == Verdict.UNREADABLE

    def test_file_missing(self, scene: Scene) -> None:
        scene.send("m1")
        file_of(scene, "m1").unlink()
        assert scene.start()["status"] == "IDLE"
        found = ask()
        assert (found["verdict"], found["since"] is not None) == (Verdict.FILE_MISSING, True)

    def test_set_aside(self, scene: Scene) -> None:
        scene.send("m1")
        body = {"version": 1, "enterprise": "acme", "reason": "the ERP dies of it"}
        assert service("operations")("POST", "/messages/m1/set-aside/", body).status_code == 200
        found = ask()
        assert (found["verdict"], found["since"] is not None) == (Verdict.SET_ASIDE, True)
        assert "log" in [row["kind"] for row in found["evidence"]]

    def test_database_inactive(self, scene: Scene) -> None:
        scene.send("m1")
        ExchangeDatabase.objects.update(active=False)
        assert ask()["verdict"] == Verdict.DATABASE_INACTIVE

    def test_lane_busy(self, scene: Scene) -> None:
        bring_to(scene, "STARTED")
        scene.send("m2")
        assert ask("m2")["verdict"] == Verdict.LANE_BUSY

    def test_lane_failed(self, scene: Scene) -> None:
        bring_to(scene, "FAILED")
        scene.send("m2")
        assert ask("m2")["verdict"] == Verdict.LANE_FAILED

    def test_left_out(self, scene: Scene) -> None:
        scene.send("m1")
        scene.send("m2")
        process = str(scene.start()["process_id"])
        assert scene.step(process, "accept", messages=["m1"]) == "OK"
        scene.prepare(process, {"m1": "PROCESSED"})
        scene.step(process, "commit")
        move_files()
        assert ask("m2")["verdict"] == Verdict.LEFT_OUT

    def test_deadlock(self, scene: Scene) -> None:
        scene.step(scene.ready("PROCESSED_DEADLOCK"), "commit")
        move_files()
        assert ask()["verdict"] == Verdict.DEADLOCK

    def test_queued(self, scene: Scene) -> None:
        scene.send("m1", created_at="2026-01-01T00:00:00Z")
        scene.send("m2", created_at="2026-01-02T00:00:00Z")
        process = str(scene.start(max_files=1)["process_id"])
        let_time_pass(process)
        assert (ask("m1")["verdict"], ask("m2")["verdict"]) == (Verdict.TIMED_OUT, Verdict.QUEUED)

    def test_passed_over_since_its_setback(self, scene: Scene) -> None:
        scene.send("m2", created_at="2026-01-02T00:00:00Z")
        let_time_pass(str(scene.start()["process_id"]))
        scene.send("m1", created_at="2026-01-01T00:00:00Z")
        let_time_pass(str(scene.start(max_files=1)["process_id"]))
        assert (ask("m1")["verdict"], ask("m2")["verdict"]) == (Verdict.TIMED_OUT, Verdict.QUEUED)

    def test_a_file_that_could_not_be_moved(self, scene: Scene) -> None:
        assert scene.step(scene.ready(), "commit") == "OK"
        assert ask("r-m1")["verdict"] == Verdict.MOVING
        file_of(scene, "r-m1", "Prepared").unlink()
        move_files()
        assert ask("r-m1")["verdict"] == Verdict.MOVE_FAILED

    def test_what_nothing_explains_is_said(self) -> None:
        """The constraints of the table allow no such row."""
        lost = Message(status=Message.Status.IN_PROCESS, direction=Message.Direction.REQUEST)
        assert decide(Case(lost)).verdict == Verdict.UNEXPLAINED


class TestReply:
    def test_not_fetched_then_fetched(self, scene: Scene) -> None:
        bring_to(scene, "DONE")
        assert ask("r-m1")["verdict"] == Verdict.NOT_FETCHED
        scene.call("POST", "/messages/r-m1/confirm/", {"version": 1}, of=scene.device.pk)
        assert ask("r-m1")["verdict"] == Verdict.FETCHED

    def test_device_inactive(self, scene: Scene) -> None:
        bring_to(scene, "DONE")
        Device.objects.update(active=False)
        assert ask("r-m1")["verdict"] == Verdict.DEVICE_INACTIVE

    def test_prepared(self, scene: Scene) -> None:
        bring_to(scene, "READY_TO_COMMIT")
        assert ask("r-m1")["verdict"] == Verdict.PREPARED


class TestWhoMayAsk:
    def test_its_sender(self, scene: Scene) -> None:
        scene.send("m1")
        status, found = scene.call("GET", "/explain/?message=m1", of=scene.device.pk)
        assert (status, found["verdict"]) == (200, Verdict.NOT_ASKED)
        assert [row["kind"] for row in found["evidence"]] == ["message"]

    def test_not_another_device_nor_another_enterprise(self, scene: Scene) -> None:
        scene.send("m1")
        other = scene.add_device("tablet")
        assert scene.call("GET", "/explain/?message=m1", of=other.pk)[0] == 404
        foreign = Scene("foreign")
        assert foreign.call("GET", "/explain/?message=m1&enterprise=acme", of=foreign.device.pk)[0] == 404

    def test_a_service_needs_operations_and_the_enterprise(self, scene: Scene) -> None:
        scene.send("m1")
        assert service("history:read")("GET", "/explain/?message=m1&enterprise=acme").status_code == 403
        found = service("operations")("GET", "/explain/?message=m1")
        assert (found.status_code, list(found.json()["data"]["fields"])) == (400, ["enterprise"])


def test_the_page_of_a_message_leads_to_it(scene: Scene) -> None:
    scene.send("m1")
    browser = signed_in("viewer")
    page = browser.get(f"/admin/messaging/message/{Message.objects.get().pk}/change/").content.decode()
    assert "/admin/explain/?message=m1&amp;enterprise=acme" in page
    assert "has not started an exchange" in browser.get("/admin/explain/?message=m1&enterprise=acme").content.decode()
