"""Processes that the ERP has left."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from processes.exchange.models import ExchangeProcess
from processes.exchange.services import timeouts
from processes.exchange.services.timeouts import time_out_once
from tests.processes.exchange.scene import Scene, move_files
from tests.processes.exchange.states import bring_to, let_time_pass

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]


def left(process: str) -> float:
    """Return the seconds until the process's patience is over."""
    due_at = ExchangeProcess.objects.get(pk=process).due_at
    return (due_at - timezone.now()).total_seconds()


class TestTimeOutOnce:
    @pytest.mark.parametrize("status", ["STARTED", "READY_TO_COMMIT"])
    def test_before_its_time_nothing_happens(self, scene: Scene, status: str) -> None:
        process = bring_to(scene, status)
        assert not time_out_once()
        assert scene.process(process)["status"] == status

    def test_started_too_long_ago_its_messages_are_offered_again(self, scene: Scene) -> None:
        process = bring_to(scene, "TIMED_OUT")
        assert [message["id"] for message in scene.start()["messages"]] == ["m1"]
        assert "The ERP did not respond" in scene.process(process)["log"][-1]["text"]
        assert scene.prepare(process, {"m1": "PROCESSED"}) == "CANCELLED"

    def test_ready_too_long_ago_it_is_in_doubt(self, scene: Scene) -> None:
        process = bring_to(scene, "READY_TO_COMMIT")
        let_time_pass(process)
        assert scene.process(process)["status"] == "IN_DOUBT"

    @pytest.mark.parametrize("status", ["CLEANUP", "FAILED", "DONE", "IN_DOUBT", "ROLLED_BACK", "INTERRUPTED"])
    def test_others_have_no_patience_to_lose(self, scene: Scene, status: str) -> None:
        process = bring_to(scene, status)
        if status == "CLEANUP":
            let_time_pass(process)
        time_out_once()
        assert scene.process(process)["status"] == status

    def test_each_wait_has_its_own_time(self, scene: Scene, settings: Any) -> None:
        settings.EXCHANGE_STARTED_TIMEOUT, settings.EXCHANGE_READY_TIMEOUT = 100, 1000
        scene.send("m1")
        process = scene.start()["process_id"]
        assert 80 < left(process) <= 100
        scene.prepare(process, {"m1": "PROCESSED"})
        assert 980 < left(process) <= 1000

    def test_narrowing_gives_no_more_time(self, scene: Scene) -> None:
        process = bring_to(scene, "STARTED")
        ExchangeProcess.objects.update(due_at=timezone.now() + timedelta(seconds=5))
        scene.step(process, "accept", messages=["m1"])
        assert left(process) <= 5

    @pytest.mark.parametrize("name", ["prepare", "interrupt"])
    def test_what_the_erp_says_after_the_claim_counts(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        process = bring_to(scene, "STARTED")
        real = timeouts._time_out

        def speak_first(*arguments: Any, **options: Any) -> None:
            if name == "prepare":
                scene.prepare(process, {"m1": "PROCESSED"})
            else:
                scene.step(process, "interrupt", text="no")
            real(*arguments, **options)

        monkeypatch.setattr(timeouts, "_time_out", speak_first)
        let_time_pass(process)
        expected = {"prepare": "READY_TO_COMMIT", "interrupt": "INTERRUPTED"}
        assert scene.process(process)["status"] == expected[name]

    def test_dying_after_the_claim_it_is_due_again(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        process = bring_to(scene, "READY_TO_COMMIT")

        def die(*arguments: Any, **options: Any) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(timeouts, "_time_out", die)
            with pytest.raises(SystemExit):
                let_time_pass(process)
        assert scene.process(process)["status"] == "READY_TO_COMMIT"
        assert left(process) <= 30
        let_time_pass(process)
        assert scene.process(process)["status"] == "IN_DOUBT"


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_of_four_sweeps_one_does_it(self, scene: Scene, in_threads: Threads) -> None:
        process = bring_to(scene, "READY_TO_COMMIT")
        ExchangeProcess.objects.update(due_at="2020-01-01T00:00:00Z")
        in_threads(lambda number: time_out_once(), 4)
        move_files()
        texts = [line["text"] for line in scene.process(process)["log"]]
        assert sum("The ERP did not respond" in text for text in texts) == 1
        assert scene.folders() == {"Unknown": ["m1", "r-m1"]}
