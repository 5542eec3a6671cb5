import pytest

from config.audit.trace import collect_trace
from config.common.correlation import correlated
from tests.processes.exchange.scene import Scene, move_files

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
    steps = collect_trace(correlation_id, may=lambda permission: not permissions or permission in permissions)
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

    def test_the_call_that_began_a_process_finds_it(self, process: str) -> None:
        assert told(STARTED) == [("process", process, None), ("reply", "r2", "in_process"), ("process", process, None)]

    def test_another_call_finds_nothing(self, process: str) -> None:
        assert told("another-call") == []

    def test_leads_to_the_pages(self, process: str) -> None:
        pages = {step.page for step in collect_trace(SENT, may=lambda permission: True) if step.kind in OURS}
        assert f"/admin/exchange/exchangeprocess/{process}/change/" in pages
        assert any(page.startswith("/admin/messaging/message/") for page in pages)

    def test_tells_at_most_so_many_of_each(self, scene: Scene, process: str) -> None:
        scene.step(process, "rollback", error_text="no")
        scene.start()
        found = [step for step in collect_trace(SENT, may=lambda permission: True, most=1) if step.kind == "process"]
        assert {step.id for step in found} == {process}

    def test_shows_each_part_to_those_who_may_see_it(self, process: str) -> None:
        assert {kind for kind, *_ in told(SENT, "messaging.view_message")} == {"message", "reply"}
        assert {kind for kind, *_ in told(SENT, "exchange.view_exchangeprocess")} == {"process"}
