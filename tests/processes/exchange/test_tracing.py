import pytest

from config.records.tracing import trace
from tests.processes.exchange.outcomes import put_in_doubt
from tests.processes.exchange.scene import Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

OURS = ("message", "reply", "process")


def told(correlation_id: str, *permissions: str) -> list[tuple[str, str | int, str | None]]:
    steps = trace(correlation_id, may=lambda permission: not permissions or permission in permissions)
    return [(step.kind, step.id, step.outcome) for step in steps if step.kind in OURS]


class TestTrace:
    def test_follows_a_message_through_its_process_to_the_reply(self, scene: Scene) -> None:
        process = scene.ready()
        scene.step(process, "commit")
        move_files()
        assert told(scene.receipt()["correlation_id"]) == [
            ("message", "m1", "processed"),
            ("process", process, None),
            ("reply", "r-m1", "waiting"),
            ("process", process, None),
            ("process", process, "DONE"),
        ]

    def test_the_call_that_began_a_process_finds_it(self, scene: Scene) -> None:
        process = put_in_doubt(scene)
        steps = told(scene.process(process)["correlation_id"])
        assert steps == [("process", process, None), ("process", process, None), ("process", process, "IN_DOUBT")]

    def test_leads_to_the_pages(self, scene: Scene) -> None:
        process = scene.ready()
        steps = trace(scene.receipt()["correlation_id"], may=lambda permission: True)
        pages = {step.page for step in steps if step.kind in OURS}
        assert f"/admin/exchange/exchangeprocess/{process}/change/" in pages
        assert any(page.startswith("/admin/messaging/message/") for page in pages)

    def test_tells_at_most_so_many_of_each(self, scene: Scene) -> None:
        process = scene.ready()
        scene.step(process, "rollback", error_text="no")
        scene.start()
        chain = scene.receipt()["correlation_id"]
        found = [step for step in trace(chain, may=lambda permission: True, most=1) if step.kind == "process"]
        assert {step.id for step in found} == {process}

    def test_shows_each_part_to_those_who_may_see_it(self, scene: Scene) -> None:
        scene.ready()
        chain = scene.receipt()["correlation_id"]
        assert {kind for kind, *_ in told(chain, "messaging.view_message")} == {"message", "reply"}
        assert {kind for kind, *_ in told(chain, "exchange.view_exchangeprocess")} == {"process"}
