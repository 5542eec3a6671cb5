import pytest
from django.conf import settings

from config.audit.trace import Standing, read_trace
from config.common.correlation import correlated
from messaging.models import Message
from tests.processes.exchange.scene import Scene, move_files
from tests.staff import signed_in
from tests.trace_button import find_trace_button

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SENT, STARTED = "the-sending-call", "the-starting-call"
OURS = ("message", "reply", "process")


@pytest.fixture
def process(scene: Scene) -> str:
    """A process that is ready to commit, with a message sent by one call and begun by another."""
    with correlated(SENT):
        scene.send("m1")
    with correlated(STARTED):
        process = str(scene.start()["process_id"])
    with correlated("the-preparing-call"):
        scene.prepare(process, {"m1": "PROCESSED"}, scene.reply("r1", reply_to="m1"), scene.reply("r2"))
    return process


def told(correlation_id: str, *permissions: str) -> list[tuple[str, str | int, str | None]]:
    steps = read_trace(correlation_id, may=lambda permission: not permissions or permission in permissions).steps
    return [(step.kind, step.id, step.outcome) for step in steps if step.kind in OURS]


class TestTrace:
    def test_follows_a_message_through_its_process_to_the_reply(self, scene: Scene, process: str) -> None:
        scene.step(process, "commit")
        move_files()
        assert told(SENT) == [
            ("message", "m1", "processed"),
            ("process", process, None),
            ("reply", "r1", "waiting"),
            ("process", process, None),
            ("process", process, "DONE"),
        ]

    def test_a_process_is_called_by_the_name_of_its_database(self, process: str) -> None:
        trace = read_trace(STARTED, may=lambda permission: True)
        assert [step.summary for step in trace.steps if step.kind == "process"] == [
            "ERP: started",
            "ERP: ready to commit",
        ]

    def test_a_reply_ends_when_its_device_confirms_it(self, scene: Scene, process: str) -> None:
        scene.step(process, "commit")
        move_files()
        assert scene.call("POST", "/messages/r1/confirm/", {"version": 1}, of=scene.device.pk)[0] == 204
        *_, last = [step for step in read_trace(SENT, may=lambda permission: True).steps if step.kind == "reply"]
        settled_at = Message.objects.get(public_id="r1").settled_at
        assert (last.summary, last.at, last.outcome) == ("confirmed by acme-phone", settled_at, "processed")
        assert read_trace(SENT, may="messaging.view_message".__eq__).outcome == Standing.DONE

    def test_a_reply_that_nobody_will_have_is_not_confirmed(self, scene: Scene, process: str) -> None:
        scene.step(process, "commit")
        move_files()
        for file in (settings.DATA_DIR / "messages" / scene.database.pk / "Messages").glob("*_r1_*"):
            file.write_bytes(b"")
        scene.fetch()
        *_, last = [step for step in read_trace(SENT, may=lambda permission: True).steps if step.kind == "reply"]
        assert (last.summary, last.outcome) == ("not available to acme-phone", "incorrect")

    def test_the_call_that_began_a_process_finds_it(self, process: str) -> None:
        assert told(STARTED) == [("process", process, None), ("reply", "r2", "in_process"), ("process", process, None)]

    def test_another_call_finds_nothing(self, process: str) -> None:
        assert told("another-call") == []

    def test_leads_to_the_pages(self, process: str) -> None:
        pages = {step.page for step in read_trace(SENT, may=lambda permission: True).steps if step.kind in OURS}
        assert f"/admin/exchange/exchangeprocess/{process}/change/" in pages
        assert any(page.startswith("/admin/messaging/message/") for page in pages)

    def test_tells_at_most_so_many_of_each(self, scene: Scene, process: str) -> None:
        scene.step(process, "rollback", error_text="no")
        scene.start()
        found = [step for step in read_trace(SENT, may=lambda permission: True, most=1).steps if step.kind == "process"]
        assert {step.id for step in found} == {process}

    def test_shows_each_part_to_those_who_may_see_it(self, process: str) -> None:
        assert {kind for kind, *_ in told(SENT, "messaging.view_message")} == {"message", "reply"}
        assert {kind for kind, *_ in told(SENT, "exchange.view_exchangeprocess")} == {"process"}

    def test_a_later_call_of_the_erp_leads_to_the_process(self, process: str) -> None:
        assert {id for kind, id, _ in told("the-preparing-call") if kind == "process"} == {process}

    def test_the_log_of_the_process_is_part_of_it(self, process: str) -> None:
        lines = [step for step in read_trace(STARTED, may=lambda permission: True).steps if step.kind == "log"]
        assert len(lines) == len({step.id for step in lines}) > 1

    def test_says_until_when_the_erp_may_decide(self, process: str) -> None:
        trace = read_trace(STARTED, may=lambda permission: True)
        assert ("in doubt unless the ERP decides", True) in [
            (coming.what, coming.at is not None) for coming, _ in trace.upcoming
        ]
        assert trace.outcome == Standing.OPEN

    def test_a_message_names_the_chain_of_its_process(self, process: str) -> None:
        assert [other.correlation_id for other in read_trace(SENT, may=lambda permission: True).related] == [STARTED]

    def test_a_process_names_the_chains_of_its_messages(self, process: str) -> None:
        found = read_trace(STARTED, may=lambda permission: True).related
        assert [(other.what, other.correlation_id) for other in found] == [("message m1", SENT)]

    def test_what_a_process_comes_to_belongs_to_it(self, scene: Scene, process: str) -> None:
        with correlated("the-committing-call"):
            scene.step(process, "commit")
        move_files()
        trace = read_trace(STARTED, may=lambda permission: True)
        assert "exchange.done" in [step.data.get("type") for step in trace.steps]
        assert [coming.what for coming, step in trace.upcoming if step.kind == "process"] == []

    def test_the_pages_of_a_process_and_a_message_lead_to_their_traces(self, process: str) -> None:
        browser = signed_in("viewer")
        message = Message.objects.get(public_id="m1")
        found = [
            find_trace_button(browser, f"/admin/{page}/change/")
            for page in (f"exchange/exchangeprocess/{process}", f"messaging/message/{message.pk}")
        ]
        assert found == [f"/admin/trace/?id={STARTED}", f"/admin/trace/?id={SENT}"]
